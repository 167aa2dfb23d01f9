"""What Firefox does: WebDriver BiDi throughout, so pictures come whole and are made small here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from miqps.browser import window
from miqps.browser.tab import Tab
from miqps.page import Pixels

# Where a page's process died, Firefox shows a page of its own.
EVENTS = ("browsingContext.navigationCommitted", "network.authRequired")

_TILE = 8_000
"""CSS px of one picture: 41 MB while it is drawn. Firefox draws none of more than 32,767."""


class FirefoxPowers:
    """See `powers.Powers`."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab

    def prepare(self) -> list[int]:
        here = [self._tab.context]
        return [
            self._view(window.HEIGHT),
            self._tab.send("emulation.setTimezoneOverride", timezone="UTC", contexts=here),
            self._tab.send("emulation.setLocaleOverride", locale="en-US", contexts=here),
            # Else it asks for a name and password, and waits for ever.
            self._tab.send("network.addIntercept", phases=["authRequired"], contexts=here),
        ]

    def resize(self, height: int) -> None:
        self._tab.wait(self._view(height))

    def shoot(self, height: int) -> list[str]:
        return [self._shoot(top, min(_TILE, height - top)) for top in range(0, height, _TILE)]

    def decode(self, shots: list[str]) -> Pixels:
        return np.concatenate([window.decode(shot, window.SCALE) for shot in shots])

    def cookies(self) -> Mapping[str, str]:
        partition = {"type": "storageKey", "userContext": self._tab.profile}
        found = self._tab.call("storage.getCookies", partition=partition)["cookies"]
        return {f"{each['name']}@{each['domain']}": _text(each["value"]) for each in found}

    def _view(self, height: int) -> int:
        return self._tab.send(
            "browsingContext.setViewport",
            context=self._tab.context,
            viewport={"width": window.WIDTH, "height": height},
            devicePixelRatio=1,
        )

    def _shoot(self, top: int, height: int) -> str:
        answer = self._tab.call(
            "browsingContext.captureScreenshot",
            context=self._tab.context,
            origin="document",
            clip={"type": "box", "x": 0, "y": top, "width": window.WIDTH, "height": height},
        )
        return str(answer["data"])


def _text(value: Mapping[str, Any]) -> str:
    """A cookie's value; bytes that are no text stay in base64."""
    return str(value.get("value", ""))
