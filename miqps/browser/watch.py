"""What the browser's events say about one visit: answers, requests under way, mishaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from miqps.browser import console
from miqps.page import Hop

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
    console.EVENT,
)

# Connections that stay open by design, and messages nobody waits for, do not keep a page busy.
_STANDING = frozenset({"WebSocket", "EventSource", "Ping", "CSPViolationReport", "Media"})
_STANDING_FOR = frozenset({"audio", "video", "track", "report"})


_MOST_HOPS = 60
"""Answers of one visit that are kept: twelve documents with redirects before some of them."""


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
    request: str = ""
    """Its number for the browser."""
    size: int = 0
    """Bytes of its body, unpacked."""
    hops: dict[tuple[str, int], Hop] = field(default_factory=dict)
    """All documents that answered in the tab, redirects too, by request and redirect."""
    errors: list[str] = field(default_factory=list)
    """What scripts complained of, the first few."""
    failure: str = ""
    download: bool = False
    dialog: str = ""
    _navigation: str = ""
    _shown: str = ""
    """The last navigation whose document took the place of the one before."""
    _first: dict[str, str] = field(default_factory=dict)
    """The first request of each navigation."""

    def take(self, event: Mapping[str, Any]) -> None:
        """Takes in one event.

        Raises:
            Crashed: it says so.
        """
        what: str = event["method"]
        about: Mapping[str, Any] = event["params"]
        if what == "goog:cdp.Inspector.targetCrashed" or _is_wreck(about):
            raise Crashed
        if what == "browsingContext.userPromptOpened":
            self.dialog = about.get("type") or "unknown"
        elif what.startswith("network."):
            self._traffic(what, about)
        elif what == console.EVENT:
            complaint = console.complaint(about)
            if complaint and len(self.errors) < console.MOST:
                self.errors.append(complaint)
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
            case "browsingContext.navigationCommitted":
                self._shown = about.get("navigation") or ""
            case "browsingContext.navigationFailed":
                # A document that is there already only makes room for the next one.
                if about.get("navigation") == self._navigation != self._shown:
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
                if not _stands(request):
                    self.open[request["request"]] = _host(request)
                if document:
                    self._count(about["navigation"], request["request"])
            case "network.responseStarted":
                if document:
                    self.host = _host(request)
                    if self.request != request["request"]:
                        # A document that sent on to another one is not always said to be complete.
                        self.open.pop(self.request, None)
                    self.request = request["request"]
                    self._answer(about)
            case "network.responseCompleted":
                self.open.pop(request["request"], None)
                if document and request["request"] == self.request:
                    # After a redirect, Chromium at times begins with the status from before it.
                    self._answer(about)
                    self.size = about["response"].get("content", {}).get("size") or 0
            case "network.fetchError":
                self.open.pop(request["request"], None)
                if document and about["navigation"] == self._navigation:
                    self._fail(about)

    def _count(self, navigation: str, request: str) -> None:
        """Counts documents that Firefox loads anew without calling it another navigation."""
        self.documents += self._first.setdefault(navigation, request) != request

    def _fail(self, about: Mapping[str, Any]) -> None:
        why = about.get("errorText") or "no answer"
        if why != "NS_BINDING_ABORTED" or about["navigation"] != self._shown:
            self.failure = why

    def _answer(self, about: Mapping[str, Any]) -> None:
        response: Mapping[str, Any] = about["response"]
        self.status = response["status"]
        key = (self.request, int(about.get("redirectCount") or 0))
        if key in self.hops or len(self.hops) < _MOST_HOPS:
            self.hops[key] = Hop(str(response.get("url") or ""), response["status"])
        self.type = (response.get("mimeType") or "").partition(";")[0].strip()
        self.headers = {
            header["name"].lower(): str(header["value"].get("value", ""))
            for header in response.get("headers", ())
        }


def _stands(request: Mapping[str, Any]) -> bool:
    """Whether a request stays open by design, or nobody waits for its answer."""
    named = request.get("goog:resourceType")
    if named is not None:
        return named in _STANDING
    # Firefox says what for and by whom, and of sockets, event streams and beacons neither.
    purpose = request.get("destination")
    return purpose in _STANDING_FOR or not (purpose or request.get("initiatorType"))


def _is_wreck(about: Mapping[str, Any]) -> bool:
    """Whether the page is the one that Firefox shows where a page's process ended."""
    return str(about.get("url") or "").startswith("about:tabcrashed")


def _host(request: Mapping[str, Any]) -> str:
    return urlsplit(str(request.get("url") or "")).netloc.lower()
