"""Hands the page loads that pass through the proxy to the writer."""

from __future__ import annotations

from mitmproxy import http

from miqps.addon.counters import Counters
from miqps.addon.navigation import not_recorded
from miqps.addon.origin import origin
from miqps.addon.rewriter import ORIGINAL_TARGET
from miqps.addon.writer import Seen, Writer


class Recorder:
    """Records top-level GET navigations that were answered with a page.

    As soon as the answer's headers are there, because bodies are not needed and may be streamed.
    What is recorded is the URL as the client asked for it, before anything was removed.
    """

    def __init__(self, writer: Writer, counters: Counters) -> None:
        self._writer = writer
        self._counters = counters
        self.keep_host_header = False

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Record the flow, or count why not."""
        if flow.error or not flow.live or not flow.response:
            return
        reason = "replay" if flow.is_replay else not_recorded(flow.request, flow.response)
        if reason:
            self._counters.add(f"not_recorded/{reason}".replace(" ", "_"))
            return
        target = flow.metadata.get(ORIGINAL_TARGET, flow.request.data.path)
        self._writer.put(Seen(origin(flow, keep_host_header=self.keep_host_header), target))
