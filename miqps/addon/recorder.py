"""Hands the page loads that pass through the proxy to the writer."""

from __future__ import annotations

from functools import cache

from mitmproxy import http

from miqps.addon.counters import Counters
from miqps.addon.navigation import not_an_api_call, not_recorded
from miqps.addon.origin import origin
from miqps.addon.rewriter import CLEANED_TARGET, ORIGINAL_TARGET
from miqps.addon.writer import Writer
from miqps.loads import Kind, Load
from miqps.settings import RECORDING

_MOST_WAITING = 10_000
"""Pages whose bodies are awaited; far more than a proxy has connections."""


class Recorder:
    """Records top-level navigations that were answered with a page, and, if asked to, API calls.

    What is recorded is the URL as the client asked for it, before anything was removed. A page is
    handed on when its body is there, so that its links can be read; one that is streamed, or breaks
    off, without.
    """

    def __init__(self, writer: Writer, counters: Counters) -> None:
        self._writer = writer
        self._counters = counters
        self.keep_host_header = False
        self.is_on = True
        self.records_api = False
        self._waiting: set[str] = set()

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Record the flow, or count why not."""
        if not self.is_on or flow.error or not flow.live or not flow.response:
            return
        kind: Kind = "page"
        reason = "replay" if flow.is_replay else not_recorded(flow.request, flow.response)
        if reason and self.records_api and self._is_api_call(flow):
            kind, reason = "api", None
        reads = kind == "page" and self._writer.privacy.reads_links
        if not reason and not reads and b"?" not in flow.request.data.path:
            reason = "no query"
        if reason:
            self._counters.add(_counter(reason))
        elif reads and not flow.response.stream:
            if len(self._waiting) >= _MOST_WAITING:
                self._waiting.clear()
            self._waiting.add(flow.id)
        else:
            self._put(flow, kind, b"")

    def response(self, flow: http.HTTPFlow) -> None:
        """Record a page that was waited for."""
        if self._is_waiting(flow):
            body = flow.response.raw_content if flow.response else None
            self._put(flow, "page", (body or b"")[: RECORDING.body_length])

    def error(self, flow: http.HTTPFlow) -> None:
        """Record a page whose body broke off: it was there."""
        if self._is_waiting(flow):
            self._put(flow, "page", b"")

    def _is_api_call(self, flow: http.HTTPFlow) -> bool:
        is_call = flow.response and not not_an_api_call(flow.request, flow.response)
        return bool(is_call) and not flow.is_replay

    def _is_waiting(self, flow: http.HTTPFlow) -> bool:
        if flow.id not in self._waiting:
            return False
        self._waiting.remove(flow.id)
        return True

    def _put(self, flow: http.HTTPFlow, kind: Kind, body: bytes) -> None:
        assert flow.response
        asked, canary = flow.request.data.path, flow.metadata.get(CLEANED_TARGET)
        original = flow.metadata.get(ORIGINAL_TARGET)
        self._writer.put(
            Load(
                origin(flow, keep_host_header=self.keep_host_header),
                asked if original is None else original,
                kind,
                cleaned=canary or (b"" if original is None else asked),
                is_canary=canary is not None,
                status=flow.response.data.status_code,
                no_vary_search=_value(flow.response.headers, b"no-vary-search"),
                cookies_sent=_value(flow.request.headers, b"cookie") != "",
                content_type=_value(flow.response.headers, b"content-type") if body else "",
                encoding=_value(flow.response.headers, b"content-encoding") if body else "",
                body=body,
            )
        )


def _value(headers: http.Headers, wanted: bytes) -> str:
    """The value of a header, "" without one."""
    # Over the raw fields: mitmproxy's own look-up makes texts of all of them first.
    for name, value in headers.fields:
        if len(name) == len(wanted) and name.lower() == wanted:
            return value.decode("latin-1")
    return ""


@cache
def _counter(reason: str) -> str:
    return f"not_recorded/{reason}".replace(" ", "_")
