"""Which browser somebody means: a kind, a program, or one that a grid has."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from miqps.browser import grid, processes
from miqps.browser.driver import KINDS, BrowserError, Kind


@dataclass(frozen=True, slots=True)
class Choice:
    """What `Browser` is to be started with."""

    kind: Kind = "chromium"
    binary: str | None = None
    grid: str | None = None

    @property
    def name(self) -> str:
        """What renders are told apart by: pages seen with different browsers do not compare."""
        where = f" at {grid.public(self.grid)}" if self.grid else ""
        return " ".join(filter(None, (self.kind, self.binary))) + where


def choose(browser: str | None = None, grid_url: str | None = None) -> Choice:
    """Understands what somebody named.

    Args:
        browser: "chromium", "firefox" or a program's path; without it MIQPS_BROWSER, then Chromium.
        grid_url: the URL of a remote WebDriver.

    Raises:
        BrowserError: the program cannot be run, or is for a grid that has its own.
    """
    kind = next((each for each in KINDS if each == browser), None)
    if grid_url is not None:
        grid.check(grid_url)
        if browser is not None and kind is None:
            raise BrowserError(f"a grid has its own browsers: chromium or firefox, not {browser}")
        return Choice(kind or "chromium", grid=grid_url)
    if kind is not None:
        return Choice(kind)
    named = browser or os.environ.get("MIQPS_BROWSER")
    if not named:
        return Choice()
    found = shutil.which(named)
    # A program that is not there is told of where browsers are started.
    is_firefox = found is not None and "firefox" in processes.version(found)
    return Choice("firefox" if is_firefox else "chromium", named)
