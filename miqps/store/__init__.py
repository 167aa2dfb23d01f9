"""The SQLite file: corpus, journal of renders, evidence, verdicts and published maps.

A `Store` belongs to one thread. Several processes may hold the same file: it is in WAL mode, each
write is one short transaction, and a writer waits for another one instead of failing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Self

from miqps.observation import Observation
from miqps.store import figures, forgetting, merging
from miqps.store.contexts import StoredContext
from miqps.store.corpus import Corpus
from miqps.store.evidence import Evidence
from miqps.store.file import File, StoreError, now
from miqps.store.imports import ImportedFile, Imports
from miqps.store.journal import Journal, JournalEntry
from miqps.store.lists import Lists
from miqps.store.maps import Maps
from miqps.store.pins import Pins
from miqps.store.signs import Signs

__all__ = [
    "ImportedFile",
    "JournalEntry",
    "Observation",
    "Store",
    "StoreError",
    "StoredContext",
    "now",
]


class Store:
    """An open store. Use `Store.open`."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.path = file.path
        self.corpus = Corpus(file)
        self.imports = Imports(file)
        self.journal = Journal(file)
        self.evidence = Evidence(file)
        self.maps = Maps(file)
        self.pins = Pins(file)
        self.lists = Lists(file)
        self.signs = Signs(file)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, create: bool = True) -> Self:
        """Open a store; a missing file is made, with mode 0600, unless `create` is false.

        Raises StoreError: missing, not a database, locked, read-only, disk full.
        """
        return cls(File.open(path, create=create))

    def forget_older(self, days: float) -> int:
        """Forget what was not seen for so many days, with all evidence; returns how many contexts.

        Verdicts on forgotten contexts leave the map at the next publication: what they let go stays
        in URLs again.
        """
        return forgetting.forget_older(self._file, days)

    def forget_site(self, site: str) -> int:
        """Forget all that was seen of a site, with its evidence; returns how many contexts."""
        return forgetting.forget_site(self._file, site)

    def merge(self, other: Store, site_done: Callable[[str], None]) -> int:
        """Add all that the corpus of another store holds; returns how many URLs are new.

        Hits are added up. Of the URLs those are kept that a corpus would have kept which had seen
        all of it. Evidence, verdicts and maps stay where they are. Raises StoreError.
        """
        return merging.merge(self.corpus, other._file, site_done)

    def figures(self) -> dict[str, int | str]:
        """How much is in the file: counts by name, when something was last seen, and bytes."""
        return figures.figures(self._file)

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
