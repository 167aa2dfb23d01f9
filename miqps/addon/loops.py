"""Notices sites that put a removed parameter back, so that the proxy does not send them in circles.

Such a site answers the cleaned request with a redirect to the URL as it was; the proxy cleans it
again, and the client goes round until it gives up. Probing finds most of these sites before a map
is published; what it missed is broken off here.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from miqps import query
from miqps.origin import Origin

_ROUNDS = 3
_SECONDS = 5.0
"""A client that is redirected from the same URL this often within this time goes in circles: a
person who reloads is slower, and browsers give up after some twenty rounds."""

_MOST_REMEMBERED = 10_000


class Loops:
    """The recent redirects after a rewrite, and the patterns that are left alone from now on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rounds: dict[tuple[str, Origin, bytes], tuple[float, int]] = {}
        self._left_alone: set[tuple[Origin, tuple[str, ...]]] = set()

    def left_alone(self, where: Origin, target: bytes) -> bool:
        """Whether this pattern of the origin was found to go in circles."""
        return bool(self._left_alone) and (where, query.names(target)) in self._left_alone

    def closes(self, client: str, where: Origin, target: bytes) -> bool:
        """Note that a rewritten target was answered by a redirect; True when that closes a circle.

        Its pattern is left alone on this origin from then on.
        """
        key, now = (client, where, target), self._clock()
        began, rounds = self._rounds.pop(key, (now, 0))
        if now - began > _SECONDS:
            began, rounds = now, 0
        if rounds + 1 < _ROUNDS:
            if len(self._rounds) >= _MOST_REMEMBERED:
                self._rounds.clear()
            self._rounds[key] = began, rounds + 1
            return False
        if len(self._left_alone) < _MOST_REMEMBERED:
            self._left_alone.add((where, query.names(target)))
        return True
