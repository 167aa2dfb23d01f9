"""Writes what a proxy saw into the store, in a process of its own.

Reading pages, weighing URLs and waiting for the disk take time that the proxy's event loop does not
have; in a thread they would still take its interpreter. So the proxy hands raw loads over a pipe,
and this process, which yields to all others, does the rest. It ends when the pipe does: whatever
kills the proxy, what was handed over is written.
"""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, get_args

from miqps import urls
from miqps.bodies import decoded
from miqps.drift import Drift
from miqps.loads import Kind, Load, Report
from miqps.observation import Document, Observation
from miqps.origin import url
from miqps.privacy import Privacy
from miqps.sifting import Sighting, sift
from miqps.store import Store, StoreError
from miqps.store.lists import SeenHeader

_FORGET_SECONDS = 6 * 3_600
"""How often it is looked whether something is to be forgotten for its age."""

_MOST_REMEMBERED = 20_000
"""Pages whose last body is remembered by its hash, so that it is not read again."""

_LONGEST_HEADER = 1_000
"""Characters of a `No-Vary-Search` that are kept."""

_MEMORY = 1 << 29
"""Bytes this process may take beyond what it begins with."""

# What SQLite raises for a value, not for the file: another try will not help.
_VALUE_ERRORS = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
)


@dataclass(slots=True)
class _Hints:
    """What a batch says beside its loads."""

    drifted: list[str] = field(default_factory=list)
    circles: list[str] = field(default_factory=list)
    """URLs that the site changes back."""

    headers: dict[str, str] = field(default_factory=dict)
    """`No-Vary-Search` by URL."""


class Scribe:
    """Turns loads into observations and stores them. The file is opened with the first batch."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._store: Store | None = None
        self._file: tuple[int, int] | None = None
        self._bodies: dict[str, int] = {}
        self._drift = Drift()
        self._forget_at = 0.0

    def write(self, batch: Sequence[Load], privacy: Privacy) -> Report:
        """Store a batch. Raises StoreError when the file refuses: nothing of it is stored then."""
        report = Report()
        try:
            store = self._opened(report)
            hints = _Hints()
            for kind in get_args(Kind):
                found = [
                    o
                    for load in batch
                    if load.kind == kind
                    for o in self._sift(load, privacy, report, hints)
                ]
                if found:
                    self._add(store, found, kind, privacy, report)
            # The loads are stored: to fail now would have them counted twice.
            with suppress(StoreError):
                report.drifted = self._note(store, hints)
            self._forget(store, privacy)
        except StoreError:
            # Somebody may put it right by moving files: start from the path next time.
            self.close()
            raise
        return report

    def close(self) -> None:
        """Close the file; the next batch opens it again."""
        if self._store:
            with suppress(sqlite3.Error, StoreError):
                self._store.close()
        self._store = None

    def _opened(self, report: Report) -> Store:
        if self._store and self._file != _identity(self._path):
            report.reopened = True
            self.close()
        if self._store is None:
            self._store = Store.open(self._path)
            self._file = _identity(self._path)
        return self._store

    def _sift(
        self, load: Load, privacy: Privacy, report: Report, hints: _Hints
    ) -> list[Observation]:
        address = url(load.origin, load.target)
        if address is None:
            report.passed_over["odd target"] += load.hits
            return []
        if load.goes_in_circles:
            hints.circles.append(address)
            return []
        sighting = Sighting(address, hits=load.hits, document=self._document(address, load))
        try:
            found = list(sift(sighting, privacy, report.passed_over))
        except Exception:
            # Whatever a page does to its reader, its URL counts.
            found = list(sift(replace(sighting, document=None), privacy, report.passed_over))
        if self._drifts(load, found):
            hints.drifted.append(address)
        if load.no_vary_search and found:
            hints.headers[address] = load.no_vary_search[:_LONGEST_HEADER]
        return found

    @staticmethod
    def _note(store: Store, hints: _Hints) -> int:
        """Keep what is worth a look; returns how many pages have drifted."""
        seen = []
        for address, header in hints.headers.items():
            site = urls.site(address) or ""
            path = urls.path_template(urls.path(address), store.corpus.open_prefixes(site))
            seen.append(SeenHeader(site, path, header))
        if seen:
            store.lists.note(seen)
        if hints.circles:
            store.signs.circle(hints.circles)
        return store.signs.drift(hints.drifted) if hints.drifted else 0

    def _drifts(self, load: Load, found: list[Observation]) -> bool:
        answer = next((o.answer for o in found if o.answer is not None), None)
        cleaned = url(load.origin, load.cleaned) if load.cleaned else None
        if answer is None or cleaned is None:
            return False
        return self._drift.notice(cleaned, answer, stripped=not load.is_canary)

    def _document(self, address: str, load: Load) -> Document | None:
        """The page, unless it is the same as the last time."""
        if not load.body:
            return None
        before, now = self._bodies.pop(address, None), hash(load.body)
        if len(self._bodies) >= _MOST_REMEMBERED:
            self._bodies.pop(next(iter(self._bodies)))
        self._bodies[address] = now
        if now == before:
            return None
        with suppress(MemoryError):
            body = decoded(load.body, load.encoding)
            if body:
                return Document(load.status, load.content_type, body, load.cookies_sent)
        return None

    def _add(
        self, store: Store, found: list[Observation], kind: Kind, privacy: Privacy, report: Report
    ) -> None:
        try:
            store.corpus.add(found, kind, keep_urls=privacy.keeps_urls)
        except Exception as error:
            if not _blames_a_value(error):
                raise
            # One that cannot be stored goes alone.
            stored = []
            for observation in found:
                try:
                    store.corpus.add([observation], kind, keep_urls=privacy.keeps_urls)
                    stored.append(observation)
                except Exception as single:
                    if not _blames_a_value(single):
                        raise
                    report.unstorable += observation.hits
            found = stored
        for observation in found:
            if observation.hits:
                report.sites[urls.site(observation.url) or ""] += observation.hits
            else:
                report.links += 1

    def _forget(self, store: Store, privacy: Privacy) -> None:
        if privacy.retention > 0 and time.monotonic() >= self._forget_at:
            self._forget_at = time.monotonic() + _FORGET_SECONDS
            store.forget_older(privacy.retention)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _blames_a_value(error: Exception) -> bool:
    if isinstance(error, StoreError):
        return isinstance(error.__cause__, _VALUE_ERRORS)
    return not isinstance(error, OSError | sqlite3.Error) or isinstance(error, _VALUE_ERRORS)


def serve(path: str, batches: BinaryIO, reports: BinaryIO) -> None:
    """Write batches, pickled with their `Privacy`, until there are no more; answer each one.

    The answer is a pickled Report, or a text: why the file refused.
    """
    scribe = Scribe(path)
    with suppress(EOFError, pickle.UnpicklingError, BrokenPipeError):
        while True:
            batch, privacy = pickle.load(batches)
            try:
                answer: Report | str = scribe.write(batch, privacy)
            except StoreError as error:
                answer = str(error)
            pickle.dump(answer, reports)
            reports.flush()
    scribe.close()


def main() -> None:
    """The process: its only argument is the path of the store."""
    # The terminal tells the whole group to stop; this process goes by its pipe.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(10)
    _limit_memory()
    serve(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)


def _limit_memory() -> None:
    """A hostile page must not take the memory that the proxy needs."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError):
        return
    most = pages * resource.getpagesize() + _MEMORY
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    main()
