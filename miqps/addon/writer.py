"""The thread that owns the store: takes what was seen from a queue and writes it in batches."""

from __future__ import annotations

import logging
import os
import queue
import sqlite3
import threading
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

from miqps import urls
from miqps.addon.counters import Counters
from miqps.addon.origin import Origin, url
from miqps.eligibility import unfit
from miqps.settings import RECORDING
from miqps.store import Observation, Store, StoreError

logger = logging.getLogger(__name__)

_LONGEST_PAUSE = 30.0
"""Seconds between two tries while the disk refuses."""

# What SQLite raises for a value, not for the file: another try will not help.
_VALUE_ERRORS = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
)


class Seen(NamedTuple):
    """One page load, copied out of its flow."""

    origin: Origin
    target: bytes


class Writer:
    """Writes what was seen, and never makes the proxy wait for it.

    `put` is called by the event loop and only ever touches the queue. When the disk refuses
    (locked, full, read-only, damaged, gone) the batch at hand is kept and tried again at growing
    intervals; meanwhile the queue fills up, and what no longer fits is lost and counted. An
    outage is said once, and so is its end. An observation that cannot be stored goes alone.
    """

    def __init__(self, path: str, counters: Counters) -> None:
        self._path = path
        self._counters = counters
        self._queue: queue.Queue[Seen] = queue.Queue(RECORDING.queue)
        self._full = False
        self._stop = threading.Event()
        # A daemon: a disk that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="miqps writer", daemon=True)
        self._store: Store | None = None
        self._file: tuple[int, int] | None = None
        self._batch: Counter[str] = Counter()
        self._failures = 0
        self._lost_before = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to write what there is, once more, and end. Returns at once."""
        self._stop.set()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread, no longer than this; what it could not write is lost."""
        if self._thread.ident is None:
            return
        self._thread.join(seconds)
        if self._thread.is_alive():
            left = self._batch.total() + self._queue.qsize()
            self._counters.add("lost_disk", left)
            logger.warning(f"miqps: {self._path}: no answer; {left} observations may be lost")

    def put(self, seen: Seen) -> None:
        """Hand over one page load; when there is no room it is lost, and counted."""
        try:
            self._queue.put_nowait(seen)
        except queue.Full:
            self._counters.add("lost_queue_full")
            if not self._full:
                self._full = True
                logger.warning("miqps: the database is too slow, observations are being lost")

    def _run(self) -> None:
        pause = RECORDING.flush_seconds
        while not self._stop.wait(pause):
            self._step()
            pause = min(RECORDING.flush_seconds * 2**self._failures, _LONGEST_PAUSE)
        while self._step() and not self._queue.empty():
            pass
        self._counters.add("lost_disk", self._batch.total() + self._queue.qsize())
        self._close()

    def _step(self) -> bool:
        """Write one batch; False when the disk refused."""
        try:
            if not self._batch:
                self._gather()
            if self._batch:
                self._write()
        except StoreError as error:
            self._refused(str(error))
            return False
        except Exception as error:
            # Whatever this is, recording goes on with the next batch.
            logger.warning(f"miqps: a batch was lost to a {type(error).__name__}")
            logger.debug("miqps: the batch was lost here", exc_info=True)
            self._counters.add("lost_disk", self._batch.total())
            self._batch.clear()
            self._close()
        return True

    def _gather(self) -> None:
        """Take what is in the queue now, the same loads added up, and keep what may be a sample."""
        loads: Counter[Seen] = Counter()
        with suppress(queue.Empty):
            for _ in range(RECORDING.queue):
                loads[self._queue.get_nowait()] += 1
        for seen, hits in loads.items():
            address = url(*seen)
            reason = "odd target" if address is None else unfit(address)
            if address is None or reason:
                self._counters.add(f"not_recorded/{reason}".replace(" ", "_"), hits)
            else:
                self._batch[address] += hits

    def _write(self) -> None:
        store = self._opened()
        try:
            store.corpus.add([Observation(address, hits=n) for address, n in self._batch.items()])
        except Exception as error:
            if not _blames_a_value(error):
                raise
            self._write_singly(store)
        else:
            self._written(self._batch)
            self._batch.clear()
        self._recovered()

    def _write_singly(self, store: Store) -> None:
        for address, hits in list(self._batch.items()):
            try:
                store.corpus.add([Observation(address, hits=hits)])
            except Exception as error:
                if not _blames_a_value(error):
                    raise
                self._counters.add("lost_unstorable", hits)
                logger.debug(f"miqps: cannot be stored: {address!r}: {error}")
            else:
                self._written({address: hits})
            del self._batch[address]

    def _written(self, batch: dict[str, int]) -> None:
        for address, hits in batch.items():
            self._counters.add("recorded", hits)
            site = urls.site(address) or ""
            if self._counters.first("recorded", site):
                logger.info(f"miqps: recording {site}")

    def _opened(self) -> Store:
        """The store, opened again when its file was deleted or replaced."""
        if self._store and self._file != _identity(self._path):
            logger.warning(f"miqps: {self._path}: deleted or replaced, opening it anew")
            self._close()
        if self._store is None:
            self._store = Store.open(self._path)
            self._file = _identity(self._path)
        return self._store

    def _close(self) -> None:
        if self._store:
            with suppress(sqlite3.Error, StoreError):
                self._store.close()
        self._store = None

    def _refused(self, reason: str) -> None:
        # What is wrong may be put right by somebody moving files: start from the path next time.
        self._close()
        if not self._failures:
            self._lost_before = self._counters["lost_queue_full"]
            reason = reason.replace("--db", "miqps_db")
            logger.warning(f"miqps: nothing can be recorded for now: {reason}")
        self._failures += 1

    def _recovered(self) -> None:
        if self._failures:
            lost = self._counters["lost_queue_full"] - self._lost_before
            logger.info(f"miqps: {self._path}: recording again, {lost} observations were lost")
        self._failures = 0
        self._full = False


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
