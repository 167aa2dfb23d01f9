"""Takes neutral parameters out of requests on their way to the server."""

from __future__ import annotations

import logging
import random

from mitmproxy import http

from miqps.addon.counters import Counters
from miqps.addon.loops import Loops
from miqps.addon.navigation import not_rewritten
from miqps.addon.origin import origin
from miqps.normalizer import Normalizer

logger = logging.getLogger(__name__)

ORIGINAL_TARGET = "miqps_original_target"
"""Where a rewritten flow's metadata keep its target as the client sent it (bytes)."""

CLEANED_TARGET = "miqps_cleaned_target"
"""Where a canary's metadata keep the target that it could have had (bytes)."""


class Rewriter:
    """Cuts the neutral parameters of known contexts out of the request target, and nothing else.

    The target is handled as the bytes it came in; no header is added or changed, and the client is
    not told. Another thread may assign a new `normalizer` at any time: each request uses one.
    """

    def __init__(self, counters: Counters) -> None:
        self.normalizer = Normalizer(None)
        self.keep_host_header = False
        self.canary = 0
        """Per cent of what could be rewritten that goes through as it came."""
        self._counters = counters
        self._loops = Loops()

    def request(self, flow: http.HTTPFlow) -> None:
        """Clean the flow's target in place, when it is a page load of a known context."""
        target = flow.request.data.path
        if b"?" not in target or flow.is_replay or not_rewritten(flow.request):
            return
        where = origin(flow, keep_host_header=self.keep_host_header)
        cleaned = self.normalizer.clean_target(*where, target)
        if cleaned == target or self._loops.left_alone(where, target):
            return
        if self.canary and random.random() * 100 < self.canary:
            flow.metadata[CLEANED_TARGET] = cleaned
            self._counters.add("canaries")
            return
        flow.metadata[ORIGINAL_TARGET] = target
        flow.request.data.path = cleaned
        self._counters.add("rewritten")
        if self._counters.first("rewritten", f"{where.host}:{where.port}"):
            logger.info(f"miqps: rewriting {where.host}:{where.port}")

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Watch whether the site sends the client back to the URL as it was."""
        target = flow.metadata.get(ORIGINAL_TARGET)
        if target is None or not flow.response or not 300 <= flow.response.status_code < 400:
            return
        where = origin(flow, keep_host_header=self.keep_host_header)
        client = flow.client_conn.peername[0] if flow.client_conn.peername else ""
        if self._loops.closes(client, where, target):
            self._counters.add("loops")
            logger.warning(f"miqps: {where.host} puts a parameter back, leaving its like alone")
