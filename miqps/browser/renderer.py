"""Renders URLs in a browser: each in a clean profile, each ending in a `Page`, whatever happens."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from miqps.agent import introduction
from miqps.browser import bidi, chromium_driver, firefox_driver, grid, outcome
from miqps.browser.driver import BrowserError, Driver, Kind
from miqps.browser.limits import Limits
from miqps.browser.visit import Restless, Seen, Visit
from miqps.browser.watch import EVENTS, Crashed
from miqps.page import PARTS, USUAL, Outcome, Page, Part

__all__ = ["Browser", "BrowserError"]

_DAY = 86_400


class Browser:
    """One browser, started when it is first needed and replaced when it dies.

    For one thread at a time. Every visit has a profile of its own, so no cookie, cache, storage or
    service worker of one is seen by another.

    Args:
        binary: the browser's path; without it MIQPS_BROWSER, then the system's.
        limits: where a visit ends whatever the page does.
        kind: what it is.
        grid: the URL of a remote WebDriver that has the browsers; without it they run here.
        needs: what is wanted of a page beside its leaves.
        contact: whom owners of sites may write to; part of the User-Agent.

    Raises:
        BrowserError: there is no browser, or it does not start.
        ValueError: a page has no such part.
    """

    def __init__(
        self,
        binary: str | None = None,
        limits: Limits | None = None,
        *,
        kind: Kind = "chromium",
        grid: str | None = None,
        needs: frozenset[Part] = USUAL,
        contact: str = "",
    ) -> None:
        if not needs <= PARTS:
            raise ValueError(f"a page has no part {', '.join(sorted(needs - PARTS))}")
        self._needs = needs
        self._binary = binary
        self._limits = limits or Limits()
        self._kind = kind
        self._grid = grid
        self._introduction = introduction(contact)
        self._driver: Driver | None = None
        self.phases: dict[str, float] = {}
        """Milliseconds by step of the last render."""
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the browser; a later render starts another."""
        if self._driver is not None:
            self._driver.stop()
            self._driver = None

    def render(self, url: str, sent: str = "") -> Page:
        """What a first-time visitor sees at a URL.

        Never raises for what a page does to the browser.

        Args:
            url: the address that the page has.
            sent: what the server is asked for in its place, as by a proxy that takes parameters
                out; empty: the address.

        Raises:
            BrowserError: the browser died and no other starts.
        """
        begun = time.monotonic()
        try:
            scheme = urlsplit(url).scheme.lower()
        except ValueError:
            scheme = ""
        if scheme not in ("http", "https"):
            return Page(url, "refused", "only http and https are visited")
        self.phases = {}
        return self._visit(url, sent, begun)

    def _visit(self, url: str, sent: str, begun: float) -> Page:
        visit = Visit(self._start(), self._limits, self._needs)
        # The page's clock shows the day's beginning: dates are right, and equal all day.
        base = int(time.time()) // _DAY * _DAY * 1000
        named: Outcome
        try:
            try:
                page = self._see(visit, url, base, sent, begun)
            except Restless as error:
                page = Page(url, "timeout", str(error), milliseconds=_since(begun))
            closing = time.monotonic()
            visit.close()
            self.phases["close"] = _since(closing)
            return page
        except bidi.Late:
            named, reason = "timeout", "the page does not answer"
        except (Crashed, bidi.Gone, bidi.BidiError) as error:
            named, reason = "crashed", str(error) or "the page's process ended"
        self._kill()
        return Page(url, named, reason, milliseconds=_since(begun))

    def _see(self, visit: Visit, url: str, base: int, sent: str, begun: float) -> Page:
        seen = visit.see(url, base, sent)
        self.phases = dict(seen.phases)
        return _page(url, seen, begun)

    def _start(self) -> Driver:
        if self._driver is None:
            self._driver = self._begin()
            try:
                _introduce(self._driver, self._introduction)
            except (bidi.Late, bidi.Gone, bidi.BidiError) as error:
                self._kill()
                raise BrowserError(f"the browser cannot be used, is it too old? {error}") from error
        return self._driver

    def _begin(self) -> Driver:
        if self._grid is not None:
            return grid.start(self._grid, self._kind)
        start = chromium_driver.start if self._kind == "chromium" else firefox_driver.start
        return start(self._binary)

    def _kill(self) -> None:
        if self._driver is not None:
            self._driver.stop(kill=True)
            self._driver = None


def _introduce(running: Driver, introduced_as: str) -> None:
    """Sets what holds for all visits of a browser: its name, no downloads, the events wanted."""
    until = time.monotonic() + 15
    call = running.connection.call
    call("session.subscribe", until, events=[*EVENTS, *running.events])
    call("browser.setDownloadBehavior", until, downloadBehavior={"type": "denied"})
    context = call("browsingContext.getTree", until)["contexts"][0]["context"]
    answer = call(
        "script.evaluate",
        until,
        expression="navigator.userAgent",
        target={"context": context},
        awaitPromise=False,
    )
    agent = str(answer["result"]["value"]).replace("HeadlessChrome", "Chrome")
    call("emulation.setUserAgentOverride", until, userAgent=f"{agent} {introduced_as}")


def _page(url: str, seen: Seen, begun: float) -> Page:
    named, reason = outcome.name(seen.sight)
    # What is not the page must not be compared with anything, so it is not handed on.
    found = seen.found if named in ("seen", "redirected") else None
    return Page(
        url,
        named,
        reason,
        status=seen.sight.status,
        final_url=seen.sight.final_url,
        hops=seen.hops,
        title=seen.sight.title,
        leaves=seen.sight.leaves if found else (),
        pixels=found.pixels if found else None,
        metadata=found.metadata if found else None,
        dom=found.dom if found else (),
        body=found.body if found else None,
        height=seen.height,
        cookies=seen.cookies,
        retry_after=outcome.retry_after(seen.retry_after, time.time()),
        errors=seen.errors,
        milliseconds=_since(begun),
        phases=seen.phases,
    )


def _since(moment: float) -> float:
    return (time.monotonic() - moment) * 1000
