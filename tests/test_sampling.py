"""Which samples are chosen, and which values are tried beyond what was seen."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import query
from miqps.sampling import Sample, choose, lookalike, opaque, swapped

NAMES = ("id", "ref")
URLS = [f"http://a/p?id={n}&ref={'xyz'[n % 3]}" for n in range(9)]


def test_each_next_sample_brings_as_much_new_as_possible() -> None:
    chosen = choose(URLS, NAMES, 3)
    assert len({query.values(s.url, "ref") for s in chosen}) == 3
    assert len({query.values(s.url, "id") for s in chosen}) == 3


def test_nothing_new_is_no_sample() -> None:
    same = [f"http://a/p?id=1&ref=x&id={'1' * n}" for n in (0, 0)]
    assert len(choose([*same, *same], NAMES, 10)) == 1


def test_other_paths_count_as_new() -> None:
    chosen = choose(["http://a/p/1?ref=x", "http://a/p/2?ref=x"], ("ref",), 10)
    assert len(chosen) == 2


@given(st.randoms(use_true_random=False), st.integers(0, 12))
def test_the_order_of_arrival_does_not_matter(order: random.Random, limit: int) -> None:
    shuffled = list(URLS)
    order.shuffle(shuffled)
    assert choose(shuffled, NAMES, limit) == choose(URLS, NAMES, limit)


def test_values_are_swapped_in_for_all_names_at_once() -> None:
    made = swapped(
        [Sample("http://a/p?id=1&ref=x&x=%20")],
        {"ref": {"x"}, "x": {"%20"}},
        {"ref": ["x", "y", "z"], "x": ["b"]},
        least=3,
        most=5,
    )
    assert made == [
        Sample("http://a/p?id=1&ref=y&x=b", frozenset({"ref", "x"})),
        Sample("http://a/p?id=1&ref=z&x=%20", frozenset({"ref"})),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7f3a9c2e1b5d4f60", True),
        ("IwAR0abcXYZ123", True),
        ("2.1234567.89.1600000000-111.222", True),
        ("1712345678901", True),
        ("deadbeef01", True),
        ("spring_sale", False),
        ("launch2026", False),
        ("title-asc", False),
        ("1", False),
        ("2024", False),
        ("", False),
        ("en", False),
        ("A4", False),
        ("%E2%82%AC", False),
    ],
)
def test_only_values_that_say_nothing_are_opaque(value: str, expected: bool) -> None:
    assert opaque(value) is expected


@given(st.from_regex(r"[0-9a-zA-Z._~-]{8,40}", fullmatch=True), st.integers(0, 3))
def test_a_lookalike_has_the_same_shape(value: str, number: int) -> None:
    made = lookalike(value, number)
    assert len(made) == len(value)
    for old, new in zip(value, made, strict=True):
        assert (old.isdigit(), old.isupper(), old.islower()) == (
            new.isdigit(),
            new.isupper(),
            new.islower(),
        )
    assert made == lookalike(value, number)


def test_made_up_values_fill_up_only_what_is_needed() -> None:
    base = [Sample("http://a/p?sid=7f3a9c2e1b5d4f60")]
    known, pool = {"sid": {"7f3a9c2e1b5d4f60"}}, {"sid": ["00ff11ee22dd33cc"]}
    made = swapped(base, known, pool, least=3, most=5)
    assert len({query.values(s.url, "sid") for s in made}) == 2
    assert swapped(base, known, {}, least=3, most=5) == []
    assert swapped(base, {"sort": {"title"}}, {}, least=3, most=5) == []
