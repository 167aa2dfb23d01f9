"""What live traffic says of contexts: that they are worth another look, or to be left alone."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sqlite_utils import Database

from miqps import urls
from miqps.store.file import File, now


class Signs:
    """The signs in the store."""

    def __init__(self, file: File) -> None:
        self._file = file

    def drift(self, addresses: Iterable[str]) -> int:
        """Note that these pages show something else than they do stripped; returns how many.

        Their contexts are due to be judged again.
        """
        with self._file.writing() as db:
            return sum(_due(db, url) is not None for url in addresses)

    def circle(self, addresses: Iterable[str]) -> None:
        """Note that the site changes these URLs back when something is taken out of them.

        Their contexts are due to be judged again, and to be left alone until then.
        """
        with self._file.writing() as db:
            for context_id in [_due(db, url) for url in addresses]:
                if context_id is not None:
                    db.execute(
                        "INSERT INTO circles (context_id, times, seen) VALUES (?, 1, ?)"
                        " ON CONFLICT (context_id) DO UPDATE SET times = times + 1,"
                        " seen = excluded.seen",
                        [context_id, now()],
                    )

    def circling(self) -> frozenset[tuple[str, tuple[str, ...]]]:
        """Site and pattern of what the site changes back, and was not judged since."""
        rows = self._file.rows(
            "SELECT s.site, c.names FROM circles k JOIN contexts c ON c.id = k.context_id"
            " JOIN sites s ON s.id = c.site_id WHERE k.seen >= coalesce(c.judged, '')"
        )
        return frozenset((str(site), tuple(json.loads(str(names)))) for site, names in rows)


def _due(db: Database, url: str) -> int | None:
    """Mark the context of a URL as worth a look; its number, None when it is not known."""
    row = db.execute(
        "SELECT open_prefixes FROM sites WHERE site = ?", [urls.site(url) or ""]
    ).fetchone()
    place = urls.context_of(url, frozenset(json.loads(row[0]))) if row else None
    if place is None:
        return None
    found = db.execute(
        "UPDATE contexts SET drifted = ? WHERE kind = 'page' AND path = ? AND names = ?"
        " AND site_id = (SELECT id FROM sites WHERE site = ?) RETURNING id",
        [now(), place.path, json.dumps(place.names, ensure_ascii=False), place.site],
    ).fetchone()
    return None if found is None else int(found[0])
