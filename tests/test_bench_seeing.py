"""The bench of seeing: its pages differ where they say so, and its counts are right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

from benches import made_pages
from benches.seeing import Pair, _answers, _count, _jobs

from tests.looks import listing, page


@pytest.mark.parametrize("kind", made_pages.KINDS)
def test_each_change_changes_the_page_and_nothing_else_does(kind: str) -> None:
    query = {"kind": kind, "seed": "5"}
    original = made_pages.page(query)
    assert made_pages.page(query) == original
    assert made_pages.page(query | {"seed": "6"}) != original
    changed = {
        made_pages.page(query | {"change": change, "where": where})
        for change in made_pages.CHANGES
        for where in made_pages.PLACES
    }
    # The language is that of the menu, wherever it is changed.
    assert len(changed) == len(made_pages.CHANGES) * len(made_pages.PLACES) - 1
    assert original not in changed


@pytest.mark.parametrize("noise", made_pages.ON_SERVER)
def test_what_the_server_varies_is_another_page_each_time(noise: str) -> None:
    query = {"kind": "article", "seed": "5", "noise": noise}
    assert len({made_pages.page(query) for _ in range(20)}) > 1


@pytest.mark.parametrize("noise", made_pages.IN_BROWSER)
def test_what_the_browser_varies_is_the_same_page_for_the_server(noise: str) -> None:
    query = {"kind": "article", "seed": "5", "noise": noise}
    assert made_pages.page(query) == made_pages.page(query)
    assert made_pages.page(query) != made_pages.page(query | {"noise": ""})


def test_there_are_more_than_300_changes() -> None:
    jobs = list(_jobs(made_pages.KINDS, made_pages.CHANGES))
    assert len(set(jobs)) == len(jobs)
    assert sum(bool(change) for _, change, _, _ in jobs) >= 300


def test_counts() -> None:
    one, two = page(listing("a", "b")), page(listing("a", "c"))
    pairs = [
        Pair("digit", "", False, (one,), (two,)),
        Pair("digit", "advert", False, (one,), (one,)),
        Pair("motion", "motion", True, (one,), (one,)),
        Pair("advert", "advert", True, (one,), (two,)),
    ]
    visual = _count(pairs, _answers()["visual"])
    assert [column["wrong"] for column in visual.values()] == [0, 1, 0, 1]
    body = _count(pairs, _answers()["body"])
    assert [column["unstable"] for column in body.values()] == [1, 1, 1, 1]
    pixels = _count(pairs, _answers()["equal pixels"])
    assert [column["pairs"] for column in pixels.values()] == [1, 1, 1, 1]
