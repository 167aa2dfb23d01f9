"""Two pages are the same when they say the same of themselves: title, canonical link, Open Graph.

To it belongs what JSON-LD says of a thing that is sold (see `structured`). Fields that differ
between loads of one address are left out; where the title does, or most do, nothing is said.

Misses: the content itself. Pages of a list, sort orders, filters and languages often share all of
their metadata, and look the same here. Only for sites whose pages are things with names of their
own: shops' articles, news, films.

Sees a difference where there is none on sites whose canonical link is whatever address was asked
for. It is not left out: on a site that means it, the canonical link is what tells page 2 from 3.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from miqps.content_id import Identity, structured
from miqps.page import Page, Part

MOST_FIELDS = 0.34
"""The share of fields that may move."""

_TITLE = "title"


@dataclass(frozen=True, eq=False)
class Said(Identity):
    """What a page says of itself, and what of it moves."""

    fields: Mapping[str, str] = field(default_factory=dict)
    moves: frozenset[str] = frozenset()


class Metadata:
    """The content ID of sites whose pages describe themselves well."""

    name = "metadata"
    needs: frozenset[Part] = frozenset({"metadata"})

    def of(self, page: Page, *repeats: Page) -> Said:
        """What a page says of itself, and what of it moves."""
        for each in (page, *repeats):
            if each.metadata is None:
                return Said("", f"not seen: {each.outcome} {each.reason}".rstrip())
        fields = _fields(page)
        moves = structured.moving(fields, [_fields(each) for each in repeats])
        stays = {name: value for name, value in fields.items() if name not in moves}
        unstable = ""
        if not fields:
            unstable = "the page says nothing of itself"
        elif _TITLE in moves:
            unstable = "the title moves"
        elif not stays or len(moves) > MOST_FIELDS * len(fields):
            unstable = f"{len(moves)} fields move, {len(stays)} stay"
        return Said(_hash(fields), unstable, _hash(stays), fields, moves)

    def same(self, a: Identity, b: Identity) -> bool:
        """Whether two URLs say the same of themselves, outside of what moves on either side."""
        if not isinstance(a, Said) or not isinstance(b, Said):
            raise TypeError("not made by this content ID")
        if a.unstable or b.unstable:
            return False
        moves = a.moves | b.moves
        stays = (a.fields.keys() | b.fields.keys()) - moves
        return bool(stays) and structured.agree(a.fields, b.fields, moves)


def _fields(page: Page) -> dict[str, str]:
    found: dict[str, str] = {}
    if page.title:
        found[_TITLE] = page.title
    if page.metadata is None:
        return found
    if page.metadata.canonical:
        found["canonical"] = page.metadata.canonical
    counts: Counter[str] = Counter()
    for name, value in page.metadata.properties:
        # Some stand several times: og:image, og:locale:alternate.
        counts[name] += 1
        found[f"{name} {counts[name]}"] = value
    return found | {f"json-ld {path}": v for path, v in structured.facts(page.metadata).items()}


def _hash(fields: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(fields.items())).encode("ascii")).hexdigest()
