"""One WebDriver BiDi connection in which every wait has an end.

Selenium's own BiDi client looks for answers ten times a second and has one time-out for all
commands; a render is fifteen commands, and some pages never answer. This one answers at once, gives
the events in their order, and raises as soon as the time is up.
"""

from __future__ import annotations

import json
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import websocket


class BidiError(Exception):
    """The browser refused a command."""


class Late(Exception):  # noqa: N818 - it names what happened
    """The browser did not answer in time."""


class Gone(Exception):  # noqa: N818
    """The browser is not there any more."""


class Connection:
    """Commands out, answers and events in; for one thread.

    Args:
        url: the session's webSocketUrl.
        timeout: seconds to wait for the connection itself.
        headers: what else the other side wants to be told.
        remote: whether the browser may be on another machine, behind a proxy and TLS.
    """

    def __init__(
        self,
        url: str,
        timeout: float = 10.0,
        *,
        headers: Mapping[str, str] | None = None,
        remote: bool = False,
    ) -> None:
        place = urlsplit(url)
        try:
            plain = None
            if not remote:
                # A socket of its own, because HTTP_PROXY is not for this connection.
                plain = socket.create_connection((place.hostname, place.port), timeout)
            # Chromedriver refuses connections that carry an Origin.
            # Checking a picture's base64 for UTF-8, in Python, takes longer than making it.
            self._socket = websocket.create_connection(
                url,
                timeout=timeout,
                suppress_origin=True,
                skip_utf8_validation=True,
                socket=plain,
                header=dict(headers or {}),
            )
        except (OSError, ValueError, websocket.WebSocketException) as error:
            raise Gone(str(error)) from error
        self._last = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self.events: deque[dict[str, Any]] = deque()
        """Events not yet taken by anybody, oldest first."""

    def send(self, method: str, /, **params: Any) -> int:
        """Sends a command without waiting.

        Returns:
            its number, for `result`.
        """
        self._last += 1
        message = json.dumps({"id": self._last, "method": method, "params": params})
        try:
            self._socket.send(message)
        except (OSError, websocket.WebSocketException) as error:
            raise Gone(str(error)) from error
        return self._last

    def answered(self, number: int) -> bool:
        """Whether the answer to a command is there."""
        return number in self._answers

    def result(self, number: int, until: float) -> dict[str, Any]:
        """The answer to a command.

        Args:
            number: what `send` gave.
            until: the `time.monotonic()` at which waiting ends.
        """
        while not self.answered(number):
            if not self.pump(until):
                raise Late
        answer = self._answers.pop(number)
        if answer.get("type") == "error":
            raise BidiError(answer.get("message") or answer.get("error") or "refused")
        result: dict[str, Any] = answer.get("result") or {}
        return result

    def call(self, method: str, until: float, /, **params: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        return self.result(self.send(method, **params), until)

    def pump(self, until: float) -> bool:
        """Takes in one message; False when none came before `until`."""
        wait = max(0.0, until - time.monotonic())
        try:
            if not self._here() and not select.select([self._socket], [], [], wait)[0]:
                return False
            text = self._socket.recv()
        except websocket.WebSocketTimeoutException as error:
            raise Late from error
        except (OSError, ValueError, websocket.WebSocketException) as error:
            raise Gone(str(error)) from error
        if not text:
            raise Gone("connection closed")
        message = json.loads(text)
        if isinstance(message.get("id"), int):
            self._answers[message["id"]] = message
        elif message.get("type") == "event":
            self.events.append(message)
        return True

    def _here(self) -> bool:
        """Whether TLS has taken in more than was asked for: `select` does not see that."""
        inner = self._socket.sock
        return isinstance(inner, ssl.SSLSocket) and inner.pending() > 0

    def forget(self) -> None:
        """Drops events and answers nobody waits for."""
        self.events.clear()
        self._answers.clear()

    def close(self) -> None:
        """Closes the connection without waiting for the other side."""
        self._socket.close(timeout=0)
