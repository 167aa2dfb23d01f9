"""The loop on one machine: a real proxy and a real browser around a site on loopback.

The demo and the end-to-end tests run on it. Everything that is started here is ended here.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service

from miqps.browser.chromium_driver import find_browser, find_driver, quiet_flags
from miqps.browser.driver import BrowserError

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
_START_SECONDS = 60.0


class RehearsalError(Exception):
    """Something did not start; the message says what, and what it said last."""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_taken(port: int) -> bool:
    """Whether somebody listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether a condition comes true within so many seconds."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@contextmanager
def serving(
    command: Sequence[str], port: int, log: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that listens on a port; all that it says goes to a file.

    Raises RehearsalError: the port is taken, or the process ends before it listens.
    """
    name = Path(command[0]).name
    if is_taken(port):
        raise RehearsalError(f"port {port} is taken; end what listens there, or name another port")
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
    try:
        wait_for(lambda: is_taken(port) or process.poll() is not None, _START_SECONDS)
        if process.poll() is not None or not is_taken(port):
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            raise RehearsalError(f"{name} did not start: {' '.join(last)} (all of it: {log})")
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def sample_site(port: int, requests: Path) -> list[str]:
    """The command that serves the sample site and logs what reaches it."""
    site = ROOT / "data" / "sample_site"
    return [sys.executable, str(site), "--port", str(port), "--log", str(requests)]


def mitmdump(port: int, db: Path, folder: Path, *options: str) -> list[str]:
    """The command that starts the proxy with the addon.

    Args:
        port: where it listens.
        db: the store.
        folder: where mitmproxy may keep its certificates.
        options: further `NAME=VALUE` options.
    """
    beside = Path(sys.executable).with_name("mitmdump")
    program = str(beside) if beside.exists() else shutil.which("mitmdump") or "mitmdump"
    settings = [f"confdir={folder}", f"miqps_db={db}", "miqps_canary=0", *options]
    return [
        program,
        *("--listen-host", HOST, "--listen-port", str(port)),
        *("-s", str(ROOT / "addons" / "miqps.py")),
        *(word for setting in settings for word in ("--set", setting)),
    ]


@contextmanager
def person(proxy_port: int | None = None) -> Iterator[webdriver.Chrome]:
    """A person's browser, behind the proxy when there is one. Its console is logged.

    Raises BrowserError: no browser, or it does not start.
    """
    options = webdriver.ChromeOptions()
    options.binary_location = find_browser()
    flags = quiet_flags()
    if proxy_port is not None:
        # Chromium goes around every proxy for loopback unless it is told not to.
        through = f"--proxy-server=http://{HOST}:{proxy_port}"
        flags = (*flags, through, "--proxy-bypass-list=<-loopback>")
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        # A driver that is named keeps Selenium from looking for one on the internet.
        service = Service(find_driver(options.binary_location))
        driver = webdriver.Chrome(options=options, service=service)
    except WebDriverException as error:
        said = str(error.msg or error).partition("\n")[0]
        raise BrowserError(f"the browser does not start: {said}") from error
    driver.set_page_load_timeout(60)
    try:
        yield driver
    finally:
        with suppress(WebDriverException):
            driver.quit()


@contextmanager
def browsing(proxy_port: int) -> Iterator[Callable[[str], None]]:
    """A person's browser behind the proxy; gives the function that opens a URL.

    Raises BrowserError: no browser, or it does not start.
    """
    with person(proxy_port) as driver:
        yield driver.get
