"""Starts and ends one Chromium with its driver, so that none is ever left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.driver_finder import DriverFinder
from selenium.webdriver.remote.remote_connection import RemoteConnection
from urllib3.exceptions import HTTPError

from miqps.browser import bidi, chromium_powers, processes
from miqps.browser.driver import BrowserError

_NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_INSTALL = (
    "install Chromium and its driver (Debian: apt-get install chromium chromium-driver; "
    "macOS: brew install --cask chromium chromedriver) or name it in MIQPS_BROWSER"
)
_QUIET = (
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_ALIKE = (
    "--no-default-browser-check",
    "--disable-dev-shm-usage",
    "--disable-search-engine-choice-screen",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--disable-lcd-text",
    # Pictures are decoded before they are drawn, not when there is time.
    "--disable-checker-imaging",
    # GIFs show their first picture.
    "--blink-settings=imageAnimationPolicy=2",
    "--autoplay-policy=user-gesture-required",
    "--lang=en-US",
    "--accept-lang=en-US",
    "--window-size=1280,1024",
)
# A pipe, not a port: when the driver dies the browser sees the pipe end, and ends too.
_PIPE = "--remote-debugging-pipe"


@dataclass(frozen=True, slots=True)
class LocalChromium:
    """See `driver.Driver`."""

    selenium: webdriver.Chrome
    connection: bidi.Connection
    pids: tuple[int, ...]
    """The driver's and the browser's process."""
    profile: Path
    events: ClassVar[tuple[str, ...]] = chromium_powers.EVENTS
    powers: ClassVar[type[chromium_powers.ChromiumPowers]] = chromium_powers.ChromiumPowers

    def stop(self, *, kill: bool = False) -> None:
        if not kill:
            with contextlib.suppress(bidi.BidiError, bidi.Late, bidi.Gone):
                self.connection.call("browser.close", time.monotonic() + 5)
        self.connection.close()
        for pid in self.pids:
            if self._is(pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        # Not `quit`: it asks a driver that may be gone, several times, and talks about it on
        # stderr.
        service = self.selenium.service
        with contextlib.suppress(subprocess.TimeoutExpired):
            service.process.wait(10)
        service.stop()
        if isinstance(self.selenium.command_executor, RemoteConnection):
            self.selenium.command_executor.close()  # type: ignore[no-untyped-call]
        processes.remove(self.profile)

    def _is(self, pid: int) -> bool:
        """Whether the process is still the one that was started; numbers are given out again."""
        if pid == self.selenium.service.process.pid:
            return self.selenium.service.process.poll() is None
        command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            line = subprocess.run(
                command, capture_output=True, text=True, timeout=5, check=False
            ).stdout
            return str(self.profile) in line
        return False


class _Service(Service):
    """Chromedriver, killed together with the process that started it where the kernel can."""

    def command_line_args(self) -> list[str]:
        arguments: list[str] = super().command_line_args()
        return [*self.before, *arguments]

    before: tuple[str, ...] = ()


def find_browser(binary: str | None = None) -> str:
    """The browser's path.

    Args:
        binary: a path or name to use instead of what MIQPS_BROWSER or the system offers.

    Raises:
        BrowserError: there is none.
    """
    return processes.find(binary, _NAMES, _INSTALL)


def find_driver(binary: str) -> str | None:
    """The driver's path; None leaves it to Selenium Manager."""
    named = os.environ.get("MIQPS_DRIVER")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserError(f"no driver at {named}: {_INSTALL} (the driver in MIQPS_DRIVER)")
        return found
    beside = Path(binary).with_name("chromedriver")
    return shutil.which("chromedriver") or shutil.which(beside)


def quiet_flags() -> tuple[str, ...]:
    """The flags of any browser here: no window, no calls home; root has no sandbox."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return (*_QUIET, "--no-sandbox") if is_root else _QUIET


def options() -> webdriver.ChromeOptions:
    """What is asked of a Chromium wherever it runs."""
    asked = webdriver.ChromeOptions()
    asked.enable_bidi = True
    asked.page_load_strategy = "none"
    for flag in (*quiet_flags(), *_ALIKE):
        asked.add_argument(flag)
    return asked


def start(binary: str | None = None) -> LocalChromium:
    """Starts a browser.

    Raises:
        BrowserError: there is none, or it does not start.
    """
    browser = find_browser(binary)
    # The driver would wait a minute for a program that is no browser.
    if "chrom" not in processes.version(browser):
        raise BrowserError(f"{browser} is no Chrome or Chromium: {_INSTALL}")
    return processes.starter.submit(_start, browser).result()


def _start(browser: str) -> LocalChromium:
    profile = processes.new_profile()
    try:
        selenium = _drive(browser, profile)
    except (WebDriverException, HTTPError, OSError) as error:
        shutil.rmtree(profile, ignore_errors=True)
        raise BrowserError(_why(error)) from error
    except BaseException:
        shutil.rmtree(profile, ignore_errors=True)
        raise
    capabilities: dict[str, Any] = selenium.capabilities
    pids = (selenium.service.process.pid, int(capabilities.get("goog:processID") or 0))
    try:
        connection = bidi.Connection(str(capabilities.get("webSocketUrl")))
    except bidi.Gone as error:
        selenium.quit()
        shutil.rmtree(profile, ignore_errors=True)
        raise BrowserError(f"the browser does not speak WebDriver BiDi: {error}") from error
    return LocalChromium(selenium, connection, tuple(p for p in pids if p), profile)


def _drive(browser: str, profile: Path) -> webdriver.Chrome:
    asked = options()
    asked.binary_location = browser
    with warnings.catch_warnings():
        # The driver is on this machine, whatever HTTP_PROXY says. Selenium deprecates this call,
        # but its Chrome class takes no other word for it.
        warnings.simplefilter("ignore", DeprecationWarning)
        asked.ignore_local_proxy_environment_variables()
    for flag in (_PIPE, f"--user-data-dir={profile}"):
        asked.add_argument(flag)
    path = find_driver(browser) or DriverFinder(Service(), asked).get_driver_path()
    guard = processes.guard()
    # A group of its own: Ctrl-C is for the program, which then closes the browser in order.
    service = _Service(
        executable_path=guard[0] if guard else path,
        env=processes.environment(profile),
        popen_kw={"start_new_session": True},
    )
    if guard:
        service.before = (*guard[1:], path)
    return webdriver.Chrome(options=asked, service=service)


def _why(error: Exception) -> str:
    line = str(getattr(error, "msg", None) or error).strip().partition("\n")[0]
    line = line.replace(shutil.which("setpriv") or "setpriv", "chromedriver")
    if "only supports Chrome" in line:
        return f"browser and driver do not fit: {line}: {_INSTALL}"
    if "obtain driver" in line or "locate" in line:
        return f"no driver for the browser: {_INSTALL}"
    return f"the browser does not start: {line}"
