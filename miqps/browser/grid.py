"""Browsers that run elsewhere: behind a Selenium Grid, or any other remote WebDriver."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.command import Command
from selenium.webdriver.remote.remote_connection import RemoteConnection
from urllib3 import make_headers
from urllib3.exceptions import HTTPError, ReadTimeoutError

from miqps.browser import (
    bidi,
    chromium_driver,
    chromium_powers,
    firefox_driver,
    firefox_powers,
)
from miqps.browser.driver import BrowserError, Kind
from miqps.browser.powers import Powers
from miqps.browser.tab import Tab

_NEW = 90.0
"""Seconds a grid may take to give a browser; one that is full lets people wait in a queue."""
_END = 15.0
_WAYS: dict[Kind, tuple[tuple[str, ...], Callable[[Tab], Powers]]] = {
    "chromium": (chromium_powers.EVENTS, chromium_powers.ChromiumPowers),
    "firefox": (firefox_powers.EVENTS, firefox_powers.FirefoxPowers),
}


@dataclass(frozen=True, slots=True)
class Remote:
    """See `driver.Driver`. No process of it is here: its session is all that can be ended."""

    grid: str = field(repr=False)
    session: str
    connection: bidi.Connection
    events: tuple[str, ...]
    powers: Callable[[Tab], Powers]

    def stop(self, *, kill: bool = False) -> None:
        self.connection.close()
        _end(self.grid, self.session)


def start(url: str, kind: Kind) -> Remote:
    """Asks a remote WebDriver for a browser.

    Args:
        url: where it listens, "http://grid.example:4444"; may carry a name and password.
        kind: which browser.

    Raises:
        BrowserError: it cannot be reached, has none free, or gives one that cannot be used.
    """
    check(url)
    asked = chromium_driver.options() if kind == "chromium" else firefox_driver.options()
    shown = public(url)
    executor = _executor(url, _NEW)
    try:
        selenium = webdriver.Remote(command_executor=executor, options=asked)
    except Exception as error:  # selenium falls over what no WebDriver would answer
        raise BrowserError(f"no {kind} from the grid at {shown}: {_why(error)}") from error
    finally:
        executor.close()  # type: ignore[no-untyped-call]
    session = str(selenium.session_id)
    capabilities: dict[str, Any] = selenium.capabilities
    place = str(capabilities.get("webSocketUrl") or "")
    try:
        connection = bidi.Connection(place, headers=_headers(url), remote=True)
    except bidi.Gone as error:
        _end(url, session)
        raise BrowserError(
            f"the grid at {shown} gave a {kind} that cannot be spoken to at "
            f"{place or 'any address'}: {error}"
        ) from error
    return Remote(url, session, connection, *_WAYS[kind])


def check(url: str) -> None:
    """Raises BrowserError when a URL cannot be a grid's."""
    try:
        place = urlsplit(url)
        right = place.scheme in ("http", "https") and bool(place.hostname) and place.port != 0
    except ValueError:
        right = False
    if not right:
        raise BrowserError(f"{url!r} is no address of a grid; http://localhost:4444 is one")


def public(url: str) -> str:
    """A URL without the name and password in it."""
    place = urlsplit(url)
    return place._replace(netloc=place.netloc.rpartition("@")[2]).geturl()


def _why(error: Exception) -> str:
    if isinstance(error, ReadTimeoutError):
        return f"none within {_NEW:.0f} s, it may be full"
    line = str(getattr(error, "msg", None) or error).strip().partition("\n")[0]
    if not isinstance(error, WebDriverException | HTTPError | OSError) or line.startswith("<"):
        return "it does not answer as a WebDriver does"
    line = re.sub(r"^HTTPS?Connection(Pool)?\(.*?\): ", "", line)
    return line.partition("; For documentation")[0]


def _executor(url: str, seconds: float) -> RemoteConnection:
    # One try: selenium's three take three times as long, and each is told on stderr.
    pool = {"retries": False, "timeout": seconds}
    name, password = _credentials(url) or (None, None)
    return RemoteConnection(
        client_config=ClientConfig(
            remote_server_addr=public(url),
            timeout=int(seconds),
            username=name,
            password=password,
            init_args_for_pool_manager={"init_args_for_pool_manager": pool},
        )
    )


def _credentials(url: str) -> tuple[str, str] | None:
    place = urlsplit(url)
    if place.username is None:
        return None
    return unquote(place.username), unquote(place.password or "")


def _headers(url: str) -> dict[str, str]:
    """What a grid behind a password wants to be told."""
    pair = _credentials(url)
    return dict(make_headers(basic_auth=":".join(pair))) if pair else {}


def _end(url: str, session: str) -> None:
    """Gives a session back; one that cannot be reached ends by the grid's own time-out."""
    executor = _executor(url, _END)
    with contextlib.suppress(WebDriverException, HTTPError, OSError):
        executor.execute(  # type: ignore[no-untyped-call]
            Command.QUIT, {"sessionId": session}
        )
    executor.close()  # type: ignore[no-untyped-call]
