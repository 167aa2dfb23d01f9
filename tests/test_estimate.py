"""What a run is said to cost, before it starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from miqps.estimate import Estimate, estimate
from miqps.planning import Plan, agenda
from miqps.probe import Prober
from miqps.settings import JUDGING
from miqps.store import JournalEntry, Observation, Store
from tests.imagined import SITE, ByTitle, reads
from tests.test_probe import Imagined

NEAR = "http://127.0.0.1:8000"

EACH = 2 * 5 + 2 * 2 + 6
"""Renders of a context with five URLs and two names."""


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "miqps.db") as opened:
        yield opened


def add(store: Store, site: str, path: str = "/p", urls: int = 5) -> None:
    store.corpus.add(Observation(f"{site}{path}?id={n}&ref=r{n}") for n in range(urls))


def of(
    store: Store, plan: Plan | None = None, browsers: int = 2, measured: float | None = 3_000
) -> Estimate:
    return estimate(agenda(store, plan or Plan()), plan or Plan(), browsers, measured)


def test_each_domain_is_slow_by_itself(store: Store) -> None:
    add(store, SITE)
    found = of(store)
    assert (found.contexts, found.renders) == (1, EACH)
    assert found.minutes == pytest.approx(EACH * (3 + 1) / 60)
    add(store, "http://other.example")
    assert of(store).minutes == pytest.approx(EACH * (3 + 1) / 60)
    add(store, "http://www.other.example")
    assert of(store).minutes == pytest.approx(2 * EACH * (3 + 1) / 60)
    assert of(store, Plan(delay=6)).minutes == pytest.approx(2 * EACH * (3 + 6) / 60)


def test_browsers_share_what_is_on_loopback(store: Store) -> None:
    add(store, NEAR)
    assert of(store, browsers=3).minutes == pytest.approx(EACH / 60)
    assert of(store, Plan(delay=1), browsers=3).minutes == pytest.approx(EACH * 4 / 60)


def test_few_browsers_for_many_sites_are_what_takes_long(store: Store) -> None:
    for n in range(10):
        add(store, f"http://shop{n}.example")
    assert of(store, browsers=1).minutes == pytest.approx(10 * EACH * 3 / 60)


@pytest.mark.parametrize(
    ("plan", "out"),
    [(Plan(), False), (Plan(max_renders=EACH - 1), True), (Plan(max_renders=EACH), False),
     (Plan(max_minutes=0.5), True), (Plan(max_minutes=9), False)],
)  # fmt: skip
def test_a_budget_that_will_not_do_is_told(store: Store, plan: Plan, out: bool) -> None:
    add(store, SITE)
    assert of(store, plan).out_of_budget is out
    assert ("budget" in of(store, plan).as_text()) is out


def test_more_is_tried_with_more_samples_up_to_a_limit(store: Store) -> None:
    add(store, SITE, urls=100)
    assert of(store).renders == 2 * 7 + 23 + 4 + 6
    few = replace(JUDGING, samples=3, verify_samples=2)
    assert of(store, Plan(rules=few)).renders == 2 * 5 + 4 + 6
    assert of(store, Plan(algorithm="miqps")).renders == 10 * 3


def test_nothing_due_costs_nothing(store: Store) -> None:
    found = of(store, measured=None)
    assert (found.contexts, found.renders, found.minutes, found.sites) == (0, 0, 0, ())
    assert "0 contexts are due" in found.as_text()


def test_the_journal_says_how_long_a_render_takes(store: Store) -> None:
    assert store.journal.mean_milliseconds(10) is None
    run = store.journal.begin("{}")
    for n, milliseconds in enumerate((90_000, 1_000, 3_000)):
        entry = JournalEntry(f"{SITE}/?a={n}", 0, "seen", "", 200, milliseconds, b"")
        store.journal.save(run, entry)
    assert store.journal.mean_milliseconds(2) == 2_000
    store.journal.finish(run)
    assert store.journal.mean_milliseconds(2) == 2_000


@pytest.mark.parametrize("algorithm", ["minimal-set", "miqps"])
def test_it_is_right_within_a_factor_of_two(
    store: Store, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    monkeypatch.setattr("miqps.probe.get_content_id", lambda name: ByTitle())
    for path, names in {"/p": "", "/q": "&lang=de", "/r": "&gclid=5&sort=up"}.items():
        store.corpus.add(Observation(f"{NEAR}{path}?id={n}&ref=r{n}{names}{n}") for n in range(6))
    plan = Plan(algorithm=algorithm)
    expected = of(store, plan).renders
    prober = Prober(store, Imagined(reads("id", "sort")), plan)
    prober.run()
    assert expected / 2 <= prober.progress.renders <= expected * 2
