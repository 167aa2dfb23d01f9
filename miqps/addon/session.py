"""Everything that works on one database: recorder and writer, rewriter and map watcher."""

from __future__ import annotations

import time

from miqps.addon.counters import Counters
from miqps.addon.recorder import Recorder
from miqps.addon.rewriter import Rewriter
from miqps.addon.watcher import Watcher
from miqps.addon.writer import Writer
from miqps.normalizer import Normalizer


class Session:
    """The addon at work on one database, from `start` to `stop`.

    The map that is there is in force from the first request on; threads run after `start` only.
    """

    def __init__(self, path: str, counters: Counters) -> None:
        self.path = path
        self.rewriter = Rewriter(counters)
        self._writer = Writer(path, counters)
        self._watcher = Watcher(path, self._use)
        self.recorder = Recorder(self._writer, counters)
        self._use(self._watcher.look() or Normalizer(None))

    def start(self) -> None:
        self._writer.start()
        self._watcher.start()

    def stop(self) -> None:
        """Let the threads finish what they have. Returns at once; `join` waits."""
        self._writer.stop()
        self._watcher.stop()

    def join(self, until: float) -> None:
        """Wait for the threads, until `time.monotonic()` says this at the latest."""
        self._writer.join(max(0.0, until - time.monotonic()))
        self._watcher.join(max(0.0, until - time.monotonic()))

    def keep_host_header(self, keep: bool) -> None:
        """Whether a reverse proxy hands the client's Host header on."""
        self.recorder.keep_host_header = keep
        self.rewriter.keep_host_header = keep

    def _use(self, normalizer: Normalizer) -> None:
        self.rewriter.normalizer = normalizer
