"""A page survives its way through bytes."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from miqps.page import Body, Hop, Leaf, Metadata, Node, Page, from_bytes, to_bytes

# How long an example takes is the business of the machine.
patient = settings(deadline=None)

# Everything a script may put into a title, half a surrogate pair too.
text = st.text(st.characters(codec=None, exclude_categories=()), max_size=30)
leaves = st.builds(Leaf, text, text, text, st.tuples(*[st.integers(-9999, 99_999)] * 4))
pixels = st.none() | arrays.arrays(
    np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3))
)
pairs = st.lists(st.tuples(text, text), max_size=3).map(tuple)
pages = st.builds(
    Page,
    url=text,
    outcome=st.sampled_from(["seen", "throttled", "redirected"]),
    reason=text,
    status=st.none() | st.integers(100, 599),
    final_url=text,
    title=text,
    leaves=st.lists(leaves, max_size=5).map(tuple),
    pixels=pixels,
    height=st.integers(0, 100_000),
    hops=st.lists(st.builds(Hop, text, st.integers(100, 599)), max_size=3).map(tuple),
    metadata=st.none() | st.builds(Metadata, text, pairs, st.lists(text, max_size=3).map(tuple)),
    dom=st.lists(st.builds(Node, st.integers(0, 99), text, text, pairs), max_size=5).map(tuple),
    body=st.none() | st.builds(Body, text, st.integers(0, 2**40), st.binary(max_size=30)),
    errors=st.lists(text, max_size=3).map(tuple),
    phases=st.dictionaries(text, st.floats(0, 1e6), max_size=3),
    cookies=st.dictionaries(text, text, max_size=3),
    retry_after=st.none() | st.floats(0, 1e6),
    milliseconds=st.floats(0, 1e6),
)


@patient
@given(pages)
def test_round_trip(page: Page) -> None:
    back = from_bytes(to_bytes(page))
    for field in fields(Page):
        before, after = getattr(page, field.name), getattr(back, field.name)
        if field.name == "pixels" and before is not None:
            assert after.dtype == np.uint8
            assert after.flags.writeable
            assert np.array_equal(before, after)
        else:
            assert before == after, field.name
    assert all(isinstance(leaf, Leaf) for leaf in back.leaves)
    assert all(isinstance(node, Node) for node in back.dom)


def test_flat_pages_are_small() -> None:
    page = Page("http://a/", "seen", pixels=np.full((2_000, 320, 3), 255, np.uint8))
    assert len(to_bytes(page)) < 20_000


@patient
@given(pages, st.data())
def test_damage_is_reported(page: Page, data: st.DataObject) -> None:
    whole = to_bytes(page)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(ValueError, match="stored page"):
        from_bytes(cut)


@pytest.mark.parametrize("data", [b"", b"junk", b"miqps-page/2\n", b"miqps-page/2\nx\x9c\x03\0"])
def test_junk_is_reported(data: bytes) -> None:
    with pytest.raises(ValueError, match="stored page"):
        from_bytes(data)


def test_seen_is_only_what_was_asked_for() -> None:
    assert Page("http://a/", "seen").seen
    assert not Page("http://a/", "redirected").seen


def test_text_is_what_can_be_read() -> None:
    lines = [Leaf("/html/p[1]", text, "", (0, 0, 9, 9)) for text in ("one", "", "two")]
    assert Page("http://a/", "seen", leaves=tuple(lines)).text == "one\ntwo"
