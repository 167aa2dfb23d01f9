"""A small map that has something of everything."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from miqps.mapping import ALL_PATHS, ContextVerdicts, Decision, Map, SiteMap, Verdict
from miqps.urls import Context

SITE = "shop.example"
SHOP = f"https://{SITE}"


def entry(path: str, names: str, **decided: str) -> ContextVerdicts:
    """Verdicts on one context: `entry("/p/*", "a b", a="neutral")`."""
    verdicts = tuple(verdict(name, decision) for name, decision in sorted(decided.items()))
    return ContextVerdicts(Context(SITE, path, tuple(sorted(names.split()))), verdicts)


def verdict(name: str, decision: str, key: Decision | None = None) -> Verdict:
    known: dict[str, Decision] = {"neutral": "neutral", "important": "important"}
    return Verdict(name, known.get(decision, "undecided"), "as tested", 10, 9, 0, key)


def a_map(
    contexts: Iterable[ContextVerdicts],
    inferred: Iterable[ContextVerdicts] = (),
    open_prefixes: Iterable[str] = (),
) -> Map:
    site = SiteMap(SITE, tuple(contexts), frozenset(open_prefixes), tuple(inferred))
    return Map(3, "2026-12-01T00:00:00Z", {SITE: site})


KNOWN = a_map(
    [
        entry("/p/*", "id ref utm_source", id="important", ref="undecided", utm_source="neutral"),
        entry("/p/*", "utm_source", utm_source="neutral"),
        entry("/wiki/*", "utm_source", utm_source="neutral"),
        entry("/p/*", "action utm_source", utm_source="neutral"),
        entry("/p/*", "%61 utm_source", utm_source="neutral"),
        entry("/list", "start utm_source", start="neutral", utm_source="neutral"),
        entry("/products/*", "variant utm_source", variant="neutral", utm_source="neutral"),
        entry("/p/*", "token utm_source", utm_source="neutral"),
        entry("/login/*", "utm_source", utm_source="neutral"),
        entry(ALL_PATHS, "gclid", gclid="neutral"),
        entry("/gallery", "gclid", gclid="important"),
        entry("/hall", "gclid"),
    ],
    open_prefixes=["/wiki"],
)


def store(path: Path, *bodies: str) -> Path:
    db = sqlite3.connect(path)
    db.execute(
        "CREATE TABLE maps (version INTEGER PRIMARY KEY, created TEXT, note TEXT, body TEXT)"
    )
    db.executemany(
        "INSERT INTO maps (created, body) VALUES ('2026-12-01', ?)", [(b,) for b in bodies]
    )
    db.commit()
    db.close()
    return path
