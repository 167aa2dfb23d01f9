"""The writing process as the proxy sees it: batches go down a pipe, reports come back."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import miqps
from miqps.loads import Load, Report
from miqps.privacy import Privacy
from miqps.store import StoreError

_END_SECONDS = 10.0
"""How long the process may take to write what it was handed last."""


class ScribeDiedError(Exception):
    """The process ended while it had a batch."""


class RemoteScribe:
    """Starts `miqps.scribe` with the first batch, and anew when it has died.

    Belongs to one thread, which waits for the answer to each batch.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._process: subprocess.Popen[bytes] | None = None

    def write(self, batch: Sequence[Load], privacy: Privacy) -> Report:
        """Have a batch stored. Raises StoreError when the file refuses, ScribeDiedError."""
        try:
            process = self._running()
            assert process.stdin
            assert process.stdout
            pickle.dump((batch, privacy), process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            answer: Report | str = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self._kill()
            raise ScribeDiedError(f"the writing process ended: {error}") from error
        if isinstance(answer, str):
            raise StoreError(answer)
        return answer

    def close(self) -> None:
        """Let the process finish, and end."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin
        assert process.stdout
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            root = str(Path(miqps.__file__).parents[1])
            path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "miqps.scribe", self._path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # One thread: more would only take address space.
                env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
            )
        return self._process

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
        self.close()
