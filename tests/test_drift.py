"""Whether what is stripped still shows the same: hints from live traffic."""

from __future__ import annotations

import random

from miqps.drift import Drift
from miqps.harvest import fingerprint
from miqps.observation import Answer
from miqps.settings import DRIFT

URL = "https://shop.example/p?id=7"
WORDS = [f"{a}{b}" for a in ("tea", "cup", "pot", "leaf", "shop") for b in range(40)]


def text(seed: int, words: int = 120) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def look(shown: str, *, status: int = 200, cookies: bool = False) -> Answer:
    return Answer(status, "", "", cookies, fingerprint(shown))


def test_the_same_text_and_a_moving_clock_are_no_drift() -> None:
    drift = Drift()
    page = text(1)
    for minute in range(20):
        shown = look(f"{page} it is 12:{minute:02} now")
        assert not drift.notice(URL, shown, stripped=minute % 3 > 0)


def test_another_text_is_drift_whichever_comes_first() -> None:
    for first in (True, False):
        drift = Drift()
        assert not drift.notice(URL, look(text(1)), stripped=first)
        assert drift.notice(URL, look(text(2)), stripped=not first)


def test_a_page_that_never_looks_the_same_says_nothing() -> None:
    drift = Drift()
    for seed in range(3):
        assert not drift.notice(URL, look(text(seed)), stripped=True)
    assert not drift.notice(URL, look(text(9)), stripped=False)


def test_other_pages_errors_and_other_people_are_not_compared() -> None:
    drift = Drift()
    drift.notice(URL, look(text(1)), stripped=True)
    assert not drift.notice(f"{URL}8", look(text(2)), stripped=False)
    assert not drift.notice(URL, look(text(2), status=404), stripped=False)
    assert not drift.notice(URL, look(""), stripped=False)
    assert not drift.notice(URL, look(text(2), cookies=True), stripped=False)
    assert drift.notice(URL, look(text(2)), stripped=False)


def test_it_takes_no_more_memory_than_it_may(monkeypatch) -> None:
    from dataclasses import replace

    monkeypatch.setattr("miqps.drift.DRIFT", replace(DRIFT, pages=10))
    drift = Drift()
    for number in range(100):
        drift.notice(f"{URL}{number}", look(text(1)), stripped=True)
    assert len(drift._pages) <= 10
    assert drift.notice(f"{URL}99", look(text(2)), stripped=False)
