"""What the browser's events say about one visit: answers, requests under way, mishaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

EVENTS = (
    "browsingContext.load",
    "browsingContext.navigationStarted",
    "browsingContext.navigationFailed",
    "browsingContext.downloadWillBegin",
    "browsingContext.userPromptOpened",
    "network.beforeRequestSent",
    "network.responseStarted",
    "network.responseCompleted",
    "network.fetchError",
    "goog:cdp.Inspector.targetCrashed",
)

# Connections that stay open by design, and messages nobody waits for, do not keep a page busy.
_STANDING = frozenset({"WebSocket", "EventSource", "Ping", "CSPViolationReport", "Media"})


class Crashed(Exception):  # noqa: N818 - it names what happened
    """The page took its process down."""


@dataclass(slots=True)
class Watch:
    """Counts and last values; `take` brings it up to date."""

    context: str = ""
    """The visit's tab. What other tabs do counts as traffic only."""
    open: dict[str, str] = field(default_factory=dict)
    """Requests under way, with the host they went to."""
    host: str = ""
    """Where the last document came from."""
    traffic: int = 0
    """Requests that began or ended."""
    documents: int = 0
    """Navigations that began in the tab."""
    loads: int = 0
    status: int | None = None
    type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the last document that answered; names in lower case."""
    failure: str = ""
    download: bool = False
    dialog: str = ""
    _navigation: str = ""

    def take(self, event: Mapping[str, Any]) -> None:
        """Takes in one event.

        Raises:
            Crashed: it says so.
        """
        what: str = event["method"]
        about: Mapping[str, Any] = event["params"]
        if what == "goog:cdp.Inspector.targetCrashed":
            raise Crashed
        if what == "browsingContext.userPromptOpened":
            self.dialog = about.get("type") or "unknown"
        elif what.startswith("network."):
            self._traffic(what, about)
        elif about.get("context") == self.context:
            self._navigate(what, about)

    @property
    def ended(self) -> bool:
        """Whether the tab shows no page of its own, and will not."""
        return bool(self.failure or self.download or self.dialog)

    def waits_for_its_own(self) -> bool:
        """Whether a request to the document's own host is under way: it may bring content."""
        return self.host in self.open.values()

    def _navigate(self, what: str, about: Mapping[str, Any]) -> None:
        match what:
            case "browsingContext.navigationStarted":
                self.documents += 1
                self.failure = ""
                self._navigation = about.get("navigation") or ""
            case "browsingContext.navigationFailed":
                if about.get("navigation") == self._navigation:
                    self.failure = self.failure or about.get("message") or "navigation failed"
            case "browsingContext.downloadWillBegin":
                self.download = True
            case "browsingContext.load":
                self.loads += 1

    def _traffic(self, what: str, about: Mapping[str, Any]) -> None:
        request: Mapping[str, Any] = about["request"]
        self.traffic += what != "network.responseStarted"
        document = about.get("navigation") and about.get("context") == self.context
        match what:
            case "network.beforeRequestSent":
                if request.get("goog:resourceType") not in _STANDING:
                    self.open[request["request"]] = _host(request)
            case "network.responseStarted":
                if document:
                    self.host = _host(request)
                    self._answer(about["response"])
            case "network.responseCompleted":
                self.open.pop(request["request"], None)
            case "network.fetchError":
                self.open.pop(request["request"], None)
                if document and about["navigation"] == self._navigation:
                    self.failure = about.get("errorText") or "no answer"

    def _answer(self, response: Mapping[str, Any]) -> None:
        self.status = response["status"]
        self.type = response.get("mimeType") or ""
        self.headers = {
            header["name"].lower(): str(header["value"].get("value", ""))
            for header in response.get("headers", ())
        }


def _host(request: Mapping[str, Any]) -> str:
    return urlsplit(str(request.get("url") or "")).netloc.lower()
