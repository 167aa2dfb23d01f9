"""Which leaf of one render is which leaf of another render of the same URL.

Equal leaves that occur once on either side anchor the rest (the idea of patience diff), so that an
inserted advert shifts nothing; between anchors, leaves are matched by where they stand. Bounded:
a stretch too long to be searched is left unmatched, which the caller takes as "comes and goes".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher

from miqps.page import Leaf

_NUMBER = re.compile(r"\[\d+\]")
_SEARCHABLE = 250_000
"""Pairs of a stretch that are searched: 500 by 500 leaves, some 50 ms."""

Pairs = list[tuple[int, int]]


def place(path: str) -> str:
    """A structural path without its numbers: what kind of place it is."""
    return _NUMBER.sub("", path)


def align(a: Sequence[Leaf], b: Sequence[Leaf]) -> Pairs:
    """Index pairs of leaves that belong together, in order on both sides."""
    places_a, places_b = [place(leaf.path) for leaf in a], [place(leaf.path) for leaf in b]
    exact_a = [(where, leaf.text, leaf.style) for where, leaf in zip(places_a, a, strict=True)]
    exact_b = [(where, leaf.text, leaf.style) for where, leaf in zip(places_b, b, strict=True)]
    return _straightened(a, b, pair(exact_a, exact_b, places_a, places_b))


def _straightened(a: Sequence[Leaf], b: Sequence[Leaf], found: Pairs) -> Pairs:
    """The pairs, but place by place where that explains a stretch nearly as well.

    Of four suggestions two may be the same ones on other lines: matched by their words they leave
    others over, which come and go. But the four lines are always there, and only say other things.
    """
    straight: Pairs = []
    stretch: Pairs = []
    i = j = 0
    for x, y in [*found, (len(a), len(b))]:
        is_end = x == len(a)
        if not is_end and a[x][:3] != b[y][:3]:
            stretch.append((x, y))
            continue
        straight += _straight_stretch(a, b, stretch, range(i, x), range(j, y))
        if not is_end:
            straight.append((x, y))
        stretch, i, j = [], x + 1, y + 1
    return straight


def _straight_stretch(
    a: Sequence[Leaf], b: Sequence[Leaf], found: Pairs, here: range, there: range
) -> Pairs:
    if len(here) != len(there) or len(found) == len(here):
        return found
    by_place = list(zip(here, there, strict=True))
    if any(place(a[i].path) != place(b[j].path) for i, j in by_place):
        return found
    left_over = len(here) + len(there) - 2 * len(found)
    moved = sum(a[i][1:3] != b[j][1:3] for i, j in found)
    differ = sum(a[i][1:3] != b[j][1:3] for i, j in by_place)
    return by_place if differ <= 2 * (left_over + moved) else found


def pair(
    exact_a: Sequence[Hashable],
    exact_b: Sequence[Hashable],
    places_a: Sequence[Hashable],
    places_b: Sequence[Hashable],
) -> Pairs:
    """Index pairs of things that are equal, and between those of things in the same kind of place.

    Args:
        exact_a: what each thing on one side is, with its place.
        exact_b: the same of the other side.
        places_a: the kind of place alone, as many.
        places_b: the same of the other side.
    """
    found: Pairs = []
    i = j = 0
    for x, y in [*match(exact_a, exact_b), (len(exact_a), len(exact_b))]:
        found += [(i + p, j + q) for p, q in match(places_a[i:x], places_b[j:y])]
        if x < len(exact_a):
            found.append((x, y))
        i, j = x + 1, y + 1
    return found


def match(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Index pairs of equal items, in order on both sides."""
    found: Pairs = []
    # Stretches still to be matched, as in recursion, but without its depth.
    todo = [(0, len(a), 0, len(b))]
    while todo:
        low, high, left, right = todo.pop()
        while low < high and left < right and a[low] == b[left]:
            found.append((low, left))
            low, left = low + 1, left + 1
        while low < high and left < right and a[high - 1] == b[right - 1]:
            high, right = high - 1, right - 1
            found.append((high, right))
        if low == high or left == right:
            continue
        anchors = _anchors(a[low:high], b[left:right])
        if anchors:
            i, j = low, left
            for x, y in anchors:
                found.append((low + x, left + y))
                todo.append((i, low + x, j, left + y))
                i, j = low + x + 1, left + y + 1
            todo.append((i, high, j, right))
        elif (high - low) * (right - left) <= _SEARCHABLE:
            found += _search(a[low:high], b[left:right], low, left)
    return sorted(found)


def _search(
    a: Sequence[Hashable], b: Sequence[Hashable], low: int, left: int
) -> Iterator[tuple[int, int]]:
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    for block in matcher.get_matching_blocks():
        for n in range(block.size):
            yield low + block.a + n, left + block.b + n


def _anchors(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """The longest run of items that occur once on either side, in order on both."""
    once_a, once_b = Counter(a), Counter(b)
    where = {item: j for j, item in enumerate(b) if once_b[item] == 1}
    both = [(i, where[item]) for i, item in enumerate(a) if once_a[item] == 1 and item in where]
    return _rising(both)


def _rising(pairs: Pairs) -> Pairs:
    """The longest subsequence whose second numbers rise (patience sorting)."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        before.append(ends[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(j)
            ends.append(index)
        else:
            tops[pile], ends[pile] = j, index
    chain: Pairs = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]
