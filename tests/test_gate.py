"""The publish gate, rule by rule, on maps written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps.gate import Mattered, Passage, decide, taken_back
from miqps.mapping import ALL_PATHS, ContextVerdicts, Decision, Pin, SiteMap, Verdict
from miqps.settings import PUBLISHING
from miqps.urls import Context

A = "a.example"
FEW, MANY = 3, PUBLISHING.joint_values


def entry(
    path: str, decision: str, values: int = FEW, key: Decision | None = None, name: str = "x"
) -> ContextVerdicts:
    verdict = Verdict(name, decision, "as seen", values, values, 0, key)  # type: ignore[arg-type]
    return ContextVerdicts(Context(A, path, ("x",)), (verdict,))


def site(*decisions: str, values: int = FEW) -> SiteMap:
    """One context for each decision on its parameter `x`."""
    return SiteMap(A, tuple(entry(f"/p{'x' * n}/*", d, values) for n, d in enumerate(decisions)))


def decisions(found: SiteMap) -> list[str]:
    return [v.decision for c in found.contexts for v in c.verdicts]


def runs(found: SiteMap, run: int) -> dict[Context, int]:
    return {c.context: run for c in found.contexts}


def later(passage: Passage, new: SiteMap, run: int, *, accept: bool = False) -> Passage:
    return decide(passage.site, new, passage.mattered, runs(new, run), accept=accept)


def first(found: SiteMap, run: int = 1) -> Passage:
    return decide(None, found, (), runs(found, run))


CROWD = ["neutral"] * 40
"""So many other contexts that one that changes is no 5 %."""


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
def test_how_much_of_a_site_may_change(
    old: list[str] | None, new: list[str], accepted: bool, lost: int
) -> None:
    decision = decide(site(*old) if old is not None else None, site(*new)).decision
    assert (decision.accepted, decision.lost) == (accepted, lost)


def test_a_broken_site_gets_nothing_but_what_turned_out_to_matter() -> None:
    """One page for all: everything looks neutral. What noise makes important is kept all the
    same, and a context that is new then says nothing."""
    before = first(site("important", "important", "neutral", "neutral"))
    broken = site("neutral", "neutral", "important", "neutral", "neutral", "important")
    passage = later(before, broken, 2)
    assert not passage.decision.accepted
    assert decisions(passage.site) == ["important"] * 3 + ["neutral", "important"]
    again = later(passage, broken, 3)
    assert decisions(again.site) == decisions(passage.site)


def test_one_run_is_not_enough_and_the_same_run_does_not_count_twice() -> None:
    before = first(site("important", *CROWD))
    new = site("neutral", *CROWD)
    held = later(before, new, 2)
    assert held.decision.accepted
    assert decisions(held.site)[0] == "important"
    assert [c.accepted for c in held.decision.changes] == [False]
    assert "1 of 2 runs" in held.site.contexts[0].verdicts[0].reason
    again = later(held, new, 2)
    assert decisions(again.site)[0] == "important"
    let_through = later(again, new, 3)
    assert decisions(let_through.site)[0] == "neutral"
    assert [(c.accepted, c.reason) for c in let_through.decision.changes] == [
        (True, "no change in 2 runs")
    ]
    # It is forgotten then: later runs need no confirmation.
    assert later(let_through, new, 4).decision.changes == ()


def test_many_values_at_once_are_enough() -> None:
    before = first(site("important", *CROWD))
    passage = later(before, site("neutral", *CROWD, values=MANY), 2)
    assert decisions(passage.site)[0] == "neutral"


def test_what_the_same_run_saw_before_does_not_confirm() -> None:
    """Evidence from before it last mattered, weighed otherwise, is no new evidence."""
    before = first(site("important", *CROWD), run=5)
    for run in (0, 4, 5):
        passage = later(before, site("neutral", *CROWD, values=MANY), run)
        assert decisions(passage.site)[0] == "important"


def test_doubt_does_not_launder() -> None:
    """important, undecided, neutral is the same change as important, neutral."""
    before = first(site("important", *CROWD))
    doubted = later(before, site("undecided", *CROWD), 2)
    assert decisions(doubted.site)[0] == "undecided"
    assert decisions(later(doubted, site("neutral", *CROWD), 3).site)[0] == "important"


def test_what_vanished_and_returns_is_compared_with_what_was_known() -> None:
    before = first(site("important", *CROWD))
    gone = later(before, SiteMap(A, before.site.contexts[1:]), 2)
    assert len(gone.site.contexts) == 40
    back = later(gone, site("neutral", *CROWD), 3)
    assert decisions(back.site)[0] == "important"
    assert decisions(later(back, site("neutral", *CROWD), 4).site)[0] == "neutral"


def test_a_site_that_vanished_returns_to_its_memory() -> None:
    before = first(site("important"))
    back = decide(None, site("neutral"), before.mattered, runs(site("neutral"), 2))
    assert not back.decision.accepted
    assert decisions(back.site) == []


def test_it_matters_again() -> None:
    before = first(site("important", *CROWD))
    doubted = later(before, site("neutral", *CROWD), 2)
    again = later(doubted, site("important", *CROWD), 3)
    assert again.mattered[0].doubted == ()
    assert decisions(later(again, site("neutral", *CROWD), 4).site)[0] == "important"


def test_a_person_may_let_it_through() -> None:
    before = first(site("important", "important"))
    passage = later(before, site("neutral", "neutral"), 1, accept=True)
    assert passage.decision.accepted
    assert decisions(passage.site) == ["neutral", "neutral"]
    assert {c.reason for c in passage.decision.changes} == {"accepted by hand"}
    assert passage.mattered == ()


def crowded(found: ContextVerdicts) -> SiteMap:
    return SiteMap(A, (found, *site("neutral", *CROWD).contexts[1:]))


def test_wire_and_key_are_held_each_for_itself() -> None:
    before = first(crowded(entry("/p", "important", key="neutral")))
    swapped = crowded(entry("/p", "neutral", key="important"))
    verdict = later(before, swapped, 2).site.contexts[0].verdicts[0]
    assert (verdict.decision, verdict.in_key) == ("important", "important")
    neutral = crowded(entry("/p", "neutral"))
    key_only = first(crowded(entry("/p", "neutral", key="important")))
    verdict = later(key_only, neutral, 2).site.contexts[0].verdicts[0]
    assert (verdict.decision, verdict.in_key) == ("neutral", "important")


def test_what_mattered_on_one_path_matters_where_it_was_folded_into() -> None:
    before = first(crowded(entry("/wiki/Ada", "important")))
    folded = replace(crowded(entry("/wiki/*", "neutral")), open_prefixes=frozenset({"/wiki"}))
    assert decisions(later(before, folded, 2).site)[0] == "important"


def test_what_mattered_on_all_paths_matters_on_each() -> None:
    before = first(crowded(entry(ALL_PATHS, "important")))
    assert decisions(later(before, crowded(entry("/p", "neutral")), 2).site)[0] == "important"


def test_pins_get_through_with_a_site_that_does_not() -> None:
    before = first(site("important"))
    pins = (Pin("x", "strip"),)
    passage = later(before, replace(site("neutral"), pins=pins), 2)
    assert passage.site.pins == pins


def test_what_is_taken_back_has_to_be_seen_again() -> None:
    now, then = site("neutral", "neutral", "important", *CROWD), site("undecided")
    taken = taken_back(now, then, run=7)
    assert [m.path for m in taken][:2] == ["/p/*", "/px/*"]
    assert decide(then, site("neutral"), taken, runs(site("neutral"), 7)).decision.lost == 1
    back = SiteMap(A, now.contexts[:1] + now.contexts[3:])
    assert taken_back(now, now, run=7) == []
    held = decide(now, back, taken[:1], runs(back, 7))
    assert decisions(held.site)[0] == "important"


histories = st.lists(
    st.tuples(
        st.lists(st.sampled_from(("important", "neutral", "undecided")), min_size=1, max_size=3),
        st.sampled_from((FEW, MANY)),
    ),
    min_size=1,
    max_size=8,
)


@given(histories)
def test_nothing_that_mattered_goes_unconfirmed(history: list[tuple[list[str], int]]) -> None:
    """Whatever runs say one after the other: what is neutral in the map and mattered before was
    found neutral by enough runs, or with enough values, since it last mattered."""
    passage: Passage | None = None
    said: list[dict[str, tuple[str, int]]] = []
    for run, (found, values) in enumerate(history, 1):
        new = SiteMap(A, site(*found, values=values).contexts + site(*CROWD).contexts[3:])
        passage = first(new, run) if passage is None else later(passage, new, run)
        said.append({c.context.path: (c.verdicts[0].decision, values) for c in new.contexts})
        for context in passage.site.contexts:
            path = context.context.path
            since: list[tuple[str, int]] = []
            mattered = False
            for each in said:
                if path in each and each[path][0] == "important":
                    since, mattered = [], True
                elif path in each:
                    since.append(each[path])
            if mattered and context.verdicts[0].decision == "neutral":
                neutral = [v for decision, v in since if decision == "neutral"]
                assert len(neutral) >= PUBLISHING.confirming_runs or MANY in neutral


def test_memory_is_one_entry_a_place() -> None:
    twice = [Mattered("/p", ("x",), "x", True, False, 1), Mattered("/p", ("x",), "x", False, True)]
    (one,) = decide(None, site("undecided"), twice).mattered
    assert (one.wire, one.key, one.run) == (True, True, 1)
