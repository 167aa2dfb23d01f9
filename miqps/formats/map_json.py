"""The map itself as JSON, whole or some of its sites; `data/map.schema.json` is its schema."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from miqps.formats.exporting import Exported
from miqps.mapping import Map, to_json
from miqps.rules import Rules


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """The map, with everything in it."""
    if sites is not None:
        map = replace(map, sites={site: map.sites[site] for site in sites if site in map.sites})
    said = sum(
        v.fetched == "neutral"
        for site in map.sites.values()
        for entry in (*site.contexts, *site.inferred)
        for v in entry.verdicts
    )
    return Exported(to_json(map), said, {})
