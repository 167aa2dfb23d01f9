"""Which files were added to the corpus, and how far: adding one again adds what is new in it.

A file is known by its content, wherever it lies and whatever it is called. One that has grown - a
log - is known by the part that was there before.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b

from sqlite_utils import Database

from miqps.store.file import File, now, whole

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file as it is now, and how many of its entries are in the corpus already."""

    digest: str
    bytes: int
    entries: int


class Imports:
    """The files in the store's table `imports`."""

    def __init__(self, file: File) -> None:
        self._file = file

    def look(self, path: str | os.PathLike[str]) -> ImportedFile:
        """Read a file once and find out how much of it is known. Raises OSError and StoreError."""
        known = {
            (whole(size), str(digest)): whole(entries)
            for size, digest, entries in self._file.rows(
                "SELECT bytes, digest, entries FROM imports"
            )
        }
        sizes = sorted({size for size, _ in known})
        entries, at = 0, 0
        hashed = blake2b(digest_size=16)
        with open(path, "rb") as content:
            while True:
                until = next((size for size in sizes if size > at), at + _PIECE)
                piece = content.read(min(until - at, _PIECE))
                if not piece:
                    break
                hashed.update(piece)
                at += len(piece)
                # The longest part that is known says the most.
                entries = known.get((at, hashed.hexdigest()), entries)
        return ImportedFile(hashed.hexdigest(), at, entries)

    def known(self, digest: str) -> int:
        """How many entries of what is known by this digest are in the corpus."""
        rows = self._file.rows("SELECT entries FROM imports WHERE digest = ?", [digest])
        return whole(rows[0][0]) if rows else 0


def note(db: Database, imported: ImportedFile, entries: int) -> None:
    """Note, within a transaction, that so many entries of a file are stored."""
    db.execute(
        "INSERT INTO imports (digest, bytes, entries, added) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (digest) DO UPDATE SET entries = excluded.entries, added = excluded.added",
        [imported.digest, imported.bytes, entries, now()],
    )
