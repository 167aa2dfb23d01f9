"""What evidence is enough for: the rules between trials and verdicts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps.settings import JUDGING
from miqps.trial import CONTENT_CHANGED, Trial
from miqps.urls import Context
from miqps.weighing import Judged, mismatch_bound, review, values_needed, weigh


def same(n: int, *removed: str, path: str = "/p", look: str | None = None) -> Trial:
    url = f"http://a{path}?a={n}&b={n}&id={n}"
    digest = f"{path}{n}" if look is None else look
    return Trial(url, frozenset(removed), "same", look=digest)


def different(n: int, *removed: str, blamed: str, path: str = "/p") -> Trial:
    url = f"http://a{path}?a={n}&b={n}&id={n}"
    return Trial(url, frozenset(removed), "different", CONTENT_CHANGED, blamed, f"{path}{n}")


def verdicts(trials, names=("a", "b", "id"), rules=JUDGING, **more):
    return {v.name: v.decision for v in weigh(names, trials, rules, **more)}


FOUND = [different(0, "id", blamed="id")]


@pytest.mark.parametrize(
    ("trials", "decision"),
    [
        ([same(n, "a", "b") for n in range(3)], "neutral"),
        ([same(n, "a", "b") for n in range(2)], "undecided"),
        ([same(n, "a") for n in range(3)] + [same(n, "b") for n in range(3)], "undecided"),
        ([same(n, "a", "b", look="one") for n in range(3)], "undecided"),
        ([same(0, "a", "b")] * 5, "undecided"),
        ([], "undecided"),
    ],
    ids=[
        "three values, removed together",
        "two values",
        "never removed together",
        "one look for different ids",
        "one sample many times",
        "nothing",
    ],
)
def test_what_neutral_needs(trials: list[Trial], decision: str) -> None:
    assert verdicts([*FOUND, *trials])["a"] == decision


def test_what_blocks_one_name_does_not_block_the_others() -> None:
    """Without b nothing could be seen: a goes by itself."""
    held = Trial("http://a/p?a=0&b=0&id=0", frozenset({"b"}), "invalid", "status 403", "b")
    trials = [*FOUND, held, same(1, "b"), *(same(n, "a") for n in range(3))]
    assert verdicts(trials) == {"a": "neutral", "b": "undecided", "id": "important"}


def test_a_look_that_pages_of_other_paths_share_counts_for_nothing() -> None:
    trials = [*FOUND, *(same(n, "a", "b") for n in range(3))]
    assert verdicts(trials)["a"] == "neutral"
    assert verdicts(trials, walls={"/p2"})["a"] == "undecided"


def test_the_threshold_is_a_share_of_usable_samples() -> None:
    trials = [different(0, "a", blamed="a"), *(same(n, "a") for n in range(1, 10))]
    assert verdicts(trials, ("a",))["a"] == "important"
    assert verdicts(trials, ("a",), replace(JUDGING, threshold=0.2))["a"] == "neutral"


def test_verdicts_say_how_certain_they_are() -> None:
    (verdict,) = weigh(("a",), [same(n, "a") for n in range(5)], JUDGING)
    assert verdict.reason == "no change in 5 samples with 5 values; matters for < 45%"
    assert mismatch_bound(59) == pytest.approx(0.0495, abs=1e-4)
    assert mismatch_bound(0) == 1.0


def test_pages_of_different_paths_that_look_the_same_were_not_seen() -> None:
    wall = [
        Judged(
            Context("a", path, ("a",)),
            tuple(same(n, "a", path=path, look="wall") for n in range(3)),
        )
        for path in ("/p", "/q")
    ]
    found = review(wall, JUDGING)
    assert {v.decision for c in found for v in c.verdicts} == {"undecided"}
    assert "other paths" in found[0].verdicts[0].reason


def test_an_index_page_is_the_folder_it_stands_in() -> None:
    both = [
        Judged(
            Context("a", path, ("a", "id")),
            (
                different(7, "id", blamed="id", path=path),
                *(same(n, "a", path=path, look=f"home {n}") for n in range(3)),
            ),
        )
        for path in ("/docs/", "/docs/index.html")
    ]
    assert [c.neutral for c in review(both, JUDGING)] == [{"a"}, {"a"}]


def test_where_nothing_was_ever_seen_to_matter_only_known_trackers_go() -> None:
    """A log-in wall at one address, a page whose content never comes: the same for every id."""
    url = "http://a/p?id={n}&t={n}&gclid={n}"
    wall = tuple(
        Trial(url.format(n=n), frozenset({"id", "t", "gclid"}), "same", look="wall")
        for n in range(5)
    )
    (found,) = review([Judged(Context("a", "/p", ("gclid", "id", "t")), wall)], JUDGING)
    assert found.neutral == {"gclid"}
    assert "nothing was seen to matter here" in found.verdicts[1].reason


def test_pages_of_one_template_that_differ_were_seen() -> None:
    rows = tuple(same(n, "a", path=f"/row/{n}") for n in range(3))
    (found,) = review([Judged(Context("a", "/row/*", ("a",)), rows)], JUDGING)
    assert found.neutral == {"a"}


def test_a_context_in_which_nothing_shows_what_its_sister_showed_was_not_seen() -> None:
    """The site began to block between two patterns of one path: v was never really tried."""
    seen = Judged(Context("a", "/p", ("a",)), (different(0, "a", blamed="a"),))
    blocked = Judged(
        Context("a", "/p", ("a", "b")), tuple(same(n, "a", "b", look="sorry") for n in range(9))
    )
    assert review([seen, blocked], JUDGING)[1].neutral == frozenset()


def test_a_name_that_matters_on_the_path_needs_more_to_be_neutral_there() -> None:
    def sisters(values: int, path: str = "/p"):
        return [
            Judged(Context("a", "/p", ("a", "b", "id")), (different(0, "a", blamed="a"),)),
            Judged(
                Context("a", path, ("a", "id")),
                (
                    different(99, "id", blamed="id", path=path),
                    *(same(n, "a", path=path) for n in range(values)),
                ),
            ),
        ]

    def decision(judged: list[Judged]) -> str:
        return {v.name: v.decision for v in review(judged, JUDGING)[1].verdicts}["a"]

    assert decision(sisters(4)) == "undecided"
    assert decision(sisters(JUDGING.sister_values)) == "neutral"
    assert decision(sisters(4, "/other")) == "neutral"


def test_what_is_left_of_a_url_is_not_cleaned_further() -> None:
    """The wire sees a cleaned URL again: a must not go from it when it had to stay before."""
    whole = Judged(
        Context("a", "/p", ("a", "b")),
        (different(0, "a", blamed="a"), *(same(n, "b") for n in range(9))),
    )
    rest = Judged(Context("a", "/p", ("a",)), tuple(same(n, "a") for n in range(20)))
    found = review([whole, rest], JUDGING)
    assert found[0].neutral == {"b"}
    assert found[1].neutral == frozenset()


def test_what_could_not_be_judged_on_many_samples_is_kept() -> None:
    """On half of the pages too much moves: what the calm ones say does not speak for them."""
    restless = [
        Trial(f"http://a/p?a={n}&b={n}&id={n}", frozenset({"a"}), "invalid", "too much moves")
        for n in range(10, 13)
    ]
    calm = [same(n, "a", "b") for n in range(3)]
    assert verdicts([*FOUND, *calm, *restless])["a"] == "undecided"
    assert verdicts([*FOUND, *calm, *restless])["b"] == "neutral"


def test_a_wall_behind_one_pattern_is_not_vouched_for_by_another() -> None:
    """?page= shows pages; ?topic= shows "members only" whatever the topic."""
    url = "http://a/p?topic={n}&t={n}"
    page = Judged(Context("a", "/p", ("id",)), (different(0, "id", blamed="id"),))
    wall = tuple(
        Trial(url.format(n=n), frozenset({"topic", "t"}), "same", look="members") for n in range(5)
    )
    found = review([page, Judged(Context("a", "/p", ("t", "topic")), wall)], JUDGING)
    assert found[1].neutral == frozenset()


def a_site(rare: Judged, *, contexts: int = 3, **more: Judged) -> dict[str, str]:
    """The decisions on a rare context, beside others in which a was neutral."""
    others = [
        Judged(Context("a", f"/{n}", ("a", "id")),
               (different(9, "id", blamed="id", path=f"/{n}"),
                *(same(m, "a", path=f"/{n}") for m in range(5))))
        for n in range(contexts)
    ]  # fmt: skip
    *_, found = review([*others, *more.values(), rare], JUDGING)
    return {v.name: v.decision for v in found.verdicts}


RARE = Judged(
    Context("a", "/rare", ("a", "b", "id")),
    (different(1, "id", blamed="id", path="/rare"), same(1, "a", "b", path="/rare")),
)


def test_a_name_that_never_mattered_needs_one_sample_in_a_rare_pattern() -> None:
    assert a_site(RARE) == {"a": "neutral", "b": "undecided", "id": "important"}
    (*_, found) = review([RARE], JUDGING)
    assert found.neutral == frozenset()


def test_inferring_needs_enough_contexts_and_none_against_it() -> None:
    assert a_site(RARE, contexts=2)["a"] == "undecided"
    against = Judged(Context("a", "/q", ("a",)), (different(1, "a", blamed="a", path="/q"),))
    assert a_site(RARE, against=against)["a"] == "undecided"
    untried = Judged(Context("a", "/rare", ("a", "id")), RARE.trials[:1])
    assert a_site(untried)["a"] == "undecided"


def test_inferring_can_be_switched_off() -> None:
    site = [
        Judged(Context("a", f"/{n}", ("a",)), tuple(same(m, "a", path=f"/{n}") for m in range(5)))
        for n in range(5)
    ]
    off = replace(JUDGING, infer_after=0)
    assert "a" not in review([*site, RARE], off)[-1].neutral
    assert "a" in review([*site, RARE], JUDGING)[-1].neutral


@pytest.mark.parametrize(
    ("value", "said"), [("1", ", not with 1"), ("x" * 40, "")], ids=["a page", "maybe a secret"]
)
def test_the_default_value_is_told(value: str, said: str) -> None:
    url = f"http://a/p?page={value}&id=1"
    trials = [
        Trial(url, frozenset({"page"}), "same", look="one"),
        Trial("http://a/p?page=2&id=1", frozenset({"page"}), "different", CONTENT_CHANGED, "page"),
    ]
    (verdict,) = weigh(("page",), trials, JUDGING)
    assert verdict.reason == f"{CONTENT_CHANGED} in 1 of 2 samples{said}"


@given(
    st.floats(0.001, 0.9, allow_nan=False),
    st.sampled_from((0.8, 0.9, 0.95, 0.99)),
)
def test_so_many_values_are_needed_and_no_fewer(rate: float, confidence: float) -> None:
    needed = values_needed(rate, confidence)
    assert mismatch_bound(needed, confidence) <= rate + 1e-9
    assert mismatch_bound(needed - 1, confidence) > rate - 1e-9
