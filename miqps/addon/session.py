"""Everything that works on one database: recorder and writer, rewriter and watcher."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from miqps.addon.counters import Counters
from miqps.addon.options import Mode, Scope
from miqps.addon.recorder import Recorder
from miqps.addon.rewriter import Rewriter
from miqps.addon.rulebook import Rulebook
from miqps.addon.watcher import Watcher
from miqps.addon.writer import Writer
from miqps.formats.listed import priors_of
from miqps.ledger import Ledger
from miqps.loads import Load
from miqps.normalizer import Normalizer
from miqps.origin import Origin
from miqps.priors import Priors
from miqps.privacy import Privacy
from miqps.store import Store, StoreError

logger = logging.getLogger(__name__)


class Session:
    """The addon at work on one database, from `start` to `stop`.

    The rules and the map that is there are in force from the first request on, one at an address
    once it has come; threads run after `start` only.

    Args:
        path: the database.
        place: where the map is read from: the database, or another file or address.
        rulebook: the static rules.
        counters: what is counted.
        ledger: what is cleaned is written down there.
        trusts_lists: whether lists in the database are believed where nothing was learned.
    """

    def __init__(
        self,
        path: str,
        place: str,
        rulebook: Rulebook,
        counters: Counters,
        ledger: Ledger,
        *,
        trusts_lists: bool,
    ) -> None:
        self.path = path
        self.place = place
        self.trusts_lists = trusts_lists
        self.rewriter = Rewriter(counters, ledger, self._note_loop)
        self._privacy = Privacy()
        self._writer = Writer(path, counters)
        self._watcher = Watcher(
            place, self._use, rulebook, self._lists if trusts_lists else None, self._leave_alone
        )
        self.recorder = Recorder(self._writer, counters)
        self._use(self._watcher.begin())

    def start(self) -> None:
        self._writer.start()
        self._watcher.start()

    def stop(self) -> None:
        """Let the threads finish what they have. Returns at once; `join` waits."""
        self._writer.stop()
        self._watcher.stop()

    def join(self, until: float) -> None:
        """Wait for the threads, until `time.monotonic()` says this at the latest."""
        self._writer.join(max(0.0, until - time.monotonic()))
        self._watcher.join(max(0.0, until - time.monotonic()))

    @property
    def rulebook(self) -> Rulebook:
        """The static rules."""
        return self._watcher.rulebook

    def replace_rules(self, rulebook: Rulebook) -> None:
        """Go by other static rules, as soon as a thread has made them ready."""
        self._watcher.replace_rules(rulebook)

    def reload(self) -> None:
        """Look for a new map and edited rules at once. Returns before that."""
        self._watcher.wake()

    def record(self, privacy: Privacy, *, is_on: bool, api_calls: bool) -> None:
        """Go by these wishes about what is recorded, from now on."""
        self._privacy = privacy
        self._writer.privacy = self._with_rules(privacy)
        self.recorder.is_on = is_on
        self.recorder.records_api = api_calls

    def rewrite(self, mode: Mode, scope: Scope, canary: int) -> None:
        """Go by these wishes about what is rewritten, from now on.

        `canary` is the percentage of what could be rewritten that goes through as it came.
        """
        self.rewriter.mode, self.rewriter.scope, self.rewriter.canary = mode, scope, canary

    def keep_host_header(self, keep: bool) -> None:
        """Whether a reverse proxy hands the client's Host header on."""
        self.recorder.keep_host_header = keep
        self.rewriter.keep_host_header = keep

    def _leave_alone(self) -> None:
        """Leave alone what went in circles before, and was not judged since."""
        try:
            with Store.open(self.path, create=False) as store:
                self.rewriter.circling = store.signs.circling()
        except StoreError:
            # What cannot be read is said by the writer.
            return
        number = len(self.rewriter.circling)
        if number:
            logger.info(f"miqps: {number} patterns are left alone: parameters were put back")

    def _note_loop(self, where: Origin, target: bytes) -> None:
        self._writer.put(Load(where, target, hits=0, goes_in_circles=True))

    def _lists(self) -> Priors:
        try:
            with Store.open(self.path, create=False) as store:
                return priors_of(store)
        except StoreError as error:
            logger.warning(f"miqps: no lists can be read for now: {error}")
            return Priors()

    def _use(self, normalizer: Normalizer) -> None:
        self.rewriter.fetching = normalizer.for_fetching()
        self.rewriter.normalizer = normalizer
        self._writer.privacy = self._with_rules(self._privacy)

    def _with_rules(self, privacy: Privacy) -> Privacy:
        """The wishes, together with the never-touch classes that the rules switch off."""
        return replace(privacy, off=self.rulebook.rules.off)
