"""The SQLite file: corpus, journal of renders, evidence, verdicts and published maps.

A `Store` belongs to one thread. Several processes may hold the same file: it is in WAL mode, each
write is one short transaction, and a writer waits for another one instead of failing.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from miqps.observation import Observation
from miqps.store.corpus import Corpus, StoredContext
from miqps.store.evidence import Evidence
from miqps.store.file import File, StoreError, now
from miqps.store.journal import Journal, JournalEntry
from miqps.store.maps import Maps

__all__ = ["JournalEntry", "Observation", "Store", "StoreError", "StoredContext", "now"]


class Store:
    """An open store. Use `Store.open`."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.path = file.path
        self.corpus = Corpus(file)
        self.journal = Journal(file)
        self.evidence = Evidence(file)
        self.maps = Maps(file)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, create: bool = True) -> Self:
        """Open a store; a missing file is made, with mode 0600, unless `create` is false.

        Raises StoreError: missing, not a database, locked, read-only, disk full.
        """
        return cls(File.open(path, create=create))

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
