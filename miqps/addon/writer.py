"""The thread that takes what was seen from a queue and hands it to the writing process."""

from __future__ import annotations

import logging
import queue
import threading
from contextlib import suppress
from typing import Protocol

from miqps.addon.counters import Counters
from miqps.addon.remote_scribe import RemoteScribe, ScribeDiedError
from miqps.loads import Load, Report
from miqps.privacy import Privacy
from miqps.settings import RECORDING
from miqps.store import StoreError

logger = logging.getLogger(__name__)

_LONGEST_PAUSE = 30.0
"""Seconds between two tries while the disk refuses."""

_Batch = dict[tuple[object, ...], Load]


class AnyScribe(Protocol):
    """Who writes: `RemoteScribe`, or a `Scribe` in this process."""

    def write(self, batch: list[Load], privacy: Privacy) -> Report: ...

    def close(self) -> None: ...


class Writer:
    """Has written what was seen, and never makes the proxy wait for it.

    `put` is called by the event loop and only ever touches the queue. When the disk refuses
    (locked, full, read-only, damaged, gone) the batch at hand is kept and tried again at growing
    intervals; meanwhile the queue fills up, and what no longer fits is lost and counted. An
    outage is said once, and so is its end.
    """

    def __init__(self, path: str, counters: Counters, scribe: AnyScribe | None = None) -> None:
        self.privacy = Privacy()
        """What may be recorded; another thread may assign it at any time."""
        self._path = path
        self._counters = counters
        self._scribe = scribe or RemoteScribe(path)
        self._queue: queue.Queue[Load] = queue.Queue(RECORDING.queue)
        # Each is written by one thread only: put by the event loop, taken by the writer.
        self._bytes_put = 0
        self._bytes_taken = 0
        self._full = False
        self._stop = threading.Event()
        # A daemon: a disk that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="miqps writer", daemon=True)
        self._batch: _Batch = {}
        self._deaths = 0
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
            left = self._waiting()
            self._counters.add("lost_disk", left)
            logger.warning(f"miqps: {self._path}: no answer; {left} observations may be lost")

    def put(self, load: Load) -> None:
        """Hand over one page load; when there is no room it is lost, and counted."""
        waiting = self._bytes_put - self._bytes_taken
        if load.body and waiting + len(load.body) > RECORDING.body_bytes:
            self._counters.add("not_read")
            load = load._replace(body=b"")
        try:
            self._queue.put_nowait(load)
            self._bytes_put += len(load.body)
        except queue.Full:
            self._counters.add("lost_queue_full")
            if not self._full:
                self._full = True
                logger.warning("miqps: the database is too slow, observations are being lost")

    def _run(self) -> None:
        pause = RECORDING.flush_seconds
        while not self._stop.wait(pause):
            while self._step() and not self._queue.empty() and not self._stop.is_set():
                pass
            pause = min(RECORDING.flush_seconds * 2**self._failures, _LONGEST_PAUSE)
        while self._step() and (self._batch or not self._queue.empty()):
            pass
        self._counters.add("lost_disk", self._waiting())
        self._scribe.close()

    def _waiting(self) -> int:
        return sum(load.hits for load in list(self._batch.values())) + self._queue.qsize()

    def _step(self) -> bool:
        """Have one batch written; False when the disk refused."""
        try:
            if not self._batch:
                self._gather()
            if self._batch:
                self._write()
        except StoreError as error:
            self._refused(str(error))
            return False
        except ScribeDiedError as error:
            self._died(error)
        except Exception as error:
            # Whatever this is, recording goes on with the next batch.
            self._lose_batch(error)
        return True

    def _gather(self) -> None:
        """Take what is in the queue, no more than is handed over in a moment, and add it up."""
        size = 0
        with suppress(queue.Empty):
            while len(self._batch) < RECORDING.batch and size < RECORDING.batch_bytes:
                load = self._queue.get_nowait()
                self._bytes_taken += len(load.body)
                size += len(load.body)
                what = load.kind, load.is_canary, load.goes_in_circles
                key = (load.origin, load.target, *what)
                known = self._batch.get(key)
                self._batch[key] = load._replace(hits=load.hits + known.hits) if known else load

    def _write(self) -> None:
        report = self._scribe.write(list(self._batch.values()), self.privacy)
        self._batch.clear()
        self._deaths = 0
        if report.reopened:
            logger.warning(f"miqps: {self._path}: deleted or replaced, opened anew")
        for site, hits in report.sites.items():
            self._counters.add("recorded", hits)
            if self._counters.first("recorded", site):
                logger.info(f"miqps: recording {site}")
        for reason, hits in report.passed_over.items():
            self._counters.add(f"not_recorded/{reason}".replace(" ", "_"), hits)
        self._counters.add("lost_unstorable", report.unstorable)
        self._counters.add("links", report.links)
        self._counters.add("drifted", report.drifted)
        self._recovered()

    def _refused(self, reason: str) -> None:
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

    def _died(self, error: ScribeDiedError) -> None:
        """A page may have killed the process: the same batch is tried once more, without pages."""
        self._deaths += 1
        logger.debug(f"miqps: {error}")
        if self._deaths > 1:
            self._deaths = 0
            self._lose_batch(error)
        self._batch = {key: load._replace(body=b"") for key, load in self._batch.items()}

    def _lose_batch(self, error: Exception) -> None:
        logger.warning(f"miqps: a batch was lost to a {type(error).__name__}")
        logger.debug("miqps: the batch was lost here", exc_info=error)
        self._counters.add("lost_disk", sum(load.hits for load in self._batch.values()))
        self._batch.clear()
