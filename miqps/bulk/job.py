"""A bulk job: its work folder, who does what, and how it goes on after an interruption.

Readers and writers are functions that take a folder and numbers, and leave files in it; they can
run in any process that sees the folder, on this machine or on another one. Only counts come back.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, as_completed
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from miqps.bulk import runs
from miqps.bulk.gathering import Gathering
from miqps.bulk.reducing import fill, sites
from miqps.bulk.runs import Run
from miqps.bulk.splits import Split, entries
from miqps.formats import BadLine, FormatError
from miqps.store import Store

_EXAMPLES = 5
_PLAN = "plan.json"


class BulkError(Exception):
    """The job cannot go on; one line that says why and what to do."""


class Plan(msgspec.Struct, frozen=True):
    """What is to be done. A job goes on with the same plan only."""

    splits: list[Split]
    shares: int
    top: int
    """Contexts of a site."""

    @property
    def digest(self) -> str:
        """Names it."""
        return blake2b(msgspec.json.encode(self), digest_size=16).hexdigest()


class Read(msgspec.Struct):
    """What became of a split."""

    runs: list[Run]
    urls: int
    passed_over: dict[str, int]
    examples: list[tuple[str, int, str]]
    failed: str = ""


class Written(msgspec.Struct):
    """What became of a share of the sites."""

    sites: int
    contexts: int
    new: int


Done = Callable[[Split | int], None]
"""Told of each split that was read, and each share that was written."""


class Job:
    """One job, in its work folder.

    Args:
        folder: where the runs go; made, and removed by `clear`.
        plan: what is to be done.
        memory: bytes that one reader may take.

    Raises:
        BulkError: the folder holds another job.
        OSError: it cannot be used.
    """

    def __init__(self, folder: Path, plan: Plan, memory: int) -> None:
        self._folder = folder
        self._plan = plan
        self._memory = memory
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = folder / _PLAN
        raw = msgspec.json.encode(plan)
        if known.exists() and known.read_bytes() != raw:
            raise BulkError(
                f"{folder} belongs to another job, or a file has changed since: repeat the command"
                " that was interrupted, or remove the folder"
            )
        _put(known, raw)

    def read(self, workers: Executor, done: Done) -> list[Read]:
        """Read all splits that were not read before; gives what became of each."""
        wanted: dict[Future[None], Split] = {}
        for number, split in enumerate(self._plan.splits):
            if _report(self._folder, number).exists():
                done(split)
                continue
            task = workers.submit(
                read_split, self._folder, number, split, self._plan.shares, self._memory
            )
            wanted[task] = split
        for task in _finished(wanted):
            task.result()
            done(wanted[task])
        decoder = msgspec.json.Decoder(Read)
        numbers = range(len(self._plan.splits))
        return [decoder.decode(_report(self._folder, n).read_bytes()) for n in numbers]

    def write_shares(
        self, out: Path, found: list[Read], workers: Executor, done: Done
    ) -> list[Written]:
        """Write a store for each share of the sites; those that are there already stay."""
        written = [run for read in found for run in read.runs]
        _put(self._folder / "runs.json", msgspec.json.encode(written))
        wanted: dict[Future[Written], int] = {}
        for share in range(self._plan.shares):
            if share_file(out, share).exists():
                done(share)
                continue
            task = workers.submit(
                write_share, self._folder, out, share, self._plan.top, self._plan.digest
            )
            wanted[task] = share
        for task in _finished(wanted):
            task.result()
            done(wanted[task])
        return [task.result() for task in wanted]

    def write_store(self, store: Store, found: list[Read], done: Done) -> list[Written]:
        """Put all that was read into one store. Raises StoreError, BulkError."""
        written = [run for read in found for run in read.runs]
        reports = []
        for share in range(self._plan.shares):
            mark = f"{self._plan.digest}-{share}"
            reports.append(_fill(store, self._folder, written, share, self._plan.top, mark))
            done(share)
        return reports

    def clear(self) -> None:
        """Remove the work folder."""
        shutil.rmtree(self._folder)


def share_file(out: Path, share: int) -> Path:
    """The store of a share of the sites."""
    return out / f"{share:03}.db"


def read_split(folder: Path, number: int, split: Split, shares: int, memory: int) -> None:
    """Read a split, and leave its runs and a report in the folder."""
    for old in folder.glob(f"run-{number}-*"):
        old.unlink()
    gathering = Gathering()
    report = Read([], 0, {}, [])
    passed_over: Counter[str] = Counter()

    def spill() -> None:
        path = folder / f"run-{number}-{len(report.runs)}"
        report.runs.append(runs.write(path, gathering.spilled(), shares))

    try:
        for entry in entries(split):
            if isinstance(entry, BadLine):
                passed_over[entry.reason] += 1
                if len(report.examples) < _EXAMPLES:
                    report.examples.append((_name(split), entry.number, entry.reason))
                continue
            gathering.add(entry.url, entry.visited, entry.seen)
            if gathering.weight > memory:
                spill()
    except FormatError as error:
        report.failed = f"{split.file}: {error}"
    except OSError as error:
        if error.filename != split.file:
            raise
        report.failed = f"{split.file}: {error.strerror or error}"
    spill()
    report.urls = gathering.urls
    report.passed_over = dict(passed_over + gathering.passed_over)
    _put(_report(folder, number), msgspec.json.encode(report))


def write_share(folder: Path, out: Path, share: int, top: int, digest: str) -> Written:
    """Merge the runs of one share into a store of its own."""
    written = msgspec.json.decode((folder / "runs.json").read_bytes(), type=list[Run])
    unfinished = folder / f"share-{share}.db"
    with Store.open(unfinished) as store:
        report = _fill(store, folder, written, share, top, f"{digest}-{share}")
    os.replace(unfinished, share_file(out, share))
    return report


def _fill(
    store: Store, folder: Path, written: list[Run], share: int, top: int, mark: str
) -> Written:
    try:
        return Written(*fill(store, sites(runs.merged(folder, written, share), top), mark))
    except (ValueError, msgspec.DecodeError) as error:
        raise BulkError(f"{folder} is damaged ({error}): remove it, and begin anew") from error


def _finished(wanted: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
    """Tasks as they end; those that have not begun are given up when one fails."""
    try:
        yield from as_completed(wanted)
    except BaseException:
        for task in wanted:
            task.cancel()
        raise


def _report(folder: Path, number: int) -> Path:
    return folder / f"split-{number}.json"


def _name(split: Split) -> str:
    return f"{split.file} from byte {split.start}" if split.start else split.file


def _put(path: Path, raw: bytes) -> None:
    """Write a file that is there whole, or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(raw)
    os.replace(part, path)
