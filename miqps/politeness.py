"""When a site may be asked again.

One render at a time and a pause between two of them, as robots are expected to behave (RFC 9309
leaves the pace to the robot); a site that says 429 or 503 is left alone for as long as it asks. All
hosts of a registrable domain share one turn, and all ports of a host: they are mostly one machine,
and one owner. Loopback is nobody else's: no pause unless one is wanted, and without one as many
renders at once as there are browsers.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

from miqps.settings import POLITENESS, Politeness


def on_loopback(site: str) -> bool:
    """Whether a site is on this machine.

    >>> on_loopback("127.0.0.1:8001"), on_loopback("[::1]:80"), on_loopback("example.org")
    (True, True, False)
    """
    host = _host(site)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


@lru_cache(maxsize=10_000)
def turn_of(site: str) -> str:
    """Whose turn a render of a site takes: its registrable domain's, or its host's.

    >>> turn_of("www.shop.co.uk:8443"), turn_of("ann.github.io"), turn_of("10.0.0.1:8000")
    ('shop.co.uk', 'ann.github.io', '10.0.0.1')
    """
    host = _host(site).rstrip(".")
    if _address(host) is not None:
        return host
    return _suffixes().privatesuffix(host) or host


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _host(site: str) -> str:
    host, colon, port = site.rpartition(":")
    return host if colon and port.isdigit() else site


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


@dataclass(slots=True)
class _Queue:
    free_at: float = 0.0
    running: int = 0
    refusals: int = 0
    delay: float = 0.0
    """What its robots.txt wants."""


class Turnstile:
    """Lets a render of a site through when it is that site's turn. Times are seconds, any epoch.

    Without a `delay` of one's own it is the usual one, and none on loopback.
    """

    def __init__(self, delay: float | None = None, rules: Politeness = POLITENESS) -> None:
        self._delay = delay
        self._rules = rules
        self._queues: dict[str, _Queue] = {}

    def opens_at(self, site: str) -> float | None:
        """When the site may be asked; None while an answer of it is waited for."""
        queue = self._queue(site)
        if queue.running and (self.pause(site) or not on_loopback(site)):
            return None
        return queue.free_at

    def pause(self, site: str) -> float:
        """Seconds between two renders of the site."""
        own = self._delay
        if own is None:
            own = 0.0 if on_loopback(site) else self._rules.delay
        return max(own, self._queue(site).delay)

    def slow_down(self, site: str, delay: float) -> None:
        """The site wants a longer pause, which it gets within reason."""
        queue = self._queue(site)
        queue.delay = max(queue.delay, min(delay, self._rules.max_crawl_delay))

    def enter(self, site: str) -> None:
        """A render of the site begins."""
        self._queue(site).running += 1

    def leave(self, site: str, now: float) -> None:
        """A render of the site is over."""
        queue = self._queue(site)
        queue.running -= 1
        queue.free_at = max(queue.free_at, now + self.pause(site))

    def answered(self, site: str) -> None:
        """The site does not refuse any more: the next back-off is a short one again."""
        self._queue(site).refusals = 0

    def refused(self, site: str, now: float, retry_after: float | None) -> bool:
        """The site asked to be left alone; False when for too long or too often for this run."""
        queue = self._queue(site)
        queue.refusals += 1
        pause = self._rules.backoff * 2 ** (queue.refusals - 1)
        if retry_after is not None:
            pause = retry_after
        if queue.refusals > self._rules.max_backoffs or pause > self._rules.max_pause:
            return False
        queue.free_at = now + max(pause, self.pause(site))
        return True

    def _queue(self, site: str) -> _Queue:
        return self._queues.setdefault(turn_of(site), _Queue())
