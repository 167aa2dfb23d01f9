"""When a site may be asked again.

One render at a time and a pause between two of them, as robots expect to behave (RFC 9309 leaves
the pace to the robot); a site that says 429 or 503 is left alone for as long as it asks. Loopback
is nobody else's machine: no pause, and as many renders at once as there are browsers.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from miqps.settings import POLITENESS, Politeness


def on_loopback(site: str) -> bool:
    """Whether a site is on this machine.

    >>> on_loopback("127.0.0.1:8001"), on_loopback("[::1]:80"), on_loopback("example.org")
    (True, True, False)
    """
    host = site.rpartition(":")[0] if site.rpartition(":")[2].isdigit() else site
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(slots=True)
class _Queue:
    free_at: float = 0.0
    running: int = 0
    refusals: int = 0


class Turnstile:
    """Lets a render of a site through when it is that site's turn. Times are seconds, any epoch."""

    def __init__(self, delay: float | None = None, rules: Politeness = POLITENESS) -> None:
        self._delay = rules.delay if delay is None else delay
        self._rules = rules
        self._queues: dict[str, _Queue] = {}

    def opens_at(self, site: str) -> float | None:
        """When the site may be asked; None while an answer of it is waited for."""
        queue = self._queues.setdefault(site, _Queue())
        if queue.running and not on_loopback(site):
            return None
        return queue.free_at

    def enter(self, site: str) -> None:
        """A render of the site begins."""
        self._queues.setdefault(site, _Queue()).running += 1

    def leave(self, site: str, now: float) -> None:
        """A render of the site is over."""
        queue = self._queues[site]
        queue.running -= 1
        pause = 0.0 if on_loopback(site) else self._delay
        queue.free_at = max(queue.free_at, now + pause)

    def refused(self, site: str, now: float, retry_after: float | None) -> bool:
        """The site asked to be left alone; False when for too long or too often for this run."""
        queue = self._queues.setdefault(site, _Queue())
        queue.refusals += 1
        pause = self._rules.backoff * 2 ** (queue.refusals - 1)
        if retry_after is not None:
            pause = retry_after
        if queue.refusals > self._rules.max_backoffs or pause > self._rules.max_pause:
            return False
        queue.free_at = now + pause
        return True
