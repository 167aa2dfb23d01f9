"""Puts what a reader gives into the corpus, in batches, and counts what it could not use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from miqps.formats.urllist import BadLine, Entry
from miqps.store import Observation, Store

_BATCH = 5_000
"""Lines a transaction: long enough that committing costs nothing, short enough that a proxy that
records into the same file waits for less than a second."""

_EXAMPLES = 5


@dataclass(slots=True)
class Intake:
    """What came in so far. Numbers count lines, `new` the URLs that the corpus did not hold."""

    urls: int = 0
    new: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, int, str]] = field(default_factory=list)
    """File, line and reason of the first few lines that gave nothing."""


def take(
    store: Store,
    name: str,
    entries: Iterable[Entry | BadLine],
    intake: Intake,
    batch_done: Callable[[], None],
) -> None:
    """Store all entries of one file under this name, adding to `intake` what becomes of them.

    `intake` holds at any time only what is stored. Raises StoreError; what is stored stays.
    """
    batch: Counter[str] = Counter()
    for entry in entries:
        if isinstance(entry, BadLine):
            intake.passed_over[entry.reason] += 1
            if len(intake.examples) < _EXAMPLES:
                intake.examples.append((name, entry.line, entry.reason))
            continue
        batch[entry.url] += 1
        if batch.total() >= _BATCH:
            _flush(store, batch, intake)
            batch_done()
    _flush(store, batch, intake)
    batch_done()


def _flush(store: Store, batch: Counter[str], intake: Intake) -> None:
    if not batch:
        return
    seen = [Observation(url, visited=False, hits=hits) for url, hits in batch.items()]
    intake.new += store.corpus.add(seen)
    intake.urls += batch.total()
    batch.clear()
