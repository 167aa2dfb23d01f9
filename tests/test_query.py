"""The raw query: cutting items out without touching another byte."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import query
from tests.hard_urls import CASES, TRACKERS, raw_target, target

some_names = st.sets(st.sampled_from(["utm_source", "gclid", "a", "b", "", "é", "\\xc3"]))


@pytest.mark.parametrize(("kind", "url", "expected"), CASES, ids=[case[0] for case in CASES])
def test_hard_case(kind: str, url: str, expected: str) -> None:
    assert query.remove(url, TRACKERS) == expected
    assert query.remove(url.encode(), TRACKERS) == expected.encode()
    assert query.remove(expected, TRACKERS) is expected
    if url == expected:
        assert query.remove(url, TRACKERS) is url


def test_the_table_is_long_enough() -> None:
    assert len(CASES) >= 60
    assert len({kind for kind, _, _ in CASES}) == len(CASES)


@given(target | raw_target)
def test_parts_joined_are_the_target(url: str | bytes) -> None:
    head, text, tail = query.split(url)
    question = "?" if isinstance(url, str) else b"?"
    ampersand = "&" if isinstance(url, str) else b"&"
    rebuilt = head if text is None else head + question + ampersand.join(query.items(text))
    assert rebuilt + tail == url


@given(target | raw_target, some_names)
def test_removal_is_idempotent(url: str | bytes, names: set[str]) -> None:
    once = query.remove(url, names)
    assert query.remove(once, names) is once


@given(target | raw_target, some_names)
def test_result_is_the_input_without_whole_items(url: str | bytes, names: set[str]) -> None:
    head, before, tail = query.split(url)
    result = query.remove(url, names)
    ampersand = "&" if isinstance(url, str) else b"&"
    pieces = query.items(before) if before else []
    kept = [item for item in pieces if not item or query.name_of(item) not in names]
    if len(kept) == len(pieces):
        assert result is url
    else:
        # One separator goes with each item, and a bare `?` with the last.
        rest = ampersand.join(kept)
        assert (
            result
            == (head + ("?" if isinstance(url, str) else b"?") + rest if rest else head) + tail
        )


@given(target | raw_target, some_names)
def test_keeping_is_removing_all_others(url: str | bytes, names: set[str]) -> None:
    others = set(query.names(url)) - names
    assert query.keep_only(url, names) == query.remove(url, others)


@given(target)
def test_str_and_bytes_agree(url: str) -> None:
    raw = url.encode("utf-8", "surrogatepass")
    assert query.names(url) == query.names(raw)
    for name in query.names(url):
        name.encode("utf-8")
        values = tuple(value.encode("utf-8", "surrogatepass") for value in query.values(url, name))
        assert values == query.values(raw, name)


@given(st.binary())
def test_escaped_bytes_are_named_like_the_bytes(raw: bytes) -> None:
    assert query.names(raw.decode("utf-8", "surrogateescape")) == query.names(raw)


@given(target | raw_target, some_names)
def test_replaced_value_is_there(url: str | bytes, names: set[str]) -> None:
    value = "new" if isinstance(url, str) else b"new"
    for name in names:
        before = query.values(url, name)
        replaced = query.replace_value(url, name, value)
        if not before:
            assert replaced is url
        else:
            assert query.values(replaced, name) == (value, *before[1:])


@pytest.mark.parametrize(
    ("item", "name", "value"),
    [
        ("a=1", "a", "1"),
        ("a", "a", None),
        ("a=", "a", ""),
        ("=5", "", "5"),
        ("a==b", "a", "=b"),
        ("%61%3D=x%20y", "a=", "x%20y"),
        ("a+b=1", "a+b", "1"),
        ("caf%E9=1", "caf\\xe9", "1"),
        ("caf%C3%A9=1", "café", "1"),
        ("\ud800=1", "\\xed\\xa0\\x80", "1"),
    ],
)
def test_name_and_value(item: str, name: str, value: str | None) -> None:
    assert query.name_of(item) == name
    assert query.value_of(item) == value


def test_pattern_is_sorted_distinct_and_knows_no_empty_items() -> None:
    assert query.names("/p?b=1&a&b=2&&=3&") == ("", "a", "b")
    assert query.names("/p?&&") == ()
    assert query.names("/p") == query.names("/p?") == query.names("/p#?a=1") == ()


def test_values_in_order() -> None:
    assert query.values("/p?a=1&b=2&a&%61=3", "a") == ("1", "", "3")
    assert query.values(b"/p?a=%ff&b=2", "a") == (b"%ff",)
    assert query.values("/p", "a") == ()


def test_a_megabyte_of_query() -> None:
    long = "&".join(f"n{number}={'x' * 20}" for number in range(40_000))
    url = f"https://shop.example/p?{long}&gclid=1"
    assert query.remove(url, TRACKERS) == f"https://shop.example/p?{long}"


def test_examples_in_the_documentation() -> None:
    assert doctest.testmod(query).failed == 0
