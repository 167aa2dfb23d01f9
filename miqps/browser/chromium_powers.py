"""What Chromium does by its own protocol, which reaches further than WebDriver BiDi."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from miqps.browser import window
from miqps.browser.tab import Tab
from miqps.page import Pixels

EVENTS = ("goog:cdp.Inspector.targetCrashed",)


class ChromiumPowers:
    """See `powers.Powers`."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._session = ""
        self._window = window.HEIGHT

    def prepare(self) -> list[int]:
        made = self._tab.call("goog:cdp.getSession", context=self._tab.context)
        self._session = made["session"]
        # All at once: one wait.
        return [self._send(method, params) for method, params in _OVERRIDES]

    def resize(self, height: int) -> None:
        self._window = height
        self.cdp("Emulation.setDeviceMetricsOverride", **_metrics(height))

    def shoot(self, height: int) -> list[str]:
        """One picture; beyond the window not by one shot's chance."""
        beyond = height > self._window
        shot = _shot(height, beyond=beyond)
        data, before = "", None
        for _ in range(5 if beyond else 1):
            data = str(self.cdp("Page.captureScreenshot", **shot)["data"])
            if data == before:
                break
            before = data
        return [data]

    def decode(self, shots: list[str]) -> Pixels:
        return window.decode(shots[0])

    def cookies(self) -> Mapping[str, str]:
        found = self.cdp("Network.getAllCookies")["cookies"]
        return {f"{each['name']}@{each['domain']}": each["value"] for each in found}

    def cdp(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Sends a command of Chromium's own protocol and waits for its answer."""
        result: dict[str, Any] = self._tab.wait(self._send(method, params)).get("result") or {}
        return result

    def _send(self, method: str, params: Mapping[str, Any]) -> int:
        return self._tab.send(
            "goog:cdp.sendCommand", method=method, params=params, session=self._session
        )


def _metrics(height: int) -> dict[str, Any]:
    return {"width": window.WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}


_OVERRIDES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Emulation.setDeviceMetricsOverride", _metrics(window.HEIGHT)),
    ("Emulation.setTimezoneOverride", {"timezoneId": "UTC"}),
    (
        "Emulation.setEmulatedMedia",
        {
            "features": [
                {"name": "prefers-color-scheme", "value": "light"},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ]
        },
    ),
)


def _shot(height: int, *, beyond: bool) -> dict[str, Any]:
    size = {"width": window.WIDTH, "height": window.whole(height)}
    return {
        "format": "png",
        "optimizeForSpeed": True,
        "captureBeyondViewport": beyond,
        # Scaled by the browser: a whole picture takes ten times as long.
        "clip": {"x": 0, "y": 0, **size, "scale": 1 / window.SCALE},
    }
