"""Notices newly published maps and puts them in force, without a restart."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from miqps.mapping import MapError
from miqps.normalizer import Normalizer
from miqps.settings import RECORDING

logger = logging.getLogger(__name__)

_TRIES = 3
"""How often a map that cannot be read is tried again, before only a newer one is looked at."""


class Edition(NamedTuple):
    """What tells one published map from another, also when the file was replaced."""

    device: int
    inode: int
    version: int
    created: str


class Watcher:
    """Looks for a new map at intervals, and hands a new `Normalizer` on.

    A map that cannot be read never replaces one that could, and is said once. A missing file
    changes nothing; one that appears later is found.
    """

    def __init__(self, path: str, use: Callable[[Normalizer], None]) -> None:
        self._path = path
        self._use = use
        self._edition: Edition | None = None
        self._refused: Edition | None = None
        self._tries = 0
        self._is_unreadable = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="miqps map watcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end. Returns at once."""
        self._stop.set()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread, no longer than this."""
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def look(self) -> Normalizer | None:
        """The newest map's normalizer when it is another one than at the last look, else None."""
        try:
            edition = _newest(self._path)
        except sqlite3.Error as error:
            if not self._is_unreadable:
                logger.warning(f"miqps: {self._path}: no maps can be read for now: {error}")
            self._is_unreadable = True
            return None
        self._is_unreadable = False
        if edition is None or edition == self._edition:
            return None
        if edition != self._refused:
            self._refused, self._tries = None, 0
        elif self._tries >= _TRIES:
            return None
        try:
            normalizer = Normalizer.load(self._path)
        except MapError as error:
            if not self._tries:
                logger.warning(f"miqps: map {edition.version} is left out: {error}")
            self._refused, self._tries = edition, self._tries + 1
            return None
        self._edition = edition
        return normalizer

    def _run(self) -> None:
        failed = False
        while not self._stop.wait(RECORDING.reload_seconds):
            try:
                normalizer = self.look()
                if normalizer and not self._stop.is_set():
                    self._use(normalizer)
                    logger.info(
                        f"miqps: map version {normalizer.version},"
                        f" {normalizer.contexts} contexts, from {self._path}"
                    )
            except Exception:
                # The watcher must outlive whatever one map does to it.
                if not failed:
                    logger.warning("miqps: a map could not be looked at", exc_info=True)
                failed = True


def _newest(path: str) -> Edition | None:
    """The newest published map, by a short read that waits for nobody; None without a store.

    Raises sqlite3.Error: locked, damaged, not a database.
    """
    uri = Path(path).absolute().as_uri() + "?mode=ro"
    try:
        status = os.stat(path)
        with closing(sqlite3.connect(uri, uri=True, timeout=0)) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'maps'").fetchone():
                return None
            row = db.execute(
                "SELECT version, created FROM maps ORDER BY version DESC LIMIT 1"
            ).fetchone()
    except OSError:
        return None
    version, created = row or (0, "")
    return Edition(status.st_dev, status.st_ino, version, str(created))
