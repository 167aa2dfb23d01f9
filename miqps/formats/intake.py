"""Puts what a reader gives into the corpus, in batches, and counts what it could not use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from sqlite_utils import Database

from miqps.formats.entry import BadLine, Entry
from miqps.observation import Observation
from miqps.privacy import Privacy
from miqps.sifting import Sighting, sift
from miqps.store import ImportedFile, Store
from miqps.store.imports import note

_BATCH = 20_000
"""Observations a transaction: committing costs little, and a proxy that records into the same file
waits for a second at most."""

_EXAMPLES = 5


@dataclass(slots=True)
class Intake:
    """What came in so far. Numbers count lines, `new` the URLs that the corpus did not hold."""

    urls: int = 0
    new: int = 0
    links: int = 0
    """URLs that were found in pages."""

    passed_over: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, int, str]] = field(default_factory=list)
    """File, line and reason of the first few lines that gave nothing."""


class _Batch:
    """What waits for the next transaction: lines of the same URL are one."""

    def __init__(self, privacy: Privacy) -> None:
        self._privacy = privacy
        self._lines: Counter[tuple[str, bool, str]] = Counter()
        self._read: list[Observation] = []
        self._passed_over: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._lines) + len(self._read)

    def add(self, entry: Entry) -> None:
        if entry.document is None:
            self._lines[entry.url, entry.visited, entry.seen] += 1
            return
        # At once: pages are big, and what is found in them is small.
        # Its URL may have no parameter: then only its links count.
        sighting = Sighting(entry.url, entry.visited, 1, entry.seen, entry.document)
        self._read += sift(sighting, self._privacy, self._passed_over)

    def flush(self, store: Store, intake: Intake, also: Callable[[Database], None] | None) -> None:
        found = self._read
        for (url, visited, seen), hits in self._lines.items():
            sighting = Sighting(url, visited, hits, seen, is_fit=True)
            found += sift(sighting, self._privacy, self._passed_over)
        intake.new += store.corpus.add(found, also=also)
        intake.urls += sum(observation.hits for observation in found)
        intake.links += sum(not observation.hits for observation in found)
        intake.passed_over += self._passed_over
        self._lines, self._read, self._passed_over = Counter(), [], Counter()


def take(
    store: Store,
    name: str,
    entries: Iterable[Entry | BadLine],
    intake: Intake,
    batch_done: Callable[[], None],
    imported: ImportedFile | None = None,
    privacy: Privacy | None = None,
) -> None:
    """Store all entries of one file under this name, adding to `intake` what becomes of them.

    Entries of an `imported` file that are known are passed by, and it is noted how far it is read,
    so that a run that is cut off can be repeated. `intake` holds at any time only what is stored.
    Raises StoreError; what is stored stays.
    """
    batch = _Batch(privacy or Privacy())
    done = imported.entries if imported else 0
    number = 0

    def flush() -> None:
        read = max(number, done)
        also = partial(note, imported=imported, entries=read) if imported else None
        batch.flush(store, intake, also)
        batch_done()

    for number, entry in enumerate(entries, 1):
        if number <= done:
            continue
        if isinstance(entry, Entry):
            batch.add(entry)
            if len(batch) >= _BATCH:
                flush()
            continue
        intake.passed_over[entry.reason] += 1
        if len(intake.examples) < _EXAMPLES:
            intake.examples.append((name, entry.number, entry.reason))
    flush()
