"""The canonical form of a document: its nodes without what only repeats the address or a secret.

Links to other pages of a list, log-in links and hidden fields carry the page's own query along.
When a parameter is taken away they lose it too, and nothing else has changed. So an item of a query
that is an item of the page's own address is left out wherever it stands.
"""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple
from urllib.parse import quote_plus, unquote_plus

from miqps import query
from miqps.page import Node, Page

_SECRET = re.compile(
    r"csrf|xsrf|nonce|authenticity|request-?verification|view_?state|event_?validation"
    r"|form_?(key|token|build_id)|(^|[_-])token$",
    re.IGNORECASE,
)
"""Names of fields and attributes whose values are made anew for every visitor."""

_SPACE = re.compile(r"\s")
_NESTED = 3
"""How often an address may stand in an address: a log-in link that returns to a search."""

CONTENT = frozenset({"alt", "content", "href", "poster", "src", "srcset", "value"})
"""Attributes that people see or follow; the others only hold a document together."""

Pair = tuple[str, str]


class Item(NamedTuple):
    """A node, where it stands, and what it says."""

    place: int
    """A checksum of the tags from the root to it: equal for the same kind of place."""
    tag: str
    text: str
    attributes: tuple[Pair, ...]


def items(page: Page) -> list[Item]:
    """A page's nodes in document order, as they are compared."""
    own = frozenset(
        pair
        for url in (page.url, page.final_url)
        for raw in query.items(query.split(url)[1] or "")
        if raw
        for pair in (_decoded(raw),)
    )
    found: list[Item] = []
    above: list[int] = []
    for node in page.dom:
        del above[node.depth :]
        place = _below(above[-1] if above else 0, node.tag)
        above += [place] * (node.depth + 1 - len(above))
        if not _is_passing(node, own):
            attributes = tuple(
                (name, _without(value, own))
                for name, value in node.attributes
                if not _SECRET.search(name)
            )
            found.append(Item(place, node.tag, node.text, attributes))
    return found


def _below(place: int, tag: str) -> int:
    return zlib.crc32(b"/" + tag.encode("utf-8", "surrogatepass"), place)


TITLE = _below(_below(_below(0, "html"), "title"), "#text")
"""The place of the title's text."""


def _is_passing(node: Node, own: frozenset[Pair]) -> bool:
    """Whether a node is a hidden field with a secret, or with what the address says already."""
    if node.tag != "input":
        return False
    said = dict(node.attributes)
    if said.get("type", "").lower() != "hidden":
        return False
    name = said.get("name", "")
    return bool(_SECRET.search(name)) or (name, said.get("value", "")) in own


def _without(value: str, own: frozenset[Pair], deep: int = _NESTED) -> str:
    """An attribute's value; where it is an address, without items of the page's own.

    The others are written in one way: servers write them anew when the rest has gone.
    """
    if "?" not in value or not deep or _SPACE.search(value):
        return value
    head, raw, tail = query.split(value)
    if not raw:
        return value
    pairs = [pair for pair in map(_decoded, query.items(raw)) if pair not in own]
    kept = [f"{_quoted(name)}={_quoted(_without(inner, own, deep - 1))}" for name, inner in pairs]
    return f"{head}?{'&'.join(kept)}{tail}" if kept else head + tail


def _quoted(text: str) -> str:
    return quote_plus(text, errors="surrogatepass")


def _decoded(item: str) -> Pair:
    name, _, value = item.partition("=")
    return unquote_plus(name), unquote_plus(value)
