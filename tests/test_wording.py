"""Words that stay while others move."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from miqps.content_id.wording import fits, learn


@pytest.mark.parametrize(
    ("loads", "text", "expected"),
    [
        (["now 12:01, price 5", "now 12:02, price 5"], "now 12:09, price 5", True),
        (["now 12:01, price 5", "now 12:02, price 5"], "now 12:09, price 6", False),
        (["now 12:01, price 5", "now 12:02, price 5"], "now 12:09, price 15", False),
        (["price 5 12:01", "price 5 12:02"], "price 5", True),
        (["at 12:59 o'clock", "at 13:00 o'clock"], "at 14:07 o'clock", True),
        (["1,299.00 EUR #17", "1,299.00 EUR #18"], "1,298.00 EUR #19", False),
        (["2 minutes ago by Ada", "1 minute ago by Ada"], "10 minutes ago by Ada", True),
        (["2 minutes ago by Ada", "1 minute ago by Ada"], "just now by Ada", False),
        (["2 minutes ago by Ada", "1 minute ago by Ada"], "2 minutes ago by Bob", False),
        (["id a7 end", "id b8 end"], "id c9 d1 end", True),
        (["id a7 end", "id b8 end"], "id " + "x " * 50 + "end", False),
        (["a b", "a b"], "a b", True),
        (["a b", "a b"], "a b c", False),
        (["alpha", "beta"], "gamma", True),
        (["served by web1 in 5 ms", "served by web2 in 7 ms"], "served by web9 in 123 ms", True),
        (["Ref 1 for: red", "Ref 2 for: red"], "Ref 3 for: blue", False),
        (["", "a"], "b", True),
        (["a b", "a a a a a a a b", "a"], "a a a a a a a b", True),
    ],
)
def test_table(loads: list[str], text: str, expected: bool) -> None:
    assert fits(text, learn(loads)) is expected


texts = st.lists(st.sampled_from(["a", "b", "1", "2", ":", "é"]), max_size=8).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=4))
@example(["a b", "a a a a a a a b", "a"])
def test_every_load_fits_what_was_learned_from_it(loads: list[str]) -> None:
    wording = learn(loads)
    assert all(fits(load, wording) for load in loads)


@given(texts, texts)
def test_one_load_allows_nothing_else(one: str, other: str) -> None:
    assert fits(other, learn([one])) is (one.split() == other.split())


@given(st.lists(texts, min_size=1, max_size=3), texts)
def test_a_further_load_allows_more_never_less(loads: list[str], text: str) -> None:
    assert learn([*loads, text]).stays <= learn(loads).stays


def test_a_long_text_is_given_up() -> None:
    wording = learn(["a " * 1_000, "b " * 1_000])
    assert wording.stays == 0
