"""The lists that a store holds, read: all that others say of parameters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from miqps.formats import adguard, clean_param, clearurls, no_vary_search
from miqps.mapping import FORMAT, from_json
from miqps.priors import Listed, Priors
from miqps.store import Store
from miqps.store.lists import StoredList

LISTS = ("removeparam", "clearurls", "clean-param")
"""The formats of lists, by the names that the command line knows them by."""

MAP = "map"


def detect(text: str) -> str | None:
    """What a file is by its content: one of `LISTS`, `MAP`, or None."""
    if text.lstrip().startswith("{"):
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if fields.get("format") == FORMAT:
            return MAP
        return "clearurls" if "providers" in fields else None
    lower = text.lower()
    if "clean-param" in lower:
        return "clean-param"
    return "removeparam" if "removeparam" in lower or "queryprune" in lower else None


def read(format: str, text: str, source: str, site: str = "") -> Listed:
    """What a list says. Raises ValueError with one line: it is none of that format."""
    if format == "removeparam":
        return adguard.read(text, source)
    if format == "clearurls":
        return clearurls.read(text, source)
    if not site:
        raise ValueError("a robots.txt speaks for one site; name it with --site")
    return clean_param.read(text, source, site)


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken in of a file. `entries` are sites of a map, or rules of a list."""

    name: str
    format: str
    entries: int
    passed_over: int = 0


def take_in(store: Store, name: str, format: str = "auto", site: str = "") -> Taken:
    """Store a file of another tool: a map, for the next publication, or a list.

    Args:
        store: where to.
        name: the file.
        format: `MAP` or one of `LISTS`; "auto" to tell it by the content.
        site: whose robots.txt it is.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is none of that format (a MapError is one too).
        StoreError: the store refuses.
    """
    # Lists hold names only: a byte that is no UTF-8 costs the rule that it stands in.
    text = Path(name).read_bytes().decode("utf-8-sig", "replace")
    found = detect(text) if format == "auto" else format
    if found is None:
        raise ValueError(f"no map, and none of {', '.join(LISTS)}; name what it is with --format")
    if found == MAP:
        sites = list(from_json(text).sites.values())
        store.maps.save_imported(sites, Path(name).name)
        return Taken(name, found, len(sites))
    site = site if found == "clean-param" else ""
    title = f"{Path(name).name} of {site}" if site else Path(name).name
    listed = read(found, text, title, site)
    store.lists.put(StoredList(title, found, site, text))
    return Taken(name, found, len(listed.priors), listed.passed_over)


def priors_of(store: Store) -> Priors:
    """All that is said of parameters by the lists and headers in a store. Raises StoreError."""
    found = [
        prior
        for each in store.lists.all()
        for prior in read(each.format, each.body, each.name, each.site).priors
    ]
    for seen in store.lists.headers():
        source = f"No-Vary-Search of {seen.site}"
        found += no_vary_search.read(seen.header, source, seen.site, seen.path).priors
    return Priors(tuple(found))
