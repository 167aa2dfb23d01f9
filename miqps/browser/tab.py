"""One tab in a profile of its own: commands to it, waiting for it, and its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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
        self.profile = ""
        """Its user context."""
        self.watch = Watch()
        self._sent = ""
        self._intercept = ""

    @property
    def context(self) -> str:
        """Its browsing context."""
        return self.watch.context

    def open(self, preload: str, prepare: Callable[[], list[int]]) -> None:
        """Makes the profile and the tab, and sets what must stand before the first byte.

        Args:
            preload: a function to run before any script of any document.
            prepare: sends what else must stand, gives the commands to wait for.
        """
        self._connection.forget()
        self.profile = self.call("browser.createUserContext")["userContext"]
        made = self.call("browsingContext.create", type="tab", userContext=self.profile)
        self.watch.context = made["context"]
        script = self.send(
            "script.addPreloadScript", functionDeclaration=preload, contexts=[self.context]
        )
        for command in (script, *prepare()):
            self.wait(command)

    def close(self) -> None:
        """Throws the profile away, with all that the visit left in it."""
        if self.profile:
            self.call("browser.removeUserContext", userContext=self.profile)

    def send(self, method: str, /, **params: Any) -> int:
        """Sends a WebDriver BiDi command without waiting; gives its number, for `wait`."""
        return self._connection.send(method, **params)

    def wait(self, command: int) -> dict[str, Any]:
        """The answer to a command."""
        return self._wait(command, self._soon())

    def call(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Sends a WebDriver BiDi command and waits for its answer."""
        return self.wait(self.send(method, **params))

    def run(self, function: str, *numbers: int, world: str | None = None, frame: str = "") -> Any:
        """Calls a JavaScript function, waits for its promise, gives its plain value.

        Args:
            function: its source.
            numbers: its arguments.
            world: the name of a world apart from the page's scripts; None is the page's own.
            frame: one of `frames`; "" is the page itself.
        """
        target = {"context": frame or self.context} | ({"sandbox": world} if world else {})
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
        tree = self.call("browsingContext.getTree", root=self.context)["contexts"]
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
            "browsingContext.navigate", context=self.context, url=url, wait="none"
        )
        try:
            self._wait(command, until)
        except bidi.BidiError as error:
            self.watch.failure = self.watch.failure or str(error).removeprefix("Error: ")

    def send_instead(self, url: str) -> None:
        """The next document is asked for at another URL, below the page: it does not know of it.

        The address, and what the page and its scripts ask for, stay as they are.
        """
        self._sent = url.partition("#")[0]
        here = [self.context]
        made = self.call("network.addIntercept", phases=["beforeRequestSent"], contexts=here)
        self._intercept = made["intercept"]

    def pump(self, until: float) -> bool:
        """Takes in what the browser says next; False when it said nothing before `until`."""
        came = self._connection.pump(min(until, self._until))
        self._take()
        return came

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
            event = events.popleft()
            if event["method"] == "network.authRequired" and event["params"].get("isBlocked"):
                # Nobody is there to answer: the page that comes without a password is shown.
                request = event["params"]["request"]["request"]
                self.send("network.continueWithAuth", request=request, action="cancel")
            if event["method"] == "network.beforeRequestSent" and event["params"].get("isBlocked"):
                self._let_go(event["params"])
            self.watch.take(event)

    def _let_go(self, about: Mapping[str, Any]) -> None:
        """Lets a request that was held back go on; the first document's to another URL."""
        request = about["request"]["request"]
        if not self._sent or not about.get("navigation"):
            self.send("network.continueRequest", request=request)
            return
        self.send("network.continueRequest", request=request, url=self._sent)
        self.send("network.removeIntercept", intercept=self._intercept)
        self._sent = ""
