"""The prober: takes contexts from the store, has them rendered, judges, and stores what was found.

The driver owns everything but the rendering: which context is judged next, when a site may be
asked, what is rendered once and shared, and the store, which it alone writes - every finished
render at once, every judgement when it is made. Whatever ends it, the next run goes on from there.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from miqps.admission import Admission, Refused
from miqps.classify import Judge, Judgement
from miqps.content_id import get as get_content_id
from miqps.engines import Engine
from miqps.page import Page
from miqps.planning import Plan, agenda
from miqps.politeness import Turnstile, turn_of
from miqps.priors import Priors
from miqps.recall import recall, remember
from miqps.robots import Robots
from miqps.rules import deed, never_touch
from miqps.settings import POLITENESS
from miqps.store import Store, StoredContext
from miqps.task import Task
from miqps.thumbnails import thumbnails
from miqps.view import Render

__all__ = ["Plan", "Prober", "Progress"]

_TRIES = {"timeout": 2, "unreachable": 2, "crashed": 3}
"""How often a page is tried that ends like this: it may say more about the moment than about the
page. A crash may be the browser's, and the next one that of the worker that holds it."""

_DOWN_AFTER = 4
"""Renders of a site in a row that could not reach it, after which it is down."""

_GLANCE = 0.05
"""Seconds between two looks whether a robots.txt has come."""


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    contexts: int = 0
    judged: int = 0
    renders: int = 0
    shared: int = 0
    """Renders that were wanted and had been made already."""

    disallowed: int = 0
    """Renders that were wanted and that robots.txt does not allow."""

    verdicts: Counter[str] = field(default_factory=Counter)
    """Parameters by what was decided of them."""

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
    """One run over a store and an engine.

    Without `robots` no robots.txt is asked for. `priors` are what lists say of parameters.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        plan: Plan,
        watch: Callable[[Progress], None] = lambda progress: None,
        robots: Robots | None = None,
        priors: Priors | None = None,
    ) -> None:
        self.progress = Progress()
        self._store = store
        self._engine = engine
        self._plan = plan
        self._priors = priors
        self._watch = watch
        self._content_id = get_content_id(plan.content_id)
        self._turnstile = Turnstile(plan.delay)
        self._admission = Admission(self._turnstile, robots)
        self._ends_at = float("inf")
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
        if self._plan.max_minutes is not None:
            self._ends_at = time.monotonic() + 60 * self._plan.max_minutes
        self._run = self._store.journal.begin(self._plan.as_settings())
        for site in self._plan.hosts or self._store.corpus.sites():
            self._store.corpus.learn_paths(site)
        self._waiting.extend(agenda(self._store, self._plan, self._priors))
        self.progress.contexts = len(self._waiting)
        self._watch(self.progress)
        if self._waiting:
            self._engine.ready()
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

    # --- the loop -------------------------------------------------------------------------------

    def _step(self) -> bool:
        """Advance every judge that can go on, start renders, take one result; False at the end."""
        while self._waiting and len(self._active) < 2 * self._engine.slots:
            stored, task = self._next_waiting()
            judge = Judge(task, self._content_id, self._plan.rules, self._plan.algorithm)
            self._active.append(_Active(stored, judge))
        for active in list(self._active):
            if not active.missing:
                self._advance(active)
        pause = self._start_renders()
        if self._admission.awaits():
            pause = _GLANCE if pause is None else min(pause, _GLANCE)
        if self._under_way:
            done = self._engine.wait(pause)
            if done is not None:
                self._take(*done)
        elif self.progress.out_of_budget:
            return False
        elif pause is not None:
            time.sleep(pause)
        for site, why in self._admission.finished(time.monotonic()).items():
            self._give_up(site, why)
        return bool(self._active or self._waiting or self._under_way)

    def _next_waiting(self) -> tuple[StoredContext, Task]:
        """The first context; before it, one whose site waits for nobody's pause."""
        busy = {turn_of(active.stored.context.site) for active in self._active}
        for place, (stored, _) in enumerate(self._waiting):
            if turn_of(stored.context.site) not in busy:
                found = self._waiting[place]
                del self._waiting[place]
                return found
        return self._waiting.popleft()

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
                self.progress.verdicts.update(v.decision for v in found.verdicts)
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
        for url in filter(None, (render.url, render.sent)):
            forbidden = never_touch(url, off) or deed(url)
            if forbidden is not None:
                return Page(url=render.url, outcome="refused", reason=forbidden)
        page = recall(self._store.journal, self._run, render)
        self.progress.shared += page is not None
        return page

    def _start_renders(self) -> float | None:
        """Hand the engine what may be rendered now; gives the seconds until more may be."""
        now = time.monotonic()
        pauses = [self._start_renders_of(site, now) for site in self._wanted]
        pause = min((each for each in pauses if each is not None), default=None)
        return None if pause is None else max(min(pause, self._ends_at - now), 0.0)

    def _start_renders_of(self, site: str, now: float) -> float | None:
        wanted = self._wanted[site]
        refused = False
        while wanted and len(self._under_way) <= self._engine.slots:
            if self._spent(now):
                return None
            render = wanted[0]
            asked = self._admission.ask(site, render.sent or render.url, now)
            if isinstance(asked, Refused):
                self.progress.disallowed += 1
                self._hand_out(wanted.popleft(), Page(render.url, "refused", asked.reason))
                refused = True
            elif asked == 0:
                self._turnstile.enter(site)
                self._under_way[wanted.popleft()] = site
                self._engine.submit(render)
            else:
                return 0.0 if refused else asked
        return 0.0 if refused else None

    def _spent(self, now: float) -> bool:
        """Whether the budget is used up; what is under way then is the last."""
        limit = self._plan.max_renders
        begun = self.progress.renders + len(self._under_way)
        if now >= self._ends_at or (limit is not None and begun >= limit):
            self.progress.out_of_budget = True
            self._waiting.clear()
        return self.progress.out_of_budget

    # --- results --------------------------------------------------------------------------------

    def _take(self, render: Render, page: Page) -> None:
        site = self._under_way.pop(render)
        now = time.monotonic()
        self._turnstile.leave(site, now)
        self.progress.renders += 1
        self.progress.site = site
        self.progress.outcomes[page.outcome] += 1
        self._tried[render] += 1
        if page.outcome != "throttled":
            self._turnstile.answered(site)
            again = self._tried[render] < _TRIES.get(page.outcome, 1)
        else:
            waits = self._turnstile.refused(site, now, page.retry_after)
            # A page that is refused again and again says nothing of the others: they are tried.
            again = self._tried[render] <= POLITENESS.max_backoffs
            if again and not waits:
                self._give_up(site, "it asks to be left alone")
        if again:
            if site not in self.progress.down:
                self._wanted.setdefault(site, deque()).appendleft(render)
            return
        remember(self._store.journal, self._run, render, page)
        self._hand_out(render, page)
        self._unreached[site] = self._unreached[site] + 1 if page.outcome == "unreachable" else 0
        if self._unreached[site] >= _DOWN_AFTER:
            self._give_up(site, page.reason)

    def _hand_out(self, render: Render, page: Page) -> None:
        for active in self._active:
            if render in active.missing:
                active.missing.discard(render)
                active.pages[render] = page

    def _give_up(self, site: str, why: str) -> None:
        """Leave a site for another run, its contexts untouched."""
        self.progress.down[site] = why
        self._active = [a for a in self._active if a.stored.context.site != site]
        self._waiting = deque(w for w in self._waiting if w[0].context.site != site)
        self._wanted.pop(site, None)
