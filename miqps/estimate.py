"""What a run would cost, before it starts. Nothing is rendered, asked for or written.

The model is simple on purpose. With k parameters a context takes, when everything is removed at
once, two renders for each sample that is seen whole, one for each further value, a search of 2 k
for what must stay, and the controls; and n (k + 1) for n samples when parameters are removed one at
a time. Pages that differ from themselves are rendered up to three times, and cost more.

A render takes as long as the last ones in the journal did, on average. Of a registrable domain one
is made at a time, with its pause behind it; on loopback as many as there are browsers. The slowest
domain, or all renders shared among the browsers, is how long the run takes. A Crawl-delay is not
known before robots.txt is read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from miqps.planning import Plan
from miqps.politeness import Turnstile, on_loopback, turn_of
from miqps.settings import ESTIMATING
from miqps.store import StoredContext
from miqps.tables import in_80_columns, table
from miqps.task import Task

_CONTROLS = 6


@dataclass(frozen=True, slots=True)
class SiteEstimate:
    """What one site would cost if it were alone."""

    site: str
    contexts: int
    renders: int
    minutes: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would cost."""

    contexts: int
    renders: int
    minutes: float
    milliseconds: float
    """A render."""
    measured: bool
    """Whether that was measured, and not guessed."""
    sites: tuple[SiteEstimate, ...]
    out_of_budget: bool
    """Whether the budget would end the run."""

    def as_dict(self) -> dict[str, object]:
        """The estimate as plain values."""
        return asdict(self)

    def as_text(self) -> str:
        """The estimate as a table of at most 80 columns."""
        parts: list[Table | str] = []
        if self.sites:
            rows = [(s.site, s.contexts, s.renders, _in_words(s.minutes)) for s in self.sites]
            parts.append(table(("site", "contexts", "renders", "minutes"), rows))
        parts.append(
            f"{self.contexts} contexts are due: about {self.renders} renders,"
            f" {_in_words(self.minutes)} minutes."
        )
        how = "as the last ones did" if self.measured else "a guess, nothing was rendered yet"
        parts.append(f"A render takes {self.milliseconds / 1000:.1f} s, {how}.")
        if self.out_of_budget:
            parts.append("The budget will end the run before that; the next one goes on.")
        parts.append("Nothing was rendered or written.")
        return in_80_columns(parts)


def estimate(
    due: Sequence[tuple[StoredContext, Task]], plan: Plan, browsers: int, measured: float | None
) -> Estimate:
    """What judging these contexts would cost.

    Args:
        due: the contexts, as `planning.agenda` gives them.
        plan: what the run is to do.
        browsers: renders side by side.
        measured: milliseconds that a render took so far, if any was made.
    """
    milliseconds = ESTIMATING.milliseconds if measured is None else measured
    contexts, renders = Counter[str](), Counter[str]()
    for stored, task in due:
        contexts[stored.context.site] += 1
        renders[stored.context.site] += renders_of(task, plan)
    turnstile = Turnstile(plan.delay)
    minutes: dict[str, float] = {}
    turns: defaultdict[str, float] = defaultdict(float)
    for site, number in renders.items():
        pause = turnstile.pause(site)
        at_once = browsers if on_loopback(site) and not pause else 1
        minutes[site] = number * (milliseconds / 1000 / at_once + pause) / 60
        turns[turn_of(site)] += minutes[site]
    shared = renders.total() * milliseconds / 60_000 / browsers
    total = max(shared, *turns.values(), 0.0)
    return Estimate(
        contexts=contexts.total(),
        renders=renders.total(),
        minutes=total,
        milliseconds=milliseconds,
        measured=measured is not None,
        sites=tuple(SiteEstimate(s, contexts[s], renders[s], minutes[s]) for s in sorted(minutes)),
        out_of_budget=renders.total() > (plan.max_renders or float("inf"))
        or total > (plan.max_minutes or float("inf")),
    )


def renders_of(task: Task, plan: Plan) -> int:
    """About how many renders a context takes."""
    samples, names = plan.rules.samples, len(task.context.names)
    if plan.algorithm == "miqps":
        return min(len(task.urls), samples) * (names + 1)
    whole = min(samples, plan.rules.whole_samples) + plan.rules.held_back
    lent = min(len(task.urls), samples + plan.rules.verify_samples) - whole
    return 2 * min(len(task.urls), whole) + max(lent, 0) + 2 * names + _CONTROLS


def _in_words(minutes: float) -> str:
    return f"{minutes:.0f}" if minutes >= 10 else f"{minutes:.1f}"
