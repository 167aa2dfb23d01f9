"""How much is in the file, in a few numbers."""

from __future__ import annotations

import os

from miqps.store.file import File

_COUNTS = {
    "sites": "SELECT count(*) FROM sites",
    "contexts": "SELECT count(*) FROM contexts",
    "hits": "SELECT coalesce(sum(hits), 0) FROM contexts",
    "urls_visited": "SELECT count(*) FROM urls WHERE visited AND NOT redacted",
    "urls_listed": "SELECT count(*) FROM urls WHERE NOT visited AND NOT redacted",
    "urls_redacted": "SELECT count(*) FROM urls WHERE redacted",
    "judged_contexts": "SELECT count(*) FROM contexts WHERE judged IS NOT NULL",
    "renders": "SELECT count(*) FROM renders",
    "map_version": "SELECT coalesce(max(version), 0) FROM maps",
    "forgotten_contexts": "SELECT coalesce(sum(contexts), 0) FROM forgotten",
    "forgotten_hits": "SELECT coalesce(sum(hits), 0) FROM forgotten",
    "last_seen": "SELECT coalesce(max(last_seen), '') FROM sites",
}


def figures(file: File) -> dict[str, int | str]:
    """Counts by name, when something was last seen, and the bytes of the file."""
    found: dict[str, int | str] = {}
    for name, sql in _COUNTS.items():
        value = file.rows(sql)[0][0]
        found[name] = value if isinstance(value, int) else str(value)
    sides = (file.path, file.path + "-wal")
    return found | {"bytes": sum(os.path.getsize(side) for side in sides if os.path.exists(side))}
