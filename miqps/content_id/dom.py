"""Two pages are the same when their documents are: element by element, attribute by attribute.

Compared is what is in the document once its scripts have run, in a canonical form: without scripts,
style sheets, comments and the head except its title, with attributes and classes in order and white
space collapsed, without hidden fields and attributes that hold a secret for this visitor, and
without the page's own query where links and hidden fields repeat it (`canonical`).

Where repeats of one URL differ, what moves is learned as `visual` does: of each node only the
attributes that moved, of a text only the words. Where too much moves, or the main heading, price or
picture, nothing is said: `unstable`.

Misses: everything that is not in the document. Colours and whatever else style sheets do, what a
picture at the same address shows, canvases, frames of other sites, what is typed into fields, what
scripts would do next. Sees much that nobody sees: hidden parts, classes, links' targets.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from miqps.content_id import Identity
from miqps.content_id.align import pair
from miqps.content_id.canonical import CONTENT, TITLE, Item, items
from miqps.content_id.prominent import is_heading, main_picture, main_price
from miqps.content_id.wording import Wording, fits, learn
from miqps.page import Page, Part

MOST_NODES = 0.34
"""The share of nodes whose content may move, or that may come and go; as `visual` has it."""
FEW_NODES = 6
"""So many may always: three small things, each a text in an element of its own."""

_TEXT, _GONE = "#text", "#gone"
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Document(Identity):
    """The document of a URL, and what of it moves by itself."""

    items: tuple[Item, ...] = ()
    moves: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """For a node that moves, by its number, the attributes that did; "#text" is its text."""
    wordings: Mapping[int, Wording] = field(default_factory=dict)
    """For each text that moves, by its number, what stays of it."""
    strays: frozenset[Item] = frozenset()
    """Nodes that were in some renders only."""


class Dom:
    """The content ID of sites whose documents say what there is."""

    name = "dom"
    needs: frozenset[Part] = frozenset({"dom"})

    def of(self, page: Page, *repeats: Page) -> Document:
        """The document of a URL, and what moves between its renders."""
        for each in (page, *repeats):
            if not each.dom:
                return Document("", f"not seen: {each.outcome} {each.reason}".rstrip())
        mine = items(page)
        digest = _hash(mine)
        others = [other for other in map(items, repeats) if other != mine]
        moves, texts, strays = _learn(mine, others)
        wordings = {number: learn(loads) for number, loads in texts.items()}
        unstable = _main_moves(page, repeats) or _too_much(mine, moves, wordings)
        stays = [
            _staying(item, moves.get(number, _NOTHING), wordings.get(number))
            for number, item in enumerate(mine)
            if item not in strays
        ]
        outline = _hash(stays) if others else digest
        return Document(digest, unstable, outline, tuple(mine), moves, wordings, strays)

    def same(self, a: Identity, b: Identity) -> bool:
        """Whether two documents are the same outside of what moves on either side."""
        if not isinstance(a, Document) or not isinstance(b, Document):
            raise TypeError("not made by this content ID")
        if a.unstable or b.unstable:
            return False
        return a.digest == b.digest or _compare(a, b)


def _hash(nodes: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(nodes).encode("ascii")).hexdigest()


def _staying(item: Item, moved: frozenset[str], wording: Wording | None) -> object:
    attributes = [(name, value) for name, value in item.attributes if name not in moved]
    return item.place, item.tag, wording.runs if wording else item.text, attributes


def _learn(
    mine: Sequence[Item], others: Sequence[Sequence[Item]]
) -> tuple[dict[int, frozenset[str]], dict[int, list[str]], frozenset[Item]]:
    """What moves: attributes by node; the texts of those whose text does; what comes and goes."""
    moves: dict[int, frozenset[str]] = {}
    texts: dict[int, list[str]] = {}
    strays: set[Item] = set()
    for other in others:
        pairs = pair(mine, other, [i.place for i in mine], [i.place for i in other])
        for i, j in pairs:
            moved = _differing(mine[i], other[j])
            if moved:
                moves[i] = moves.get(i, _NOTHING) | moved
            if _TEXT in moved:
                texts.setdefault(i, [mine[i].text]).append(other[j].text)
        here, there = {i for i, _ in pairs}, {j for _, j in pairs}
        for i, item in enumerate(mine):
            if i not in here:
                moves[i] = moves.get(i, _NOTHING) | {_GONE}
                strays.add(item)
        strays.update(item for j, item in enumerate(other) if j not in there)
    return moves, texts, frozenset(strays)


def _differing(a: Item, b: Item) -> frozenset[str]:
    if a == b:
        return frozenset()
    names = frozenset(name for name, _ in set(a.attributes) ^ set(b.attributes))
    return names | {_TEXT} if a.text != b.text else names


def _main_moves(page: Page, repeats: Sequence[Page]) -> str:
    """Why the page cannot be judged by the rest: its very content moves."""
    for what, read in (
        ("title", lambda p: p.title),
        ("main heading", lambda p: [leaf.text for leaf in p.leaves if is_heading(leaf)]),
        ("main price", lambda p: _leaf(p, main_price(p.leaves))),
        ("main picture", lambda p: _leaf(p, main_picture(p.leaves))),
    ):
        if any(read(each) != read(page) for each in repeats):
            return f"the {what} moves"
    return ""


def _leaf(page: Page, number: int | None) -> tuple[str, str] | None:
    return None if number is None else (page.leaves[number].text, page.leaves[number].style)


def _too_much(
    mine: Sequence[Item], moves: Mapping[int, frozenset[str]], wordings: Mapping[int, Wording]
) -> str:
    """Why the rest says too little about the page; "" when it says enough."""
    texts = [n for n, item in enumerate(mine) if item.text and item.place != TITLE]
    silent = not any(wording.stays for wording in wordings.values())
    if texts and silent and all(moves.get(n, _NOTHING) & {_TEXT, _GONE} for n in texts):
        return "all of it moves"
    changing = sum(not moved.isdisjoint(CONTENT | {_TEXT, _GONE}) for moved in moves.values())
    if changing > max(FEW_NODES, MOST_NODES * len(mine)):
        return f"{changing} of {len(mine)} nodes move"
    return ""


def _compare(a: Document, b: Document) -> bool:
    strays = a.strays | b.strays
    one = [number for number, item in enumerate(a.items) if item not in strays]
    two = [number for number, item in enumerate(b.items) if item not in strays]
    if len(one) != len(two):
        return False
    return all(_node_same(a, i, b, j) for i, j in zip(one, two, strict=True))


def _node_same(a: Document, i: int, b: Document, j: int) -> bool:
    left, right = a.items[i], b.items[j]
    if left == right:
        return True
    if left.place != right.place:
        return False
    moves = a.moves.get(i, _NOTHING) | b.moves.get(j, _NOTHING)
    if _differing(left, right) - moves:
        return False
    return left.text == right.text or any(
        wording is not None and fits(text, wording)
        for text, wording in ((right.text, a.wordings.get(i)), (left.text, b.wordings.get(j)))
    )
