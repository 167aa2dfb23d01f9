"""Takes neutral parameters out of requests on their way to the server, or shows what would go."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

from mitmproxy import http

from miqps import query, urls
from miqps.addon.counters import Counters
from miqps.addon.loops import Loops
from miqps.addon.navigation import not_a_read, not_rewritten
from miqps.addon.options import Mode, Scope
from miqps.addon.origin import origin
from miqps.ledger import Ledger
from miqps.normalizer import Normalizer
from miqps.origin import Origin

logger = logging.getLogger(__name__)

ORIGINAL_TARGET = "miqps_original_target"
"""Where a rewritten flow's metadata keep its target as the client sent it (bytes)."""

CLEANED_TARGET = "miqps_cleaned_target"
"""Where a flow that was left as it came keeps the target that it could have had (bytes)."""

_MARKS = {"rewrite": ":broom:", "redirect": ":broom:", "dry-run": ":eyes:"}


class Rewriter:
    """Cuts the neutral parameters of known contexts out of the request target, and nothing else.

    The target is handled as the bytes it came in; no header is added or changed, and but for
    redirects the client is not told. What happens is in the flow's comment and mark. Another thread
    may assign new normalizers at any time: each request uses one.

    Args:
        counters: what is counted.
        ledger: what is cleaned is written down there.
        loop: is told of a pattern that goes in circles: its origin and a target.
    """

    def __init__(
        self,
        counters: Counters,
        ledger: Ledger | None = None,
        loop: Callable[[Origin, bytes], None] = lambda *_: None,
    ) -> None:
        self.mode: Mode = "rewrite"
        self.scope: Scope = "documents"
        self.normalizer = Normalizer(None)
        """For requests whose pages keep their address."""
        self.fetching = Normalizer(None)
        """For redirects: the address becomes another one."""
        self.keep_host_header = False
        self.canary = 0
        """Per cent of what could be rewritten that goes through as it came."""
        self.paused: frozenset[str] = frozenset()
        """Hosts and sites that are left alone; "*": all."""
        self.circling: frozenset[tuple[str, tuple[str, ...]]] = frozenset()
        """Site and pattern of what was found to go in circles before."""
        self._counters = counters
        self._ledger = ledger or Ledger()
        self._loop = loop
        self._loops = Loops()

    def request(self, flow: http.HTTPFlow) -> None:
        """Clean the flow's target in place, or redirect, when it is in scope and known."""
        target = flow.request.data.path
        if b"?" not in target or flow.is_replay:
            return
        is_page = not_rewritten(flow.request) is None
        if not is_page and (self.scope == "documents" or not_a_read(flow.request)):
            return
        where = origin(flow, keep_host_header=self.keep_host_header)
        # Two slashes at the beginning of a Location would name a host.
        redirects = self.mode == "redirect" and is_page and not target.startswith(b"//")
        redirects = redirects and flow.request.data.method == b"GET"
        cleaned = (self.fetching if redirects else self.normalizer).clean_target(*where, target)
        if cleaned == target or self._is_left_alone(where, target):
            return
        if self.mode == "dry-run":
            flow.metadata[CLEANED_TARGET] = cleaned
            self._mark(flow, where, "would remove", target, cleaned)
            self._counters.add("would_rewrite")
        elif self.canary and random.random() * 100 < self.canary:
            flow.metadata[CLEANED_TARGET] = cleaned
            self._counters.add("canaries")
        elif redirects:
            self._redirect(flow, where, target, cleaned)
        else:
            flow.metadata[ORIGINAL_TARGET] = target
            flow.request.data.path = cleaned
            self._mark(flow, where, "removed", target, cleaned)
            self._counters.add("rewritten")
            if self._counters.first("rewritten", f"{where.host}:{where.port}"):
                logger.info(f"miqps: rewriting {where.host}:{where.port}")

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Watch whether the site sends the client back to the URL as it was."""
        if not flow.response or not 300 <= flow.response.status_code < 400:
            return
        target, asked = flow.metadata.get(ORIGINAL_TARGET), flow.request.data.path
        if target is None and self.mode != "redirect":
            return
        where, client = origin(flow, keep_host_header=self.keep_host_header), _client(flow)
        to = flow.response.headers.get("location", "").encode("utf-8", "surrogateescape")
        if target is None:
            target = self._loops.sends_back(client, where, asked, to)
            if target is not None:
                self._says_loop(where, target)
        elif self._loops.closes(client, where, target, asked, to):
            self._says_loop(where, target)

    def _redirect(self, flow: http.HTTPFlow, where: Origin, target: bytes, cleaned: bytes) -> None:
        if not self._loops.send(_client(flow), where, target, cleaned):
            self._says_loop(where, target)
            return
        headers = ((b"Location", cleaned), (b"Cache-Control", b"no-store"))
        flow.response = http.Response.make(307, b"", http.Headers(headers))
        self._mark(flow, where, "removed by a redirect", target, cleaned)
        self._counters.add("redirected")
        if self._counters.first("rewritten", f"{where.host}:{where.port}"):
            logger.info(f"miqps: redirecting {where.host}:{where.port}")

    def _mark(
        self, flow: http.HTTPFlow, where: Origin, what: str, target: bytes, cleaned: bytes
    ) -> None:
        """Show in the flow what happened to it; names only, and nothing of a person's is lost."""
        gone = tuple(sorted({*query.names(target)} - {*query.names(cleaned)}))
        self._ledger.note(_site(where), target, cleaned, gone, what)
        flow.comment = flow.comment or f"miqps: {what} {', '.join(gone)}"
        flow.marked = flow.marked or _MARKS[self.mode]

    def _is_left_alone(self, where: Origin, target: bytes) -> bool:
        if self._loops.left_alone(where, target):
            return True
        paused, circling = self.paused, self.circling
        if not paused and not circling:
            return False
        site = _site(where)
        return not paused.isdisjoint(("*", where.host, site)) or (
            (site, query.names(target)) in circling
        )

    def _says_loop(self, where: Origin, target: bytes) -> None:
        self._counters.add("loops")
        logger.warning(f"miqps: {where.host} puts a parameter back, leaving its like alone")
        self._loop(where, target)


def _site(where: Origin) -> str:
    return urls.site(f"{where.scheme}://{where.host}:{where.port}") or where.host


def _client(flow: http.HTTPFlow) -> str:
    return flow.client_conn.peername[0] if flow.client_conn.peername else ""
