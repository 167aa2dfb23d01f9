"""Starts and ends one Chromium with its driver, so that none is ever left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.driver_finder import DriverFinder
from selenium.webdriver.remote.remote_connection import RemoteConnection
from urllib3.exceptions import HTTPError

from miqps.browser import bidi

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MAC = (
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
_FLAGS = (
    # A pipe, not a port: when the driver dies the browser sees the pipe end, and ends too.
    "--remote-debugging-pipe",
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
_PREFIX = "miqps-browser-"

# The kernel ends a driver when the *thread* that started it ends. This one never does.
_starter = ThreadPoolExecutor(1, thread_name_prefix="miqps-starter")


class BrowserError(Exception):
    """No browser, or the wrong driver: one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Driver:
    """A running browser."""

    selenium: webdriver.Chrome
    connection: bidi.Connection
    version: str
    pids: tuple[int, ...]
    """The driver's and the browser's process."""
    profile: Path


def find_browser(binary: str | None = None) -> str:
    """The browser's path.

    Args:
        binary: a path or name to use instead of what MIQPS_BROWSER or the system offers.

    Raises:
        BrowserError: there is none.
    """
    named = binary or os.environ.get("MIQPS_BROWSER")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserError(f"no browser at {named}: {_INSTALL}")
        return found
    for name in (*_NAMES, *_MAC):
        found = shutil.which(name)
        if found is not None:
            return found
    raise BrowserError(f"no browser found: {_INSTALL}")


@cache
def _check(binary: str) -> None:
    """Makes sure that this is a browser: the driver would wait a minute for one that is not."""
    try:
        said = subprocess.run(
            [binary, "--version"], capture_output=True, timeout=20, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BrowserError(f"{binary} cannot be run ({error}): {_INSTALL}") from error
    if b"chrom" not in said.lower():
        raise BrowserError(f"{binary} is no Chrome or Chromium: {_INSTALL}")


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


class _Service(Service):
    """Chromedriver, killed together with the process that started it where the kernel can."""

    def command_line_args(self) -> list[str]:
        arguments: list[str] = super().command_line_args()
        return [*self.before, *arguments]

    before: tuple[str, ...] = ()


def _service(driver: str) -> _Service:
    # A group of its own: Ctrl-C is for the program, which then closes the browser in order.
    environment = {**os.environ, "TZ": "UTC", "LANGUAGE": "en_US", "LC_ALL": "C.UTF-8"}
    setpriv = shutil.which("setpriv") if sys.platform.startswith("linux") else None
    service = _Service(
        executable_path=setpriv or driver,
        env=environment,
        popen_kw={"start_new_session": True},
    )
    if setpriv is not None:
        service.before = ("--pdeathsig", "KILL", driver)
    return service


def quiet_flags() -> tuple[str, ...]:
    """The flags of any browser here: no window, no calls home; root has no sandbox."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return (*_QUIET, "--no-sandbox") if is_root else _QUIET


def start(binary: str | None = None) -> Driver:
    """Starts a browser.

    Raises:
        BrowserError: there is none, or it does not start.
    """
    browser = find_browser(binary)
    _check(browser)
    _sweep()
    return _starter.submit(_start, browser).result()


def _start(browser: str) -> Driver:
    profile = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.enable_bidi = True
    options.page_load_strategy = "none"
    with warnings.catch_warnings():
        # The driver is on this machine, whatever HTTP_PROXY says. Selenium deprecates this call,
        # but its Chrome class takes no other word for it.
        warnings.simplefilter("ignore", DeprecationWarning)
        options.ignore_local_proxy_environment_variables()
    for flag in (*quiet_flags(), *_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    try:
        path = find_driver(browser) or DriverFinder(Service(), options).get_driver_path()
        service = _service(path)
        selenium = webdriver.Chrome(options=options, service=service)
    except (WebDriverException, HTTPError, OSError) as error:
        shutil.rmtree(profile, ignore_errors=True)
        raise BrowserError(_why(error)) from error
    except BaseException:
        shutil.rmtree(profile, ignore_errors=True)
        raise
    capabilities: dict[str, Any] = selenium.capabilities
    pids = (service.process.pid, int(capabilities.get("goog:processID") or 0))
    try:
        connection = bidi.Connection(str(capabilities.get("webSocketUrl")))
    except bidi.Gone as error:
        selenium.quit()
        shutil.rmtree(profile, ignore_errors=True)
        raise BrowserError(f"the browser does not speak WebDriver BiDi: {error}") from error
    version = str(capabilities.get("browserVersion") or "")
    return Driver(selenium, connection, version, tuple(p for p in pids if p), profile)


def _why(error: Exception) -> str:
    line = str(getattr(error, "msg", None) or error).strip().partition("\n")[0]
    line = line.replace(shutil.which("setpriv") or "setpriv", "chromedriver")
    if "only supports Chrome" in line:
        return f"browser and driver do not fit: {line}: {_INSTALL}"
    if "obtain driver" in line or "locate" in line:
        return f"no driver for the browser: {_INSTALL}"
    return f"the browser does not start: {line}"


def stop(driver: Driver, *, kill: bool = False) -> None:
    """Ends a browser and everything it started; never raises for a browser that is gone.

    Args:
        driver: what `start` gave.
        kill: do not ask it first, because it does not answer.
    """
    if not kill:
        with contextlib.suppress(bidi.BidiError, bidi.Late, bidi.Gone):
            driver.connection.call("browser.close", time.monotonic() + 5)
    driver.connection.close()
    _kill(driver)
    # Not `quit`: it asks a driver that may be gone, several times, and talks about it on stderr.
    service = driver.selenium.service
    with contextlib.suppress(subprocess.TimeoutExpired):
        service.process.wait(10)
    service.stop()
    if isinstance(driver.selenium.command_executor, RemoteConnection):
        driver.selenium.command_executor.close()  # type: ignore[no-untyped-call]
    _remove(driver.profile)


def _remove(profile: Path) -> None:
    """Removes a profile, against processes that write into it while they end."""
    for _ in range(40):
        shutil.rmtree(profile, ignore_errors=True)
        time.sleep(0.05)
        if not profile.exists():
            return


def _kill(driver: Driver) -> None:
    for pid in driver.pids:
        if _names(pid, driver):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _names(pid: int, driver: Driver) -> bool:
    """Whether the process is still the one that was started; numbers are given out again."""
    if pid == driver.selenium.service.process.pid:
        return driver.selenium.service.process.poll() is None
    command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        line = subprocess.run(
            command, capture_output=True, text=True, timeout=5, check=False
        ).stdout
        return str(driver.profile) in line
    return False


def _sweep() -> None:
    """Removes the profiles of browsers whose owner was killed."""
    for profile in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = profile.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(profile, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
