"""Where renders are made. An engine is three things: submit, wait for one, result."""

from __future__ import annotations

from typing import Protocol

from miqps.page import Page
from miqps.view import Render


class Engine(Protocol):
    """Makes renders side by side. Used from one thread."""

    @property
    def slots(self) -> int:
        """How many renders run at once; submitting more only queues them."""
        ...

    def ready(self) -> None:
        """Return when renders can be made, so that no site is asked anything in vain.

        Raises BrowserError when no browser can be had.
        """

    def submit(self, render: Render) -> None:
        """Ask for a render."""

    def wait(self, timeout: float | None = None) -> tuple[Render, Page] | None:
        """The next render that is done, or None after `timeout` seconds without one.

        Raises BrowserError when no browser can be had.
        """

    def close(self) -> None:
        """Give everything back; renders that are under way are dropped."""
