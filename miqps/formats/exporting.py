"""Maps in the formats that other tools read: the way out to all of them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from miqps.formats.statements import Said
from miqps.mapping import Map
from miqps.rules import Rules

__all__ = ["EXPORTS", "Exported", "Exporter", "export"]


@dataclass(frozen=True, slots=True)
class Exported:
    """A map in another format, and how much of it that is."""

    text: str
    said: int
    """Neutral verdicts that the format says."""

    left_out: Mapping[str, int]
    """Those that it cannot say, by reason."""


class Exporter(Protocol):
    """Writes one format. Each module of a format has one as `write`."""

    def __call__(
        self, map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None
    ) -> Exported: ...


EXPORTS = {
    "json": "map_json",
    "csv": "map_csv",
    "removeparam": "adguard",
    "clearurls": "clearurls",
    "clean-param": "clean_param",
    "no-vary-search": "no_vary_search",
    "varnish": "varnish",
    "nginx": "nginx",
    "cache-keys": "cache_keys",
    "scrapy": "scrapy_settings",
}
"""The module of each format, by the name that the command line knows it by."""


def export(
    map: Map, format: str, rules: Rules | None = None, sites: Iterable[str] | None = None
) -> Exported:
    """A map in another format; nothing that it says is more than the map says.

    Args:
        map: what was learned.
        format: a key of `EXPORTS`.
        rules: the static rules that stand above the map; None for the shipped ones.
        sites: these only; None for all.
    """
    write: Exporter = importlib.import_module(f"miqps.formats.{EXPORTS[format]}").write
    return write(map, rules, sites)


def exported(text: str, said: Said) -> Exported:
    """What came of these statements."""
    return Exported(text, said.said, said.left_out)


def origin_of(map: Map) -> str:
    """Where a text comes from, for its first line."""
    # A map may come from elsewhere, and its time be any text.
    created = re.sub(r"[^0-9A-Za-z:.+-]", "", map.created)[:40]
    return f"made by miqps from map version {map.version} of {created}"
