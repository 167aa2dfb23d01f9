"""The publish gate, rule by rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from miqps.mapping import ContextVerdicts, Map, SiteMap, Verdict
from miqps.publish import decide, merge, publish
from miqps.settings import JUDGING
from miqps.store import Observation, Store
from miqps.trial import Trial
from miqps.urls import Context


def site(*decisions: str, name: str = "a.example") -> SiteMap:
    """One context for each decision on its parameter `x`."""
    return SiteMap(
        name,
        tuple(
            ContextVerdicts(Context(name, f"/{n}", ("x",)), (Verdict("x", d, "r"),))  # type: ignore[arg-type]
            for n, d in enumerate(decisions)
        ),
    )


@pytest.mark.parametrize(
    ("old", "new", "accepted", "lost"),
    [
        (None, ["neutral"], True, 0),
        (["important"], ["neutral"], False, 1),
        (["important"] * 40, ["neutral"] * 2 + ["important"] * 38, True, 2),
        (["important"] * 40, ["neutral"] * 3 + ["important"] * 37, False, 3),
        (["neutral"] * 5, ["important"] * 5, True, 0),
        (["important"] * 5, ["undecided"] * 5, True, 0),
        (["undecided"] * 5, ["neutral"] * 5, True, 0),
        (["important"] * 3, [], True, 0),
    ],
    ids=[
        "a new site",
        "its only context loses one",
        "5 % may",
        "more than 5 % may not",
        "the reverse always may",
        "in doubt it is kept anyway",
        "learning is no loss",
        "contexts that vanish lose nothing",
    ],
)
def test_the_gate(old: list[str] | None, new: list[str], accepted: bool, lost: int) -> None:
    decision = decide(site(*old) if old is not None else None, site(*new))
    assert (decision.accepted, decision.lost) == (accepted, lost)


def test_a_refused_site_does_not_hold_back_the_others() -> None:
    a, b = site("important"), site("neutral", name="b.example")
    old = Map(3, "then", {"a.example": a})
    new_a = site("neutral")
    decisions = [decide(a, new_a), decide(None, b)]
    merged = merge(old, [new_a, b], decisions, "now")
    assert merged == Map(4, "now", {"a.example": a, "b.example": b})


def test_what_changes_nothing_is_no_new_version() -> None:
    a = site("important")
    assert merge(Map(3, "then", {"a.example": a}), [a], [], "now") is None


def test_publishing_from_the_evidence_in_a_store(tmp_path: Path) -> None:
    urls = [f"http://a.example/p?gclid={n}" for n in range(3)]
    with Store.open(tmp_path / "miqps.db") as store:
        store.corpus.add(Observation(url) for url in urls)
        run = store.journal.begin("{}")
        (context,) = store.corpus.contexts("a.example")

        def judge(outcome: str, blamed: str | None = None):
            trials = [
                Trial(url, frozenset({"gclid"}), outcome, "the content changed", blamed, url)  # type: ignore[arg-type]
                for url in urls
            ]
            store.evidence.save(run, context, trials, [])
            return publish(store, run, JUDGING)

        first = judge("different", "gclid")
        assert (first.version, first.is_new) == (1, True)
        assert (judge("different", "gclid").version, judge("different", "gclid").is_new) == (
            1,
            False,
        )
        refused = judge("same")
        assert (refused.version, refused.is_new) == (1, False)
        assert [d.accepted for d in refused.decisions] == [False]
        newest = store.maps.newest()
        assert newest is not None
        assert newest.sites["a.example"].contexts[0].verdicts[0].decision == "important"


def test_more_visits_are_no_news(tmp_path: Path) -> None:
    """Which context is seen most may change every day; the map does not."""
    urls = [f"http://a.example/{path}?gclid={n}" for path in "pq" for n in range(3)]
    with Store.open(tmp_path / "miqps.db") as store:
        store.corpus.add([*map(Observation, urls), Observation(urls[0])])
        run = store.journal.begin("{}")
        for context in store.corpus.contexts("a.example"):
            trials = [
                Trial(url, frozenset({"gclid"}), "same", look=url)
                for url in store.corpus.urls_of(context.id)
            ]
            store.evidence.save(run, context, trials, [])
        assert publish(store, run, JUDGING).is_new
        store.corpus.add([Observation(urls[-1])] * 5)
        assert not publish(store, run, JUDGING).is_new
