"""What others say of parameters: lists that were imported, and headers that were seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from miqps.store.file import File, now

_MOST_HEADERS = 20_000
"""Paths whose `No-Vary-Search` is kept, some 100 bytes each; the oldest go first."""


@dataclass(frozen=True, slots=True)
class StoredList:
    """An imported list as it came. `site` is whose it is, "" when it is about all."""

    name: str
    format: str
    site: str
    body: str


@dataclass(frozen=True, slots=True)
class SeenHeader:
    """A `No-Vary-Search` that came with the pages of a path template."""

    site: str
    path: str
    header: str


class Lists:
    """The lists and headers in the store."""

    def __init__(self, file: File) -> None:
        self._file = file

    def put(self, new: StoredList) -> None:
        """Keep a list, in place of the one of the same name."""
        with self._file.writing() as db:
            db.execute(
                "INSERT INTO lists (name, format, site, body, imported) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET format = excluded.format, site = excluded.site,"
                " body = excluded.body, imported = excluded.imported",
                [new.name, new.format, new.site, new.body, now()],
            )

    def all(self) -> list[StoredList]:
        """The lists, by name."""
        rows = self._file.rows("SELECT name, format, site, body FROM lists ORDER BY name")
        return [StoredList(*map(str, row)) for row in rows]

    def note(self, headers: Iterable[SeenHeader]) -> None:
        """Keep the last header of each path."""
        with self._file.writing() as db:
            db.conn.executemany(
                "INSERT INTO no_vary_search (site, path, header, seen) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (site, path) DO UPDATE SET header = excluded.header,"
                " seen = excluded.seen",
                [(each.site, each.path, each.header, now()) for each in headers],
            )
            db.execute(
                "DELETE FROM no_vary_search WHERE id <= (SELECT max(id) FROM no_vary_search) - ?",
                [_MOST_HEADERS],
            )

    def headers(self) -> list[SeenHeader]:
        """The headers, by site and path."""
        rows = self._file.rows("SELECT site, path, header FROM no_vary_search ORDER BY site, path")
        return [SeenHeader(*map(str, row)) for row in rows]
