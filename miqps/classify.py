"""One context to verdicts: the judge, as ask and tell.

`Judge.next(pages)` gives the renders it wants, or its judgement. It is a function of what was
rendered and of nothing else (see `hearing`), so the same judge runs in a thread, in a process or on
a cluster, and is taken up again after a crash by showing it the same pages.

How the trials are made is the procedure's (`all_at_once`, `one_at_a_time`); what they are enough
for is the same for all (`weighing`). Pages that show nothing of what was asked for (an address that
does not exist, the front page) are compared with the samples, so that a block page or a consent
wall is not taken for agreement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from miqps import all_at_once, one_at_a_time
from miqps.content_id import ContentId
from miqps.hearing import Hearing, NotYet
from miqps.mapping import Verdict
from miqps.page import Page
from miqps.settings import JUDGING, Judging
from miqps.task import Task
from miqps.trial import Trial
from miqps.view import Render
from miqps.weighing import weigh

PROCEDURES: Mapping[str, Callable[[Hearing], None]] = {
    "minimal-set": all_at_once.hear,
    "miqps": one_at_a_time.hear,
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found out about a context."""

    verdicts: tuple[Verdict, ...]
    trials: tuple[Trial, ...]


class Judge:
    """The judge of one context; `next` may be called with more pages until it gives a judgement."""

    def __init__(
        self,
        task: Task,
        content_id: ContentId,
        rules: Judging = JUDGING,
        algorithm: str = "minimal-set",
    ) -> None:
        self._hearing = Hearing(task, content_id, rules)
        self._procedure = PROCEDURES[algorithm]

    def next(self, pages: Mapping[Render, Page]) -> list[Render] | Judgement:
        """The renders that are wanted next, in order; or the judgement, when there are none."""
        hearing = self._hearing
        hearing.begin(pages)
        try:
            self._procedure(hearing)
        except NotYet:
            return list(hearing.view.wanted)
        return Judgement(weigh(hearing.names, hearing.trials, hearing.rules), hearing.trials)
