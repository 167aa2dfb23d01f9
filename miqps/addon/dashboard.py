"""Serves the dashboard inside the proxy, to clients of the proxy and under its own name only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mitmproxy import ctx, http
from mitmproxy.addons import asgiapp

from miqps.addon.counters import Counters
from miqps.addon.session import Session
from miqps.dashboard import create_app
from miqps.ledger import Ledger

OWN_PAGE = "miqps_own_page"
"""In the metadata of a flow that is answered here: it is nobody's page load."""

_PORT = 80


class Dashboard(asgiapp.WSGIApp):
    """The application at `http://HOST/`, as mitmproxy hosts its own.

    Args:
        session: gives what is at work; None before the first configuration.
        counters: what was counted.
        ledger: what was cleaned.
    """

    name = "miqps dashboard"

    def __init__(
        self, session: Callable[[], Session | None], counters: Counters, ledger: Ledger
    ) -> None:
        def proxy() -> _Proxy | None:
            found = session()
            return None if found is None else _Proxy(found, counters, ledger)

        super().__init__(create_app(proxy, lambda: self.host), "", _PORT)

    def configure(self, updated: set[str]) -> None:
        if "miqps_dashboard" in updated:
            self.host = ctx.options.miqps_dashboard.lower()

    def should_serve(self, flow: http.HTTPFlow) -> bool:
        """Whether a client of the proxy asks for us by name, and by nothing else.

        A Host header beside another host in the target does not count: then the other one is asked.
        """
        request = flow.request
        is_ours = request.scheme == "http" and request.host.lower() == self.host != ""
        if is_ours and super().should_serve(flow):
            flow.metadata[OWN_PAGE] = True
            return True
        return False


class _Proxy:
    """The proxy as the dashboard sees it."""

    def __init__(self, session: Session, counters: Counters, ledger: Ledger) -> None:
        self.ledger = ledger
        self._session = session
        self._counters = counters

    @property
    def path(self) -> str:
        return self._session.path

    def status(self) -> Mapping[str, str]:
        rewriter = self._session.rewriter
        lost = {
            name: self._counters[name]
            for name in ("lost_queue_full", "lost_disk", "lost_unstorable")
            if self._counters[name]
        }
        return {
            "mode": f"{rewriter.mode}, {rewriter.scope}",
            "map": f"version {rewriter.normalizer.version}, {rewriter.normalizer.contexts}"
            f" contexts, from {self._session.place}",
            "lost records": ", ".join(f"{n} {name}" for name, n in lost.items()) or "none",
            "counted": str(self._counters),
        }

    def paused(self) -> frozenset[str]:
        return self._session.rewriter.paused

    def pause(self, site: str, *, paused: bool) -> None:
        rewriter = self._session.rewriter
        rewriter.paused = rewriter.paused | {site} if paused else rewriter.paused - {site}

    def reload(self) -> None:
        self._session.reload()
