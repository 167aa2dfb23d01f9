"""Notices a newly published map, and never lets a broken one take the place of a good one."""

from __future__ import annotations

import errno
import logging
import os

from miqps.mapping import Map, MapError
from miqps.sources import SourceError, is_address, open_source

logger = logging.getLogger(__name__)

_TRIES = 3
"""How often a map that cannot be read is tried again, before only a newer one is looked at."""


class Follower:
    """Looks after one place. What cannot be read is said once, and changes nothing.

    A missing map changes nothing either; one that appears later is found. Belongs to one thread.

    Args:
        place: a store, a file of JSON, a folder of shards, or an http(s) address.

    Raises:
        MapError: the address is none.
    """

    def __init__(self, place: str) -> None:
        try:
            self._source = open_source(place)
        except ValueError as error:
            raise MapError(str(error)) from None
        self.name = self._source.name
        self.asks_the_network = is_address(place)
        self._edition: object = None
        self._refused: object = None
        self._tries = 0
        self._is_unreadable = False

    def first(self) -> Map:
        """The map that is there now. Raises MapError with one line: there is none, or not one."""
        try:
            self._edition = self._source.edition()
            if self._edition is not None:
                return self._source.read()
        except SourceError as error:
            raise MapError(str(error)) from None
        except MapError as error:
            raise MapError(f"{self.name}: {error}") from None
        why = os.strerror(errno.ENOENT)
        if os.path.isdir(self.name):
            why = "a directory without a map in shards"
        elif os.path.exists(self.name):
            why = "not a store: it has no maps"
        raise MapError(f"{self.name}: {why}")

    def look(self) -> Map | None:
        """The map, when it is another one than at the last look."""
        try:
            edition = self._source.edition()
        except SourceError as error:
            if not self._is_unreadable:
                logger.warning(f"miqps: no maps can be read for now: {error}")
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
            map = self._source.read()
        except (MapError, SourceError) as error:
            if not self._tries:
                logger.warning(f"miqps: a map is left out: {self.name}: {error}")
            self._refused, self._tries = edition, self._tries + 1
            return None
        self._edition = edition
        return map
