"""Notices sites that put a removed parameter back, so that the proxy does not send them in circles.

Such a site answers the cleaned request with a redirect to the URL as it was, or its page goes there
by script; the proxy cleans it again, and the client goes round until it gives up. Probing finds
most of these sites before a map is published; what it missed is broken off here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from miqps import query
from miqps.origin import Origin

_ROUNDS = 3
_SECONDS = 5.0
"""A client that is redirected from the same URL this often within this time goes in circles: a
person who reloads is slower, and browsers give up after some twenty rounds."""

_BACK_SECONDS = 2.0
"""A client that was sent to a cleaned URL and asks for the same original again within this time was
sent back by the page. People click slower."""

_MOST_REMEMBERED = 10_000


class _Sent(NamedTuple):
    """That a client was sent from a URL to its cleaned one."""

    when: float
    target: bytes
    cleaned: bytes


class Loops:
    """The recent redirects after a rewrite, and the patterns that are left alone from now on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rounds: dict[tuple[str, Origin, bytes], tuple[float, int]] = {}
        self._sent: dict[tuple[str, Origin], _Sent] = {}
        self._left_alone: set[tuple[Origin, tuple[str, ...]]] = set()

    def left_alone(self, where: Origin, target: bytes) -> bool:
        """Whether this pattern of the origin was found to go in circles."""
        return bool(self._left_alone) and (where, query.names(target)) in self._left_alone

    def closes(self, client: str, where: Origin, target: bytes, cleaned: bytes, to: bytes) -> bool:
        """Note that a rewritten target was answered by a redirect; True when that closes a circle.

        It does at once when the redirect has what was removed. Its pattern is left alone on this
        origin from then on.

        Args:
            client: who asked.
            where: whom.
            target: as the client sent it.
            cleaned: what the site was asked for.
            to: the `Location` of the answer.
        """
        if _has_again(target, cleaned, to):
            return self._leave_alone(where, target)
        key, now = (client, where, target), self._clock()
        began, rounds = self._rounds.pop(key, (now, 0))
        if now - began > _SECONDS:
            began, rounds = now, 0
        if rounds + 1 < _ROUNDS:
            if len(self._rounds) >= _MOST_REMEMBERED:
                self._rounds.clear()
            self._rounds[key] = began, rounds + 1
            return False
        return self._leave_alone(where, target)

    def send(self, client: str, where: Origin, target: bytes, cleaned: bytes) -> bool:
        """Note that a client is about to be sent to a cleaned URL; False when it just came from
        there: its pattern is left alone from now on."""
        now, before = self._clock(), self._sent.pop((client, where), None)
        if before and before.target == target and now - before.when <= _BACK_SECONDS:
            self._leave_alone(where, target)
            return False
        if len(self._sent) >= _MOST_REMEMBERED:
            self._sent.clear()
        self._sent[client, where] = _Sent(now, target, cleaned)
        return True

    def sends_back(self, client: str, where: Origin, asked: bytes, to: bytes) -> bytes | None:
        """The target that a client was sent away from, when it is redirected back there now.

        Its pattern is left alone from now on. `asked` is what was answered, `to` the `Location`.
        """
        before = self._sent.get((client, where))
        if before is None or before.cleaned != asked:
            return None
        if self._clock() - before.when > _SECONDS or not _has_again(before.target, asked, to):
            return None
        self._leave_alone(where, before.target)
        return before.target

    def _leave_alone(self, where: Origin, target: bytes) -> bool:
        if len(self._left_alone) < _MOST_REMEMBERED:
            self._left_alone.add((where, query.names(target)))
        return True


def _has_again(target: bytes, cleaned: bytes, to: bytes) -> bool:
    """Whether a redirect has a name that was taken out of a target."""
    removed = {*query.names(target)} - {*query.names(cleaned)}
    return not removed.isdisjoint(query.names(to))
