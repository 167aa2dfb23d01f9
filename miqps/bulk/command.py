"""A bulk job from beginning to end: what was asked for, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from miqps.bulk.job import BulkError, Done, Job, Plan, Written
from miqps.bulk.splits import Split, splits_of
from miqps.formats import FormatError
from miqps.store import Store

_OF_A_PROCESS = 100
"""MB that a reader takes before it has read anything."""

_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to have read, and how much to have of it."""

    files: tuple[str, ...]
    format: str
    site: str | None
    column: str | None
    shares: int
    top: int


@dataclass
class Outcome:
    """What a job came to."""

    urls: int = 0
    sites: int = 0
    contexts: int = 0
    kept: int = 0
    """URLs that are new in the store or stores."""

    passed_over: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, int, str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def run(asked: Asked, place: Path, db: str | None, memory: int, workers: Executor) -> Outcome:
    """Do, or finish, what was asked for.

    Args:
        asked: the files.
        place: a folder for the work, and for the stores.
        db: the one store to put all into; None for a store for each share.
        memory: MB for each worker.
        workers: who reads.

    Raises:
        BulkError: it cannot be begun, or not be finished.
        StoreError, OSError: a file cannot be written.
    """
    outcome = Outcome()
    splits = list(_splits(asked, outcome.failed))
    if db is None and not (place / "work").exists() and list(place.glob("*.db")):
        raise BulkError(f"{place} holds stores already: name another folder")
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    room = max(memory - _OF_A_PROCESS, _OF_A_PROCESS) << 20
    job = Job(place / "work", Plan(splits, asked.shares, asked.top), room)
    try:
        with _showing(splits, asked.shares) as done:
            read = job.read(workers, done)
            if db is None:
                written = job.write_shares(place, read, workers, done)
            else:
                with Store.open(db) as store:
                    written = job.write_store(store, read, done)
    except BrokenProcessPool:
        raise BulkError(
            "a worker was killed, for its memory perhaps: the same command goes on from here,"
            " also with less --memory or fewer --workers"
        ) from None
    job.clear()
    if db is not None:
        place.rmdir()
    for each in read:
        outcome.urls += each.urls
        outcome.passed_over.update(each.passed_over)
        outcome.examples += each.examples[: _EXAMPLES - len(outcome.examples)]
        outcome.failed += [each.failed] if each.failed else []
    for share in written:
        _add(outcome, share)
    return outcome


def _add(outcome: Outcome, share: Written) -> None:
    outcome.sites += share.sites
    outcome.contexts += share.contexts
    outcome.kept += share.new


def _splits(asked: Asked, failed: list[str]) -> Iterator[Split]:
    for file in asked.files:
        try:
            yield from splits_of(file, asked.format, asked.site, asked.column)
        except OSError as error:
            failed.append(f"{file}: {error.strerror or error}")
        except FormatError as error:
            failed.append(f"{file}: {error}")


@contextmanager
def _showing(splits: list[Split], shares: int) -> Iterator[Done]:
    """Give the function that shows, on a terminal, how far it is."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done: None
        return
    size = sum(split.end - split.start for split in splits)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        reading = bar.add_task("reading", total=size)
        writing = bar.add_task("writing", total=shares)

        def show(done: Split | int) -> None:
            if isinstance(done, Split):
                bar.advance(reading, done.end - done.start)
            else:
                bar.advance(writing)

        yield show
