"""The one addon object that mitmproxy sees; it hands on to the recorder and the rewriter."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader
from mitmproxy.exceptions import OptionsError

from miqps.addon import options
from miqps.addon.commands import Commands
from miqps.addon.counters import Counters
from miqps.addon.dashboard import OWN_PAGE, Dashboard
from miqps.addon.session import Session
from miqps.ledger import Ledger

logger = logging.getLogger(__name__)

_OTHERS_READ = frozenset({"keep_host_header"})

_DONE_SECONDS = 5.0
"""How long the end of the proxy may be held up by a disk that does not answer."""


class Miqps:
    """Records which pages are loaded, and removes what is known to be neutral from later loads.

    A flow is never harmed: whatever goes wrong here, it goes on as it came. Options are checked
    before anything is changed, so a bad one leaves the addon as it was. Nothing of a URL but its
    host is logged above debug.
    """

    def __init__(self) -> None:
        self._counters = Counters()
        self._ledger = Ledger()
        self._session: Session | None = None
        self._retired: list[Session] = []
        self._is_running = False
        self._has_failed = False
        self.addons = [
            Commands(lambda: self._session, self._counters),
            Dashboard(lambda: self._session, self._counters, self._ledger),
        ]

    def load(self, loader: Loader) -> None:
        options.declare(loader)

    def configure(self, updated: set[str]) -> None:
        is_ours = any(name.startswith("miqps_") for name in updated)
        if self._session and not is_ours and updated.isdisjoint(_OTHERS_READ):
            return
        try:
            mode = options.parse_mode(ctx.options.miqps_mode)
            scope = options.parse_scope(ctx.options.miqps_scope)
            path = options.parse_path(ctx.options.miqps_db)
            place = options.parse_map(ctx.options.miqps_map) or path
            rules = options.parse_rules(ctx.options.miqps_rules)
            privacy = options.parse_privacy(ctx.options)
            canary = options.parse_canary(ctx.options.miqps_canary)
            session = self._session
            # The one that is there looks after its file itself.
            is_known = session is not None and session.rulebook.path == rules
            rulebook = session.rulebook if session and is_known else options.open_rules(rules)
            trusts = ctx.options.miqps_trust_lists
            wanted = path, place, trusts
            if session is None or (session.path, session.place, session.trusts_lists) != wanted:
                options.check_database(path)
                session = Session(
                    path, place, rulebook, self._counters, self._ledger, trusts_lists=trusts
                )
        except ValueError as error:
            # mitmproxy shows where this comes from; what is behind it would only bury the line.
            raise OptionsError(str(error)) from None  # type: ignore[no-untyped-call]
        # The proxy server declares this one; it may be missing where there is no server.
        keep = "keep_host_header" in ctx.options and ctx.options.keep_host_header
        session.keep_host_header(keep)
        session.rewrite(mode, scope, canary)
        session.record(
            privacy,
            is_on=ctx.options.miqps_record != "off",
            api_calls=ctx.options.miqps_record_api,
        )
        if session.rulebook is not rulebook:
            session.replace_rules(rulebook)
        if session is not self._session:
            if self._session:
                self._session.stop()
                self._retired.append(self._session)
            if self._is_running:
                session.start()
        self._session = session
        if self._is_running:
            self._log_state()

    def running(self) -> None:
        self._is_running = True
        if self._session:
            self._session.start()
            self._log_state()

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.response or flow.error or not flow.live:
            return
        if self._session and self._session.rewriter.mode != "observe":
            self._unharmed(self._session.rewriter.request, flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if self._session and OWN_PAGE not in flow.metadata:
            self._unharmed(self._session.recorder.responseheaders, flow)
            self._unharmed(self._session.rewriter.responseheaders, flow)

    def response(self, flow: http.HTTPFlow) -> None:
        if self._session:
            self._unharmed(self._session.recorder.response, flow)

    def error(self, flow: http.HTTPFlow) -> None:
        if self._session:
            self._unharmed(self._session.recorder.error, flow)

    def done(self) -> None:
        sessions = [*self._retired, self._session] if self._session else []
        if self._is_running:
            for session in sessions:
                session.stop()
            until = time.monotonic() + _DONE_SECONDS
            for session in sessions:
                session.join(until)
            logger.info(f"miqps: done; {self._counters}")
        self._session, self._is_running = None, False

    def _log_state(self) -> None:
        if self._session:
            normalizer, rulebook = self._session.rewriter.normalizer, self._session.rulebook
            logger.info(
                f"miqps: mode {self._session.rewriter.mode},"
                f" database {self._session.path}, map version {normalizer.version},"
                f" {normalizer.contexts} contexts" + (f", {rulebook}" if rulebook.path else "")
            )

    def _unharmed(self, hook: Callable[[http.HTTPFlow], None], flow: http.HTTPFlow) -> None:
        try:
            hook(flow)
        except Exception as error:
            self._counters.add("errors")
            # The message may quote the URL, so it is for debugging only.
            logger.debug("miqps: error in a hook", exc_info=True)
            if not self._has_failed:
                self._has_failed = True
                logger.warning(f"miqps: {type(error).__name__} in a hook; flows are left alone")
