"""What each kind of browser does in a way of its own, for one tab.

All the rest of a visit is WebDriver BiDi, which every browser speaks alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from miqps.page import Pixels


class Powers(Protocol):
    """Made for a tab that is about to be opened, and of use as long as that is open."""

    def prepare(self) -> list[int]:
        """Sends what must stand before the first byte: window, locale, pretences.

        Returns:
            the commands that are still to be waited for.
        """

    def resize(self, height: int) -> None:
        """Makes the window so many CSS px high."""

    def shoot(self, height: int) -> list[str]:
        """The picture of so many CSS px from the page's top, as base64 PNGs from top to bottom."""

    def decode(self, shots: list[str]) -> Pixels:
        """The picture that `shoot` took, at a quarter of its size: (height, width, 3), RGB."""

    def cookies(self) -> Mapping[str, str]:
        """ "name@domain" -> value of every cookie in the tab's profile."""
