"""Notices newly published maps and edited rules, and puts them in force without a restart."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from miqps import shards
from miqps.addon.rulebook import Rulebook
from miqps.following import Follower
from miqps.mapping import Map
from miqps.normalizer import Normalizer
from miqps.priors import Priors
from miqps.settings import RECORDING

logger = logging.getLogger(__name__)


class Watcher:
    """Looks for a new map and for new rules at intervals, and hands a new `Normalizer` on.

    Args:
        place: a store, a file of JSON, or an http(s) address.
        use: is given the new normalizer, on the thread of the watcher.
        rulebook: the static rules.
        lists: gives the lists that are trusted, each time a map or rules come into force; it may
            wait for the disk, so at the beginning there are none.
        first: what else may wait for the disk, done by the thread before anything else.

    Raises:
        MapError: the address is none.
    """

    def __init__(
        self,
        place: str,
        use: Callable[[Normalizer], None],
        rulebook: Rulebook | None = None,
        lists: Callable[[], Priors] | None = None,
        first: Callable[[], None] = lambda: None,
    ) -> None:
        self.rulebook = rulebook or Rulebook()
        self._follower = Follower(place)
        self._use = use
        self._lists = lists
        self._first = first
        self._map: Map | None = None
        self._rules = self.rulebook.rules
        self._is_stopping = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="miqps map watcher", daemon=True)

    def start(self) -> None:
        if self._follower.asks_the_network:
            self._wake.set()
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end. Returns at once."""
        self._is_stopping = True
        self._wake.set()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread, no longer than this."""
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def wake(self) -> None:
        """Look now, and not only at the end of the interval."""
        self._wake.set()

    def replace_rules(self, rulebook: Rulebook) -> None:
        """Go by another rule book, as soon as the thread comes to it."""
        self.rulebook = rulebook
        self._wake.set()

    def begin(self) -> Normalizer:
        """What to start with, whatever there is of a map; the network is not waited for."""
        if not self._follower.asks_the_network:
            self._map = self._in_memory(self._follower.look())
        return Normalizer(self._map, self._rules, on_wire=True)

    def look(self) -> Normalizer | None:
        """The normalizer for map and rules when either is another than at the last look."""
        rules = self.rulebook.look()
        map = self._in_memory(self._follower.look())
        if map is None and rules is self._rules:
            return None
        self._map, self._rules = map or self._map, rules
        return self._made()

    @staticmethod
    def _in_memory(map: Map | None) -> Map | None:
        """All of a map in shards: the event loop never waits for the disk."""
        return None if map is None else shards.in_memory(map)

    def _made(self) -> Normalizer:
        trusted = self._lists() if self._lists is not None else None
        return Normalizer(self._map, self._rules, on_wire=True, trusted=trusted)

    def _run(self) -> None:
        failed = not self._survives(self._begin_late)
        while True:
            self._wake.wait(RECORDING.reload_seconds)
            self._wake.clear()
            if self._is_stopping:
                return
            failed = not self._survives(self._renew, quiet=failed) or failed

    @staticmethod
    def _survives(step: Callable[[], None], *, quiet: bool = False) -> bool:
        """Whether a step went well. The watcher must outlive whatever one file does to it."""
        try:
            step()
        except Exception:
            if not quiet:
                logger.warning("miqps: map and rules could not be looked at", exc_info=True)
            return False
        return True

    def _begin_late(self) -> None:
        self._first()
        if self._lists is not None:
            self._use(self._made())

    def _renew(self) -> None:
        map, rules, rulebook = self._map, self._rules, self.rulebook
        normalizer = self.look()
        if normalizer is None or self._is_stopping:
            return
        self._use(normalizer)
        if self._map is not map:
            logger.info(
                f"miqps: map version {normalizer.version},"
                f" {normalizer.contexts} contexts, from {self._follower.name}"
            )
        if self._rules is not rules:
            logger.info(f"miqps: {rulebook} in force")
