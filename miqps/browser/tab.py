"""One tab in a profile of its own: commands to it, waiting for it, and its end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from miqps.browser import bidi
from miqps.browser.watch import Watch


class Tab:
    """From `open` to `close`; nothing of it is left to the next one.

    Args:
        connection: the browser's.
        until: the `time.monotonic()` at which every wait ends.
        answer: seconds one command may take.
    """

    def __init__(self, connection: bidi.Connection, until: float, answer: float) -> None:
        self._connection = connection
        self._until = until
        self._answer = answer
        self._profile = ""
        self._session = ""
        self.watch = Watch()

    def open(self, preload: str, overrides: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Makes the profile and the tab, and sets what must stand before the first byte.

        Args:
            preload: a function to run before any script of any document.
            overrides: commands of Chromium's own protocol.
        """
        self._connection.forget()
        self._profile = self.call("browser.createUserContext")["userContext"]
        made = self.call("browsingContext.create", type="tab", userContext=self._profile)
        context: str = made["context"]
        self.watch.context = context
        script = self._connection.send(
            "script.addPreloadScript", functionDeclaration=preload, contexts=[context]
        )
        self._session = self.call("goog:cdp.getSession", context=context)["session"]
        # All at once: six commands, one wait.
        commands = [self._send_cdp(method, params) for method, params in overrides]
        for command in (script, *commands):
            self._wait(command, self._soon())

    def close(self) -> None:
        """Throws the profile away, with all that the visit left in it."""
        if self._profile:
            self.call("browser.removeUserContext", userContext=self._profile)

    def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Sends a WebDriver BiDi command and waits for its answer."""
        return self._wait(self._connection.send(method, **params), self._soon())

    def cdp(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Sends a command of Chromium's own protocol and waits for its answer."""
        answer = self._wait(self._send_cdp(method, params), self._soon())
        result: dict[str, Any] = answer.get("result") or {}
        return result

    def run(self, function: str, *numbers: int, world: str | None = None, frame: str = "") -> Any:
        """Calls a JavaScript function, waits for its promise, gives its plain value.

        Args:
            function: its source.
            numbers: its arguments.
            world: the name of a world apart from the page's scripts; None is the page's own.
            frame: one of `frames`; "" is the page itself.
        """
        target = {"context": frame or self.watch.context} | ({"sandbox": world} if world else {})
        answer = self.call(
            "script.callFunction",
            functionDeclaration=function,
            arguments=[{"type": "number", "value": number} for number in numbers],
            target=target,
            awaitPromise=True,
        )
        if answer.get("type") != "success":
            raise bidi.BidiError(str(answer.get("exceptionDetails", {}).get("text", "failed")))
        return answer["result"].get("value")

    def frames(self) -> list[str]:
        """All frames inside of the page, those of other sites too."""
        tree = self.call("browsingContext.getTree", root=self.watch.context)["contexts"]
        found: list[str] = []
        todo = list(tree[0].get("children") or ())
        while todo:
            frame = todo.pop()
            found.append(frame["context"])
            todo += frame.get("children") or ()
        return found

    def go(self, url: str, until: float) -> None:
        """Starts to load a URL; what becomes of it is in `watch`."""
        until = min(until, self._until)
        command = self._connection.send(
            "browsingContext.navigate", context=self.watch.context, url=url, wait="none"
        )
        try:
            self._wait(command, until)
        except bidi.BidiError as error:
            self.watch.failure = self.watch.failure or str(error)

    def pump(self, until: float) -> bool:
        """Takes in what the browser says next; False when it said nothing before `until`."""
        came = self._connection.pump(min(until, self._until))
        self._take()
        return came

    def _send_cdp(self, method: str, params: Mapping[str, Any]) -> int:
        return self._connection.send(
            "goog:cdp.sendCommand", method=method, params=params, session=self._session
        )

    def _wait(self, command: int, until: float) -> dict[str, Any]:
        """The answer to a command; a page that crashes meanwhile does not keep anybody waiting."""
        while not self._connection.answered(command):
            if not self.pump(until):
                raise bidi.Late
        return self._connection.result(command, until)

    def _soon(self) -> float:
        return min(self._until, time.monotonic() + self._answer)

    def _take(self) -> None:
        events = self._connection.events
        while events:
            self.watch.take(events.popleft())
