"""Whether and when a URL may be asked for: robots.txt and the turnstile in one."""

from __future__ import annotations

from dataclasses import dataclass

from miqps import urls
from miqps.politeness import Turnstile
from miqps.robots import DISALLOWED, Robots, origin


@dataclass(frozen=True, slots=True)
class Refused:
    """A URL must not be asked for."""

    reason: str


class Admission:
    """The door to all sites. Without `robots` nobody's robots.txt is read.

    A robots.txt takes a turn like a page does: the site is asked once, and then the pause is kept.
    """

    def __init__(self, turnstile: Turnstile, robots: Robots | None = None) -> None:
        self._turnstile = turnstile
        self._robots = robots

    def ask(self, site: str, url: str, now: float) -> Refused | float | None:
        """The seconds after which a URL may be asked for, 0 for at once.

        None: when an answer has come that is waited for.
        """
        of = origin(url)
        file = None
        if self._robots is not None and of is not None:
            file = self._robots.file(of)
            if file is not None and not file.allows(url):
                return Refused(DISALLOWED)
            if self._robots.awaits(of):
                return None
        opens_at = self._turnstile.opens_at(site)
        if opens_at is None or opens_at > now:
            return None if opens_at is None else opens_at - now
        if self._robots is not None and of is not None and file is None:
            self._turnstile.enter(site)
            self._robots.begin(of, now)
            return None
        return 0.0

    def awaits(self) -> bool:
        """Whether a robots.txt is waited for."""
        return self._robots is not None and self._robots.awaits()

    def finished(self, now: float) -> dict[str, str]:
        """Take in what has come; gives the sites whose robots.txt could not be read, with why."""
        unreadable = {}
        for of, file in self._robots.finished(now) if self._robots is not None else ():
            site = urls.site(of)
            assert site is not None
            self._turnstile.slow_down(site, file.delay)
            self._turnstile.leave(site, now)
            if file.unreadable:
                unreadable[site] = f"robots.txt: {file.unreadable}"
        return unreadable
