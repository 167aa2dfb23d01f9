"""The prober: takes contexts from the store, has them rendered, judges, and stores what was found.

The driver owns everything but the rendering: which context is judged next, when a site may be
asked, what is rendered once and shared, and the store, which it alone writes - every finished
render at once, every judgement when it is made. Whatever ends it, the next run goes on from there.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from miqps.classify import Judge, Judgement
from miqps.content_id import get as get_content_id
from miqps.engines import Engine
from miqps.page import Page, from_bytes, to_bytes
from miqps.planning import due, tasks
from miqps.politeness import Turnstile
from miqps.rules import deed, never_touch
from miqps.settings import JUDGING, Judging
from miqps.store import JournalEntry, Store, StoredContext
from miqps.task import Task
from miqps.thumbnails import thumbnails
from miqps.view import Render

_PASSING = frozenset({"timeout", "crashed", "unreachable"})
"""Outcomes that are tried once more: they say more about the moment than about the page."""

_DOWN_AFTER = 4
"""Renders of a site in a row that could not reach it, after which it is down."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do."""

    hosts: tuple[str, ...] = ()
    """Sites to probe; all when empty."""

    algorithm: str = "minimal-set"
    content_id: str = "visual"

    browser: str = "chromium"
    """Which one renders. Pages seen with another are not compared with these."""

    rules: Judging = JUDGING
    max_renders: int | None = None
    delay: float | None = None
    again: bool = False
    """Judge contexts again that were judged before."""

    off: tuple[str, ...] = ()
    """Never-touch classes that are switched off."""


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    contexts: int = 0
    judged: int = 0
    renders: int = 0
    shared: int = 0
    """Renders that were wanted and had been made already."""

    site: str = ""
    sites: set[str] = field(default_factory=set)
    """Sites of which at least one context was judged."""

    down: dict[str, str] = field(default_factory=dict)
    """Sites that could not be reached, with what was seen instead."""

    outcomes: Counter[str] = field(default_factory=Counter)
    out_of_budget: bool = False


@dataclass(slots=True, eq=False)
class _Active:
    stored: StoredContext
    judge: Judge
    pages: dict[Render, Page] = field(default_factory=dict)
    missing: set[Render] = field(default_factory=set)


class Prober:
    """One run over a store and an engine."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        plan: Plan,
        watch: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.progress = Progress()
        self._store = store
        self._engine = engine
        self._plan = plan
        self._watch = watch
        self._content_id = get_content_id(plan.content_id)
        self._turnstile = Turnstile(plan.delay)
        self._waiting: deque[tuple[StoredContext, Task]] = deque()
        self._active: list[_Active] = []
        self._wanted: dict[str, deque[Render]] = {}
        self._under_way: dict[Render, str] = {}
        self._tried: Counter[Render] = Counter()
        self._unreached: Counter[str] = Counter()
        self._run = 0

    def run(self) -> int:
        """Judge everything that is due; returns the number of the run.

        Raises StoreError and BrowserError; what was done until then is stored.
        """
        settings = {**asdict(self._plan), "max_renders": None, "delay": None}
        self._run = self._store.journal.begin(json.dumps(settings, sort_keys=True))
        self._plan_contexts()
        self._watch(self.progress)
        try:
            while self._step():
                self._watch(self.progress)
        except BaseException:
            self._count()
            raise
        self._count(finished=not self.progress.out_of_budget)
        return self._run

    def _count(self, *, finished: bool = False) -> None:
        self._store.journal.count(self._run, self.progress.renders, self.progress.shared)
        if finished:
            self._store.journal.finish(self._run)

    # --- what is to be judged -------------------------------------------------------------------

    def _plan_contexts(self) -> None:
        """Queue what is due: the most seen contexts of each site first, the sites by turns."""
        by_site = []
        for site in self._plan.hosts or self._store.corpus.sites():
            self._store.corpus.learn_paths(site)
            stored = self._store.corpus.contexts(site)
            due_now = [c for c in stored if due(c, self._plan.content_id, again=self._plan.again)]
            if due_now:
                chosen = due_now[: self._plan.rules.top_patterns]
                queued = tasks(self._store, stored, chosen, frozenset(self._plan.off))
                by_site.append(deque(queued))
        while by_site:
            by_site = [queue for queue in by_site if queue]
            for queue in by_site:
                self._waiting.append(queue.popleft())
        self.progress.contexts = len(self._waiting)

    # --- the loop -------------------------------------------------------------------------------

    def _step(self) -> bool:
        """Advance every judge that can go on, start renders, take one result; False at the end."""
        while self._waiting and len(self._active) < 2 * self._engine.slots:
            stored, task = self._waiting.popleft()
            judge = Judge(task, self._content_id, self._plan.rules, self._plan.algorithm)
            self._active.append(_Active(stored, judge))
        for active in list(self._active):
            if not active.missing:
                self._advance(active)
        pause = self._start_renders()
        if self._under_way:
            done = self._engine.wait(pause)
            if done is not None:
                self._take(*done)
        elif pause is not None:
            time.sleep(pause)
        return bool(self._active or self._waiting or self._under_way)

    def _advance(self, active: _Active) -> None:
        """Let a judge look at its new pages, until it is done or waits for a browser."""
        while not active.missing:
            found = active.judge.next(active.pages)
            if isinstance(found, Judgement):
                pictures = thumbnails(found.trials, active.pages)
                self._store.evidence.save(
                    self._run, active.stored, found.trials, found.verdicts, pictures
                )
                self._active.remove(active)
                self.progress.judged += 1
                self.progress.sites.add(active.stored.context.site)
                return
            for render in found:
                self._want(active, render)

    def _want(self, active: _Active, render: Render) -> None:
        page = self._at_hand(render)
        if page is not None:
            active.pages[render] = page
            return
        active.missing.add(render)
        wanted = self._wanted.setdefault(active.stored.context.site, deque())
        if render in self._under_way or render in wanted:
            self.progress.shared += 1
        else:
            wanted.append(render)

    def _at_hand(self, render: Render) -> Page | None:
        """A page that need not be rendered: it was, or it must not be."""
        off = frozenset(self._plan.off)
        forbidden = never_touch(render.url, off) or deed(render.url)
        if forbidden is not None:
            return Page(url=render.url, outcome="refused", reason=forbidden)
        stored = self._store.journal.page(self._run, render.url, render.repeat, render.sent)
        if stored is None:
            return None
        try:
            page = from_bytes(stored)
        except ValueError:
            # Written by another version: it is rendered again.
            return None
        self.progress.shared += 1
        return page

    def _start_renders(self) -> float | None:
        """Hand the engine what may be rendered now; gives the seconds until more may be."""
        now = time.monotonic()
        opens: list[float] = []
        for site, wanted in self._wanted.items():
            while wanted and len(self._under_way) <= self._engine.slots:
                opens_at = self._turnstile.opens_at(site)
                if opens_at is None:
                    break
                if opens_at > now:
                    opens.append(opens_at - now)
                    break
                if self._spent():
                    return None
                render = wanted.popleft()
                self._turnstile.enter(site)
                self._under_way[render] = site
                self._engine.submit(render)
        return min(opens, default=None)

    def _spent(self) -> bool:
        """Whether the budget is used up; then everything that is not judged is left as it is."""
        limit = self._plan.max_renders
        if limit is None or self.progress.renders + len(self._under_way) < limit:
            return False
        self.progress.out_of_budget = True
        self._abandon(self._active)
        self._waiting.clear()
        self._wanted.clear()
        return True

    # --- results --------------------------------------------------------------------------------

    def _take(self, render: Render, page: Page) -> None:
        site = self._under_way.pop(render)
        now = time.monotonic()
        self._turnstile.leave(site, now)
        self.progress.renders += 1
        self.progress.site = site
        self.progress.outcomes[page.outcome] += 1
        self._tried[render] += 1
        if self._try_again(site, render, page, now):
            self._wanted.setdefault(site, deque()).appendleft(render)
            return
        self._store.journal.save(self._run, _entry(render, page))
        for active in self._active:
            if render in active.missing:
                active.missing.discard(render)
                active.pages[render] = page
        self._notice_down(site, page)

    def _try_again(self, site: str, render: Render, page: Page, now: float) -> bool:
        if page.outcome == "throttled":
            return self._turnstile.refused(site, now, page.retry_after)
        return page.outcome in _PASSING and self._tried[render] < 2

    def _notice_down(self, site: str, page: Page) -> None:
        """A site that answers nothing at all is left for another run, its contexts untouched."""
        self._unreached[site] = self._unreached[site] + 1 if page.outcome == "unreachable" else 0
        if self._unreached[site] >= _DOWN_AFTER:
            self.progress.down[site] = page.reason
            self._abandon([a for a in self._active if a.stored.context.site == site])
            self._waiting = deque(w for w in self._waiting if w[0].context.site != site)
            self._wanted.pop(site, None)

    def _abandon(self, given_up: Sequence[_Active]) -> None:
        self._active = [active for active in self._active if active not in given_up]


def _entry(render: Render, page: Page) -> JournalEntry:
    return JournalEntry(
        url=render.url,
        repeat=render.repeat,
        sent=render.sent,
        outcome=page.outcome,
        reason=page.reason,
        status=page.status,
        milliseconds=page.milliseconds,
        page=to_bytes(page),
    )
