"""What every running browser is to the rest, wherever it runs and whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, get_args

from miqps.browser import bidi
from miqps.browser.powers import Powers
from miqps.browser.tab import Tab

Kind = Literal["chromium", "firefox"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class BrowserError(Exception):
    """No browser, or one that cannot be used: one line that says what to do."""


class Driver(Protocol):
    """A running browser."""

    @property
    def connection(self) -> bidi.Connection: ...

    @property
    def events(self) -> tuple[str, ...]:
        """Events that only this kind of browser has, and that are wanted."""

    @property
    def powers(self) -> Callable[[Tab], Powers]: ...

    def stop(self, *, kill: bool = False) -> None:
        """Ends the browser and everything it started; never raises for one that is gone.

        Args:
            kill: do not ask it first, because it does not answer.
        """
