"""What a page's JSON-LD says of the thing it sells: a witness that nothing on the page can hide.

Only what names a thing or its price is read: those are equal where the content is, and differ where
it is another. Dates, ratings, addresses and pictures are not: they change by themselves, or carry
the page's own query.

Misses: microdata and RDFa, blocks that are no JSON, and all that is not sold.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from miqps.page import Metadata

_MOST = 500
"""Facts of one page. A list of products has some fifty; what is beyond is on the page too."""

_DEEPEST = 20

_NAMES_A_THING = frozenset(
    {"sku", "mpn", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "isbn", "productID"}
    | {"price", "lowPrice", "highPrice", "minPrice", "maxPrice", "priceCurrency"}
)

Facts = Mapping[str, str]


def facts(metadata: Metadata | None) -> Facts:
    """What the JSON-LD says, by where it says so: "0.offers.price" -> "19.90".

    Never raises: what cannot be read says nothing.
    """
    found: dict[str, str] = {}
    for number, block in enumerate(metadata.json_ld if metadata else ()):
        try:
            # Line breaks in strings are wrong, and common.
            data = json.loads(block, strict=False)
        except (ValueError, RecursionError):
            continue
        for path, value in _walk(data, str(number), _DEEPEST):
            if len(found) == _MOST:
                return found
            found[path] = value
    return found


def moving(first: Facts, others: Sequence[Facts]) -> frozenset[str]:
    """Where loads of the same page do not agree."""
    return frozenset(
        path
        for other in others
        for path in first.keys() | other.keys()
        if first.get(path) != other.get(path)
    )


def agree(a: Facts, b: Facts, moves: frozenset[str]) -> bool:
    """Whether two pages say the same, outside of where one of them `moves`."""
    return all(a.get(path) == b.get(path) for path in (a.keys() | b.keys()) - moves)


def _walk(data: Any, path: str, room: int) -> Iterator[tuple[str, str]]:
    if not room:
        return
    if isinstance(data, list):
        for number, item in enumerate(data):
            yield from _walk(item, f"{path}[{number}]", room - 1)
    elif isinstance(data, dict):
        # Shops, authors and menus have names too; what has a number or a price is a thing.
        wanted = set(_NAMES_A_THING)
        if "offers" in data or not wanted.isdisjoint(data):
            wanted.add("name")
        for key, value in data.items():
            if isinstance(value, dict | list):
                yield from _walk(value, f"{path}.{key}", room - 1)
            elif key in wanted and value is not None:
                yield f"{path}.{key}", " ".join(str(value).split())
