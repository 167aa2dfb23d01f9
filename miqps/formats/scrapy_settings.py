"""Scrapy: the settings that make a crawler go by a map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from miqps.formats.exporting import Exported, origin_of
from miqps.mapping import Map
from miqps.rules import Rules

_SETTINGS = """# {origin}
# pip install miqps[scrapy]; the map itself: scripts/maps.py export json --out map.json
REQUEST_FINGERPRINTER_CLASS = "miqps.contrib.scrapy.RequestFingerprinter"
SPIDER_MIDDLEWARES = {{"miqps.contrib.scrapy.CleanLinks": 550}}
MIQPS_MAP = "map.json"
"""


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """The settings; all of the map is in the file that they name."""
    wanted = None if sites is None else frozenset(sites)
    said = Counter(
        v.fetched
        for site in map.sites.values()
        if wanted is None or site.site in wanted
        for entry in (*site.contexts, *site.inferred)
        for v in entry.verdicts
    )
    return Exported(_SETTINGS.format(origin=origin_of(map)), said["neutral"], {})
