"""Two pages are the same when they look the same: leaf by leaf, and pixel by pixel.

Two witnesses look, and both must say "same". The list of visible leaves sees every digit and every
colour and survives a shifted layout; it does not see what is inside pictures, canvases and closed
components. The picture at a quarter of its size sees those, and keeps one changed digit in 11 px
type: repeats are equal to the bit, the smallest change of a letter moves a block by 27 of 255.
A third one reads what shops tell machines (`structured`), and can only say "different".

Where repeats of one URL differ, what moves is learned: of each leaf only the attributes that moved,
of a text only the words, of the picture the boxes of those leaves and the blocks that moved. The
comparison leaves that out, on either side. Where too much moves, or the very content, nothing is
said: `unstable`.

Misses: what is not visible (links' targets, most metadata), sound, all but the first frame of
moving pictures, and a change that is only in what also moves by itself. A page with pictures where
none was taken (below 60,000 px, or further down in a box that scrolls) is unstable.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from miqps.content_id import Identity, structured
from miqps.content_id.align import align, place
from miqps.content_id.mask import Box, Mask, area, cover, difference, empty, grown
from miqps.content_id.prominent import is_heading, is_picture, main_picture, main_price
from miqps.content_id.wording import Wording, fits, learn
from miqps.page import USUAL, Leaf, Page, Pixels

MOST_AREA = 0.20
"""The share of the page that may move on one side. Without a cap a tenth of the changes made under
noise were missed."""
MOST_AREA_BOTH = 0.30
"""The share left out when two pages are compared: what moves on either side, mostly in common."""
MOST_LEAVES = 0.34
"""The share of leaves whose words or looks may move, or that may come and go."""
FEW_LEAVES = 3
"""So many may always move: a clock, an advert and a request number are the half of a short page."""

TEXT, STYLE, BOX, COMES_AND_GOES = 1, 2, 4, 8

Key = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Look(Identity):
    """How a URL looks, and what of it moves by itself."""

    title: str = ""
    leaves: tuple[Leaf, ...] = ()
    moves: tuple[int, ...] = ()
    """For each leaf the attributes that moved, as bits."""
    wordings: Mapping[int, Wording] = field(default_factory=dict)
    """For each leaf whose text moved, by its number, what stays of the text."""
    strays: frozenset[Key] = field(default_factory=frozenset)
    """Leaves that were in some renders only."""
    pixels: Pixels | None = None
    """None where heights vary: then the page has no pictures, and the leaves speak alone."""
    mask: Mask | None = None
    """True where the picture moved; as high and wide as the picture."""
    facts: structured.Facts = field(default_factory=dict)
    loose: frozenset[str] = frozenset()
    """Facts that moved."""


class Visual:
    """The default content ID: what the page looks like."""

    name = "visual"
    needs = USUAL

    def of(self, page: Page, *repeats: Page) -> Look:
        """How a URL looks, and what moves between its renders."""
        digest = _digest(page)
        for each in (page, *repeats):
            if each.pixels is None:
                return Look(digest, f"not seen: {each.outcome} {each.reason}".rstrip())
            if any(is_picture(leaf) and _below(leaf, each.pixels) for leaf in each.leaves):
                return Look(digest, "there are pictures below what was captured")
        others = [each for each in repeats if _digest(each) != digest]
        if any(each.title != page.title for each in others):
            return Look(digest, "the title moves")
        moves, strays, boxes = _learn(page, others)
        wordings = _learn_words(page, others, moves)
        pixels: Pixels | None = page.pixels
        mask: Mask | None = None
        if any(_shape(each) != _shape(page) for each in others):
            if any(is_picture(leaf) for leaf in page.leaves):
                return Look(digest, "the height moves, and there are pictures to compare")
            pixels = None
        elif pixels is not None:
            mask = empty(pixels)
            cover(mask, boxes)
            for each in others:
                if each.pixels is not None:
                    mask |= grown(difference(pixels, each.pixels))
        why = _too_much(page.leaves, moves, wordings, mask)
        outline = _outline(page, moves, wordings, strays) if others else digest
        facts = structured.facts(page.metadata)
        loose = structured.moving(facts, [structured.facts(each.metadata) for each in others])
        shown = (page.title, page.leaves, moves, wordings, strays, pixels, mask)
        return Look(digest, why, outline, *shown, facts, loose)

    def same(self, a: Identity, b: Identity) -> bool:
        """Whether two URLs look the same outside of what moves on either side."""
        if not isinstance(a, Look) or not isinstance(b, Look):
            raise TypeError("not made by this content ID")
        if a.unstable or b.unstable:
            return False
        if a.digest == b.digest:
            return True
        if a.title != b.title or not structured.agree(a.facts, b.facts, a.loose | b.loose):
            return False
        boxes = _compare_leaves(a, b)
        return boxes is not None and _compare_pixels(a, b, boxes)


def _digest(page: Page) -> str:
    said = [page.title, page.leaves, sorted(structured.facts(page.metadata).items())]
    look = hashlib.sha256(json.dumps(said).encode("ascii"))
    if page.pixels is not None:
        look.update(repr(page.pixels.shape).encode("ascii"))
        look.update(np.ascontiguousarray(page.pixels).data)
    return look.hexdigest()


def _outline(
    page: Page, moves: Sequence[int], wordings: Mapping[int, Wording], strays: frozenset[Key]
) -> str:
    """A hash of the title and of what stays of the leaves; boxes and pixels move too easily."""
    stays = [
        (
            leaf.path,
            wordings[number].runs if number in wordings else leaf.text,
            "" if bits & STYLE else leaf.style,
        )
        for number, (leaf, bits) in enumerate(zip(page.leaves, moves, strict=True))
        if not bits & COMES_AND_GOES and _key(leaf) not in strays
    ]
    return hashlib.sha256(json.dumps([page.title, stays]).encode("ascii")).hexdigest()


def _shape(page: Page) -> tuple[int, ...]:
    return () if page.pixels is None else page.pixels.shape


def _key(leaf: Leaf) -> Key:
    return leaf.path, leaf.text, leaf.style


def _differs(a: Leaf, b: Leaf) -> int:
    return (
        (TEXT if a.text != b.text else 0)
        | (STYLE if a.style != b.style else 0)
        | (BOX if a.box != b.box else 0)
    )


def _learn(page: Page, others: Sequence[Page]) -> tuple[tuple[int, ...], frozenset[Key], list[Box]]:
    """What moves: bits for each leaf, the leaves that come and go, and where all of them were."""
    moves = [0] * len(page.leaves)
    strays: set[Key] = set()
    boxes: list[Box] = []
    for other in others:
        pairs = align(page.leaves, other.leaves)
        for i, j in pairs:
            moved = _differs(page.leaves[i], other.leaves[j])
            moves[i] |= moved
            if moved:
                boxes += (page.leaves[i].box, other.leaves[j].box)
        here, there = {i for i, _ in pairs}, {j for _, j in pairs}
        for i, leaf in enumerate(page.leaves):
            if i not in here:
                moves[i] |= COMES_AND_GOES
                strays.add(_key(leaf))
                boxes.append(leaf.box)
        for j, leaf in enumerate(other.leaves):
            if j not in there:
                strays.add(_key(leaf))
                boxes.append(leaf.box)
    return tuple(moves), frozenset(strays), boxes


def _learn_words(page: Page, others: Sequence[Page], moves: Sequence[int]) -> Mapping[int, Wording]:
    """What stays of each text that moves."""
    texts = {number: [page.leaves[number].text] for number, bits in enumerate(moves) if bits & TEXT}
    if texts:
        for other in others:
            for i, j in align(page.leaves, other.leaves):
                if i in texts:
                    texts[i].append(other.leaves[j].text)
    return {number: learn(loads) for number, loads in texts.items()}


def _too_much(
    leaves: Sequence[Leaf],
    moves: Sequence[int],
    wordings: Mapping[int, Wording],
    mask: Mask | None,
) -> str:
    """Why the rest says too little about the page; "" when it says enough."""
    changing = [bool(bits & ~BOX) for bits in moves]
    if leaves and all(changing) and not any(wording.stays for wording in wordings.values()):
        return "all of it moves"
    if any(moved and is_heading(leaf) for leaf, moved in zip(leaves, changing, strict=True)):
        return "the main heading moves"
    price = main_price(leaves)
    if price is not None and changing[price]:
        return "the main price moves"
    if sum(changing) > max(FEW_LEAVES, MOST_LEAVES * len(leaves)):
        return f"{sum(changing)} of {len(leaves)} leaves move"
    if mask is None:
        return ""
    if mask.mean() > MOST_AREA:
        return f"{mask.mean():.0%} of the picture moves"
    picture = main_picture(leaves)
    if picture is not None:
        part = mask[area(leaves[picture].box)]
        if changing[picture] or (part.size and part.mean() > 0.1):
            return "the main picture moves"
    return ""


def _below(leaf: Leaf, pixels: Pixels) -> bool:
    """Whether a leaf is where no picture was taken: too far down, or in a box that scrolls."""
    return leaf.box[1] >= len(pixels) * 4


def _compare_leaves(a: Look, b: Look) -> list[Box] | None:
    """Where leaves move on either side; None when the others differ."""
    strays = a.strays | b.strays
    one = [number for number, leaf in enumerate(a.leaves) if _key(leaf) not in strays]
    two = [number for number, leaf in enumerate(b.leaves) if _key(leaf) not in strays]
    if len(one) != len(two):
        return None
    boxes: list[Box] = []
    for i, j in zip(one, two, strict=True):
        left, right = a.leaves[i], b.leaves[j]
        moves = a.moves[i] | b.moves[j]
        if moves & TEXT:
            # Other words take another room.
            moves |= BOX
            if not _says_the_same(left, right, a.wordings.get(i), b.wordings.get(j)):
                return None
        if _jitters(left, right):
            moves |= BOX
        if left.path != right.path and place(left.path) != place(right.path):
            return None
        if _differs(left, right) & ~moves:
            return None
        if moves:
            boxes += (left.box, right.box)
    return boxes


def _says_the_same(
    left: Leaf, right: Leaf, left_words: Wording | None, right_words: Wording | None
) -> bool:
    """Whether two texts are the same but for the words that move on one of the sides."""
    return (
        left.text == right.text
        or (left_words is not None and fits(right.text, left_words))
        or (right_words is not None and fits(left.text, right_words))
    )


def _jitters(a: Leaf, b: Leaf) -> bool:
    """Whether a run of text stands on the other side of a rounding: the same, one px beside.

    Chromium rounds half a px either way, by what came first; nobody has changed the page then.
    """
    if a.text != b.text or a.style != b.style or a.box == b.box or is_picture(a):
        return False
    return all(abs(one - other) <= 1 for one, other in zip(a.box, b.box, strict=True))


def _compare_pixels(a: Look, b: Look, boxes: Iterable[Box]) -> bool:
    if a.pixels is None or b.pixels is None:
        return not any(is_picture(leaf) for leaf in (*a.leaves, *b.leaves))
    if a.pixels.shape != b.pixels.shape:
        return False
    moved = difference(a.pixels, b.pixels)
    if not moved.any():
        return True
    mask = empty(a.pixels)
    for each in (a.mask, b.mask):
        if each is not None:
            mask |= each
    cover(mask, boxes)
    return bool(mask.mean() <= MOST_AREA_BOTH and not (moved & ~mask).any())
