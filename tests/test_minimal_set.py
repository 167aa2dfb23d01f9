"""The search for what must stay, against brute force over all subsets."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps.minimal_set import Answer, minimal_set

ALPHABET = "abcdefghij"
Enough = Callable[[frozenset[str]], bool]


def oracle(enough: Enough) -> Callable[[frozenset[str]], Answer]:
    return lambda kept: "same" if enough(kept) else "different"


def subsets(names: str) -> list[frozenset[str]]:
    return [
        frozenset(chosen) for size in range(len(names) + 1) for chosen in combinations(names, size)
    ]


def is_minimal(kept: frozenset[str], enough: Enough) -> bool:
    return enough(kept) and not any(enough(kept - {name}) for name in kept)


names = st.integers(0, 10).map(lambda k: ALPHABET[:k])
some = st.sets(st.sampled_from(ALPHABET)).map(frozenset)


@given(names, some, st.randoms(use_true_random=False))
def test_names_that_matter_each_for_itself(all_names: str, matter, order) -> None:
    matter &= set(all_names)
    shuffled = order.sample(all_names, len(all_names))
    found = minimal_set(shuffled, oracle(matter.issubset))
    assert found.kept == matter
    assert not found.unsettled


@given(names, st.lists(some.filter(bool), max_size=4))
def test_names_of_which_one_of_several_must_stay(all_names: str, groups) -> None:
    """Monotone: of each group at least one name has to stay, as where two say the same."""
    groups = [group for g in groups if (group := g & set(all_names))]

    def enough(kept: frozenset[str]) -> bool:
        return all(kept & group for group in groups)

    found = minimal_set(all_names, oracle(enough))
    minimal = [kept for kept in subsets(all_names) if is_minimal(kept, enough)]
    assert found.kept in minimal


@given(names, st.randoms(use_true_random=False))
def test_any_oracle_at_all(all_names: str, chance: random.Random) -> None:
    """Names that conflict: keeping more may show something else. What is found was seen."""
    table = {kept: chance.random() < 0.3 for kept in subsets(all_names)}
    table[frozenset(all_names)] = True
    found = minimal_set(all_names, oracle(table.__getitem__))
    assert is_minimal(found.kept, table.__getitem__)
    asked = [question.kept for question in found.trace]
    assert len(set(asked)) == len(asked)
    assert found.kept in asked or found.kept == set(all_names)
    assert len(asked) <= (len(all_names) + 1) ** 2


@given(names, some, st.floats(0, 1), st.randoms(use_true_random=False))
def test_an_oracle_that_errs_ends_all_the_same(all_names, matter, share, chance) -> None:
    def noisy(kept: frozenset[str]) -> Answer:
        if chance.random() < share:
            return chance.choice(["same", "different", "invalid"])
        return "same" if kept >= matter & set(all_names) else "different"

    found = minimal_set(all_names, noisy)
    answers = {question.kept: question.answer for question in found.trace}
    assert answers.get(found.kept, "same") == "same"
    assert all(answers[found.kept - {name}] != "same" for name in found.kept)
    assert found.unsettled == {n for n in found.kept if answers[found.kept - {n}] == "invalid"}


@given(names, some, some)
def test_a_name_without_which_nothing_is_seen_stays_unsettled(all_names, matter, wall) -> None:
    matter, wall = matter & set(all_names), wall & set(all_names) - matter

    def walled(kept: frozenset[str]) -> Answer:
        if not kept >= wall:
            return "invalid"
        return "same" if kept >= matter else "different"

    found = minimal_set(all_names, walled)
    assert (found.kept, found.unsettled) == (matter | wall, wall)


@given(st.integers(1, 64), st.sets(st.integers(0, 63), max_size=5))
def test_few_questions(k: int, places: set[int]) -> None:
    all_names = [f"n{place}" for place in range(k)]
    matter = frozenset(f"n{place}" for place in places if place < k)
    found = minimal_set(all_names, oracle(matter.issubset))
    d = len(matter)
    assert len(found.trace) <= 1 + d * (2 * math.ceil(math.log2(k + 1)) + 2)


@pytest.mark.parametrize("d", [0, 1, 2, 3])
def test_a_good_guess_costs_little_more_than_one_question_a_name(d: int) -> None:
    matter = frozenset(ALPHABET[:d])
    found = minimal_set(ALPHABET, oracle(matter.issubset))
    # With none, with each beginning, and with each of them left out once.
    assert len(found.trace) <= 1 + 3 * d


def test_repeated_names_are_one() -> None:
    assert minimal_set(["a", "b", "a"], oracle(frozenset("b").issubset)).kept == {"b"}
