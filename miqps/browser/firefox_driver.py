"""Starts and ends one Firefox, which speaks WebDriver BiDi by itself and needs no driver."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from selenium import webdriver

from miqps.browser import bidi, firefox_powers, processes
from miqps.browser.driver import BrowserError

_NAMES = ("firefox-esr", "firefox", "/Applications/Firefox.app/Contents/MacOS/firefox")
_INSTALL = (
    "install Firefox (Debian: apt-get install firefox-esr; macOS: brew install --cask firefox) "
    "or name it in MIQPS_BROWSER"
)
_STARTS = 60.0
"""Seconds a Firefox may take to start; a busy machine needs ten."""

PREFERENCES: dict[str, str | int | bool] = {
    # The same picture everywhere and every time.
    "gfx.color_management.mode": 0,
    "gfx.color_management.force_srgb": True,
    "gfx.text.subpixel-position.force-disabled": True,
    "layout.css.prefers-color-scheme.content-override": 1,
    "ui.systemUsesDarkTheme": 0,
    "ui.prefersReducedMotion": 1,
    "ui.useOverlayScrollbars": 1,
    "ui.caretBlinkTime": 0,
    # GIFs show their first picture.
    "image.animation_mode": "none",
    "media.autoplay.default": 5,
    "media.autoplay.blocking_policy": 2,
    "intl.accept_languages": "en-US, en",
    "intl.locale.requested": "en-US",
    # The URL that was asked for is the one that is visited.
    "dom.security.https_first": False,
    "dom.security.https_first_schemeless": False,
    "privacy.query_stripping.enabled": False,
    "privacy.bounceTrackingProtection.mode": 0,
    # A PDF is a file that is not saved, not a page of the viewer.
    "pdfjs.disabled": True,
    # No traffic but the page's; when it is driven, Firefox leaves out most of its own anyway.
    "browser.chrome.site_icons": False,
    "browser.newtabpage.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "network.dns.disablePrefetch": True,
    "network.http.speculative-parallel-limit": 0,
    "network.trr.mode": 5,
    "security.OCSP.enabled": 0,
}
"""What Firefox is told at its start."""

_VARIABLES = {
    "MOZ_CRASHREPORTER_DISABLE": "1",
    # Else it looks for new settings at home whatever the preference says.
    "MOZ_REMOTE_SETTINGS_DEVTOOLS": "1",
}


@dataclass(frozen=True, slots=True)
class LocalFirefox:
    """See `driver.Driver`."""

    process: subprocess.Popen[bytes]
    connection: bidi.Connection
    profile: Path
    events: ClassVar[tuple[str, ...]] = firefox_powers.EVENTS
    powers: ClassVar[type[firefox_powers.FirefoxPowers]] = firefox_powers.FirefoxPowers

    @property
    def pids(self) -> tuple[int, ...]:
        """The browser's first process."""
        return (self.process.pid,)

    def stop(self, *, kill: bool = False) -> None:
        if not kill:
            with contextlib.suppress(bidi.BidiError, bidi.Late, bidi.Gone):
                self.connection.call("browser.close", time.monotonic() + 5)
        self.connection.close()
        if not kill:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
        _end(self.process, self.profile)


def options() -> webdriver.FirefoxOptions:
    """What is asked of a Firefox that somebody else starts."""
    asked = webdriver.FirefoxOptions()
    asked.enable_bidi = True
    asked.page_load_strategy = "none"
    asked.accept_insecure_certs = False
    asked.add_argument("-headless")
    for name, value in PREFERENCES.items():
        asked.set_preference(name, value)
    return asked


def start(binary: str | None = None) -> LocalFirefox:
    """Starts a browser.

    Raises:
        BrowserError: there is none, or it does not start.
    """
    browser = processes.find(binary, _NAMES, _INSTALL)
    if "firefox" not in processes.version(browser):
        raise BrowserError(f"{browser} is no Firefox: {_INSTALL}")
    return processes.starter.submit(_start, browser).result()


def _start(browser: str) -> LocalFirefox:
    profile = processes.new_profile()
    lines = (
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
        for name, value in PREFERENCES.items()
    )
    (profile / "user.js").write_text("".join(lines), encoding="utf-8")
    command = (
        *processes.guard(),
        *(browser, "--headless", "--no-remote", "--profile", str(profile)),
        *("--remote-debugging-port", "0"),
    )
    try:
        with (profile / "said.txt").open("wb") as said:
            # A group of its own: Ctrl-C is for the program, and all of the group can be killed.
            process = subprocess.Popen(
                command,
                env=processes.environment(profile) | _VARIABLES,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
    except OSError as error:
        shutil.rmtree(profile, ignore_errors=True)
        raise BrowserError(f"{browser} does not start: {error}") from error
    try:
        return LocalFirefox(process, _connect(process, profile), profile)
    except BaseException:
        _end(process, profile)
        raise


def _connect(process: subprocess.Popen[bytes], profile: Path) -> bidi.Connection:
    """Waits until the browser has said where it listens, and opens a session there."""
    until = time.monotonic() + _STARTS
    place = profile / "WebDriverBiDiServer.json"
    while True:
        with contextlib.suppress(OSError, ValueError, KeyError):
            port = int(json.loads(place.read_bytes())["ws_port"])
            break
        if process.poll() is not None or time.monotonic() > until:
            raise BrowserError(f"the browser does not start: {_last_words(process, profile)}")
        time.sleep(0.05)
    prompts = {"unhandledPromptBehavior": {"default": "dismiss"}}
    try:
        connection = bidi.Connection(f"ws://127.0.0.1:{port}/session")
        connection.call("session.new", until, capabilities={"alwaysMatch": prompts})
    except (bidi.BidiError, bidi.Late, bidi.Gone) as error:
        raise BrowserError(f"the browser does not speak WebDriver BiDi: {error}") from error
    return connection


def _last_words(process: subprocess.Popen[bytes], profile: Path) -> str:
    said = (profile / "said.txt").read_text(errors="replace").strip().rpartition("\n")[2]
    if said:
        return said
    code = process.poll()
    return f"it waits for {_STARTS:.0f} s" if code is None else f"it ended with {code}"


def _end(process: subprocess.Popen[bytes], profile: Path) -> None:
    # One that ended by itself has taken its children along, and its number may be another's.
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    processes.remove(profile)
