"""Notices newly published maps and edited rules, and puts them in force without a restart."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from miqps.addon.rulebook import Rulebook
from miqps.mapping import Map, MapError, from_json
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
    """Looks for a new map and for new rules at intervals, and hands a new `Normalizer` on.

    A map that cannot be read never replaces one that could, and is said once. A missing file
    changes nothing; one that appears later is found.
    """

    def __init__(
        self, path: str, use: Callable[[Normalizer], None], rulebook: Rulebook | None = None
    ) -> None:
        self.rulebook = rulebook or Rulebook()
        self._path = path
        self._use = use
        self._map: Map | None = None
        self._rules = self.rulebook.rules
        self._edition: Edition | None = None
        self._refused: Edition | None = None
        self._tries = 0
        self._is_unreadable = False
        self._is_stopping = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="miqps map watcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end. Returns at once."""
        self._is_stopping = True
        self._wake.set()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread, no longer than this."""
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def replace_rules(self, rulebook: Rulebook) -> None:
        """Go by another rule book, as soon as the thread comes to it."""
        self.rulebook = rulebook
        self._wake.set()

    def begin(self) -> Normalizer:
        """The normalizer to start with, whatever there is of a map."""
        self._map = self._new_map()
        return Normalizer(self._map, self._rules, on_wire=True)

    def look(self) -> Normalizer | None:
        """The normalizer for map and rules when either is another than at the last look."""
        rules = self.rulebook.look()
        map = self._new_map()
        if map is None and rules is self._rules:
            return None
        self._map, self._rules = map or self._map, rules
        return Normalizer(self._map, rules, on_wire=True)

    def _new_map(self) -> Map | None:
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
            map = _read(self._path, edition)
        except (MapError, sqlite3.Error) as error:
            if not self._tries:
                logger.warning(f"miqps: map {edition.version} is left out: {self._path}: {error}")
            self._refused, self._tries = edition, self._tries + 1
            return None
        self._edition = edition
        return map

    def _run(self) -> None:
        failed = False
        while True:
            self._wake.wait(RECORDING.reload_seconds)
            self._wake.clear()
            if self._is_stopping:
                return
            try:
                self._renew()
            except Exception:
                # The watcher must outlive whatever one file does to it.
                if not failed:
                    logger.warning("miqps: map and rules could not be looked at", exc_info=True)
                failed = True

    def _renew(self) -> None:
        map, rules, rulebook = self._map, self._rules, self.rulebook
        normalizer = self.look()
        if normalizer is None or self._is_stopping:
            return
        self._use(normalizer)
        if self._map is not map:
            logger.info(
                f"miqps: map version {normalizer.version},"
                f" {normalizer.contexts} contexts, from {self._path}"
            )
        if self._rules is not rules:
            logger.info(f"miqps: {rulebook} in force")


def _newest(path: str) -> Edition | None:
    """The newest published map, by a short read that waits for nobody; None without a store.

    Raises sqlite3.Error: locked, damaged, not a database.
    """
    try:
        status = os.stat(path)
        with closing(sqlite3.connect(_uri(path), uri=True, timeout=0)) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'maps'").fetchone():
                return None
            row = db.execute(
                "SELECT version, created FROM maps ORDER BY version DESC LIMIT 1"
            ).fetchone()
    except OSError:
        return None
    version, created = row or (0, "")
    return Edition(status.st_dev, status.st_ino, version, str(created))


def _read(path: str, edition: Edition) -> Map:
    """The map of this edition, an empty one where none was published.

    Raises MapError, and sqlite3.Error when the file is locked for long, damaged or another by now.
    """
    if not edition.version:
        return Map(0, "", {})
    with (
        closing(sqlite3.connect(_uri(path), uri=True)) as db,
        db.blobopen("maps", "body", edition.version, readonly=True) as body,
    ):
        return from_json(body.read())


def _uri(path: str) -> str:
    return Path(path).absolute().as_uri() + "?mode=ro"
