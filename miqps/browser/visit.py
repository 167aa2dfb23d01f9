"""One visit of one URL in one clean profile, from the empty tab to what was seen.

A visit goes: load; let two seconds of the page's own time pass; make the window as high as the
page, so that whatever waits to be scrolled to loads; back to the usual window; read and capture.
Between the steps the network must be quiet.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from miqps.browser import answer, bidi, console, deterministic, leaves, reading, window
from miqps.browser.driver import Driver
from miqps.browser.limits import Limits
from miqps.browser.outcome import Sight
from miqps.browser.reading import WORLD, Found
from miqps.browser.tab import Tab
from miqps.page import USUAL, Hop, Part


class Restless(Exception):  # noqa: N818 - it names what happened
    """The page did not come to rest."""


@dataclass(frozen=True, slots=True)
class Seen:
    """All that a visit brought home."""

    sight: Sight
    hops: tuple[Hop, ...]
    errors: tuple[str, ...]
    phases: Mapping[str, float]
    """Milliseconds by step."""
    found: Found | None = None
    height: int = 0
    """CSS px of the whole page."""
    cookies: Mapping[str, str] = field(default_factory=dict)
    retry_after: str | None = None


class Visit:
    """A visit under way.

    Args:
        driver: the browser.
        limits: where it ends.
        parts: what is wanted of the page beside its leaves.
    """

    def __init__(self, driver: Driver, limits: Limits, parts: frozenset[Part] = USUAL) -> None:
        self._limits = limits
        self._parts = parts
        self._until = time.monotonic() + limits.render
        self._idle = limits.idle
        self._window = window.HEIGHT
        self._coming = 0
        self._standing = 0
        self._asked = 0
        self._frames: list[str] = []
        self._phases: dict[str, float] = {}
        self._mark = time.monotonic()
        self._tab = Tab(driver.connection, self._until, limits.answer)
        self._powers = driver.powers(self._tab)
        self._watch = self._tab.watch

    def see(self, url: str, base: int, sent: str = "") -> Seen:
        """Visits a URL.

        Args:
            url: http or https.
            base: what the page's clock shows, in ms since 1970.
            sent: what the server is asked for in its place, below the page.

        Raises:
            Late, Restless: the page did not come to rest in time.
            Crashed, Gone, BidiError: page or browser went down.
        """
        watch = self._watch
        clock = deterministic.preload(base, self._limits.page_time, self._limits.leap)
        self._tab.open(f"() => {{ ({console.PRELOAD})(); ({clock})(); }}", self._powers.prepare)
        kept = answer.keep(self._tab) if "body" in self._parts else ""
        if sent:
            self._tab.send_instead(sent)
        self._phase("profile")
        self._load(url)
        self._phase("navigation")
        if watch.ended or watch.type == "application/pdf":
            return self._seen(self._sight(url, url))
        height = self._settle()
        self._phase("settle")
        if watch.ended:
            return self._seen(self._sight(url, url))
        found = self._capture(height, kept)
        cookies = dict(self._powers.cookies())
        stored = json.loads(str(self._tab.run(leaves.STORED, world=WORLD)))
        cookies |= {f"{name}@localStorage": value for name, value in stored}
        self._phase("cookies")
        return self._seen(self._sight(url, found.shown.href, found), found, height, cookies)

    def close(self) -> None:
        """Throws the profile away, with all that the visit left in it."""
        self._tab.close()

    def _sight(self, asked: str, final_url: str, found: Found | None = None) -> Sight:
        watch = self._watch
        shown = found.shown if found else None
        return Sight(
            asked=asked,
            final_url=final_url,
            status=watch.status,
            type=watch.type,
            failure=watch.failure,
            download=watch.download,
            dialog=watch.dialog,
            title=shown.title if shown else "",
            leaves=shown.leaves if shown else (),
            passwords=shown.passwords if shown else 0,
            uniform=found is not None and found.uniform,
        )

    def _seen(
        self,
        sight: Sight,
        found: Found | None = None,
        height: int = 0,
        cookies: Mapping[str, str] | None = None,
    ) -> Seen:
        watch = self._watch
        after = watch.headers.get("retry-after")
        hops, errors = tuple(watch.hops.values()), tuple(watch.errors)
        return Seen(sight, hops, errors, self._phases, found, height, cookies or {}, after)

    def _phase(self, name: str) -> None:
        now = time.monotonic()
        self._phases[name] = self._phases.get(name, 0.0) + (now - self._mark) * 1000
        self._mark = now

    def _load(self, url: str | None = None) -> None:
        """Waits for a load event, or for the reason why there is none.

        Args:
            url: where to go first; None waits for the document that is on its way.
        """
        until = time.monotonic() + self._limits.load
        before = self._watch.loads
        if url is not None:
            try:
                self._tab.go(url, until)
            except bidi.Late:
                raise Restless("no answer") from None
        while self._watch.loads == before and not self._watch.ended:
            if not self._tab.pump(until):
                raise Restless("no load event")
            self._count()

    def _count(self) -> None:
        if self._watch.documents > self._limits.documents:
            raise Restless("loads one document after the other")

    def _quiet(self, calm: float) -> None:
        """Waits until no request has been under way for `calm` seconds; not longer than allowed."""
        start = time.monotonic()
        until, still = start + self._idle, start + calm
        while time.monotonic() < until:
            busy, before = bool(self._watch.open), self._watch.traffic
            if not self._tab.pump(until if busy else min(until, still)) and not busy:
                break
            self._count()
            if busy or self._watch.traffic != before:
                still = time.monotonic() + calm
        self._idle -= max(0.0, time.monotonic() - start - calm)

    def _pass(self, milliseconds: int) -> None:
        """Lets the page's own time pass, and what that starts come to its end."""
        step, rounds = milliseconds, 0
        while rounds < 8 or (self._coming and self._idle > 0):
            rounds += 1
            begun, watch = time.monotonic(), self._watch
            before, documents = watch.traffic, watch.documents
            try:
                self._coming = self._advance(step)
            except bidi.BidiError:
                # The document went away under the call: another one is loading.
                self._load()
            untold = self._asked > len(watch.open)
            self._quiet(self._limits.standing if untold else self._limits.quiet)
            if watch.documents != documents:
                # Another document: its time begins anew.
                step = 0
                continue
            if watch.traffic == before and not self._coming:
                return
            step = 100
            if self._coming:
                self._idle -= time.monotonic() - begun

    def _advance(self, step: int) -> int:
        """Moves every clock on the page; gives the number of pictures still to come."""
        answer = str(self._tab.run(deterministic.ADVANCE, step))
        coming, frames, standing, self._asked = map(int, answer.split())
        self._frames = self._tab.frames() if frames else []
        for frame in self._frames:
            # Frames come and go; one that left has nothing to show.
            with contextlib.suppress(bidi.BidiError):
                answer = str(self._tab.run(deterministic.ADVANCE, step, frame=frame))
                of_frame = list(map(int, answer.split()))
                coming += of_frame[0]
                standing += of_frame[2]
                self._asked += of_frame[3]
        self._standing = max(self._standing, standing)
        return coming

    def _settle(self) -> int:
        """Brings the page to rest.

        Returns:
            its height in CSS px.
        """
        self._quiet(0.0)
        self._pass(0)
        for _ in range(self._limits.documents):
            refresh, height = self._measure()
            if not refresh:
                break
            self._load()
            self._quiet(0.0)
            self._pass(0)
        self._open_up(height)
        if self._standing:
            self._watch_standing()
        if self._coming:
            raise Restless("pictures do not come")
        if self._watch.waits_for_its_own():
            raise Restless("an answer does not come")
        self._tab.run(deterministic.STILL)
        for frame in self._frames:
            with contextlib.suppress(bidi.BidiError):
                self._tab.run(deterministic.STILL, frame=frame)
        return self._measure()[1]

    def _watch_standing(self) -> None:
        """Gives messages time to come, by the wall's clock, and what they start time to end."""
        until = time.monotonic() + self._limits.standing
        while time.monotonic() < until:
            self._tab.pump(until)
        self._pass(200)

    def _open_up(self, height: int) -> None:
        """Makes the window as high as the page, so that all of it is loaded and drawn.

        Capturing beyond the window instead makes Chromium lay the page out anew for a moment, as
        if for a telephone, and the picture shows one layout or the other by chance. Only pages
        that grow with their window are left in the usual one.
        """
        for milliseconds in (500, 200):
            high = min(window.whole(height), self._limits.window)
            growth = high - self._window
            if growth > 0:
                self._resize(high)
            if not self._tab.run(window.WAKE) and growth <= 0:
                return
            self._pass(milliseconds)
            before, height = height, self._measure()[1]
            if growth > 0 and height - before >= 0.9 * growth:
                self._resize(window.HEIGHT)
                self._pass(200)
                return

    def _resize(self, height: int) -> None:
        self._window = height
        self._powers.resize(height)

    def _measure(self) -> tuple[bool, int]:
        refresh, height = str(self._tab.run(window.MEASURE, world=WORLD)).split()
        return refresh == "true", int(height)

    def _capture(self, height: int, kept: str) -> Found:
        """Reads the page and takes the picture, with nothing changing in between."""
        high = min(height, self._limits.height)
        for _ in range(4):
            said = reading.read(self._tab, self._parts)
            self._phase("leaves")
            wanted = reading.needs_picture(said, self._parts)
            shots = self._powers.shoot(high) if wanted else []
            changes = self._tab.run(leaves.CHANGES, world=WORLD)
            self._phase("capture")
            if not changes:
                break
            self._pass(100)
        body = answer.body(self._tab, kept)
        pixels = self._powers.decode(shots) if shots else None
        found = reading.found(said, pixels, body, self._parts)
        self._phase("decode")
        return found
