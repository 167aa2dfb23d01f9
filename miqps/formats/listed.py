"""The lists that a store holds, read: all that others say of parameters."""

from __future__ import annotations

import json

from miqps.formats import adguard, clean_param, clearurls, no_vary_search
from miqps.mapping import FORMAT
from miqps.priors import Listed, Priors
from miqps.store import Store

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
        return (
            MAP
            if fields.get("format") == FORMAT
            else "clearurls"
            if "providers" in fields
            else None
        )
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
