"""One context to verdicts: the judge, as ask and tell.

`Judge.next(pages)` gives the renders it wants, or its judgement. It is a function of what was
rendered and of nothing else (see `view`), so the same judge runs in a thread, in a process or on a
cluster, and is taken up again after a crash by showing it the same pages.

The procedure is the paper's, MIQPS (Pinterest, 2026): each parameter is removed alone from up to S
samples with distinct values; one that changes the content of at least T of them is important. Then,
what the paper leaves out: all that seem neutral are removed *together*, from these samples and from
further ones, because of two parameters that say the same thing each alone looks neutral. And pages
that show nothing of what was asked for (an address that does not exist, the front page) are
compared with the samples, so that a block page or a consent wall is not taken for agreement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from miqps import query, sampling
from miqps.comparison import Compared, compare
from miqps.content_id import ContentId
from miqps.mapping import Verdict
from miqps.page import Page
from miqps.sampling import Sample
from miqps.settings import JUDGING, Judging
from miqps.strangers import Stranger, strangers
from miqps.trackers import is_tracker
from miqps.trial import Trial
from miqps.urls import Context
from miqps.view import Render, View
from miqps.weighing import weigh

_ALONE_VALUES = 3
"""Values that a name is tried with by itself; two renders each, mostly shared by its sisters."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be judged."""

    context: Context
    urls: tuple[str, ...]
    """The URLs that were observed for the context."""

    pool: Mapping[str, Sequence[str]]
    """For each name, raw values seen elsewhere on the site, the nearest first."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found out about a context."""

    verdicts: tuple[Verdict, ...]
    trials: tuple[Trial, ...]


class Judge:
    """The judge of one context; `next` may be called with more pages until it gives a judgement."""

    def __init__(self, task: Task, content_id: ContentId, rules: Judging = JUDGING) -> None:
        self._names = task.context.names
        self._pool = task.pool
        self._rules = rules
        self._view = View(content_id)
        self._trials: dict[tuple[str, frozenset[str], str | None], Trial] = {}
        chosen = sampling.choose(task.urls, self._names, rules.samples + rules.verify_samples)
        self._samples = chosen[: rules.samples]
        self._held_back = chosen[rules.samples :]
        self._strangers = strangers(task.context, task.urls[0])

    def next(self, pages: Mapping[Render, Page]) -> list[Render] | Judgement:
        """The renders that are wanted next, in order; or the judgement, when there are none."""
        self._view.refresh(pages)
        self._trials = {}
        judged = self._judge()
        if not judged:
            return list(self._view.wanted)
        trials = tuple(self._trials.values())
        return Judgement(weigh(self._names, trials, self._rules), trials)

    def _judge(self) -> bool:
        """Run as far as the pages go; True when nothing more is wanted."""
        usable = self._usable(self._samples)
        if usable is None:
            return False
        removable = self._alone(usable)
        if removable is None:
            return False
        together = self._together(usable, removable)
        if together is None:
            return False
        more = self._usable(self._held_back) if together else []
        if more is None:
            return False
        together = self._together([*usable, *more], together)
        if together is None:
            return False
        swapped = self._usable(self._swaps([*usable, *more], together))
        if swapped is None:
            return False
        samples = [*usable, *more, *swapped]
        together = self._together(samples, together)
        if together is None or not self._stands_alone(samples, together):
            return False
        return self._still_seen(samples, together)

    # --- samples --------------------------------------------------------------------------------

    def _usable(self, samples: Sequence[Sample]) -> list[Sample] | None:
        """The samples whose own page was seen; None while pages are wanted."""
        if not samples:
            return []
        pages = [self._view.page(sample.url) for sample in samples]
        strangers = [(self._view.page(s.url), s) for s in self._strangers.at_first]
        if self._view.wanted:
            return None
        usable = []
        for sample, page in zip(samples, pages, strict=True):
            assert page is not None
            why = "" if page.seen else f"the page was not seen: {page.reason or page.outcome}"
            for other, stranger in strangers:
                if not why and other is not None and self._alike(sample, other, stranger):
                    why = stranger.reason
            if why:
                self._note(sample, frozenset(), Compared("invalid", why))
            else:
                usable.append(sample)
        return usable

    def _alike(self, sample: Sample, other: Page, stranger: Stranger) -> bool:
        return (
            other.seen
            and stranger.url != sample.url
            and not stranger.may_equal(sample.url)
            and self._view.same(self._view.look(sample.url), self._view.look(stranger.url))
        )

    def _swaps(self, bases: Sequence[Sample], removable: frozenset[str]) -> list[Sample]:
        """Samples with values from elsewhere, for names tried with too few of their own."""
        tried: dict[str, set[str]] = {name: set() for name in sorted(removable)}
        for sample in bases:
            for name, known in tried.items():
                known.update(query.values(sample.url, name)[:1])
        if not bases or not tried:
            return []
        least, most = self._rules.min_values, self._rules.swap_values
        return sampling.swapped(bases, tried, self._pool, least, most)

    # --- trials ---------------------------------------------------------------------------------

    def _compare(self, sample: Sample, removed: frozenset[str]) -> Compared | None:
        return compare(self._view, sample.url, removed, self._rules.repeats)

    def _note(
        self, sample: Sample, removed: frozenset[str], found: Compared, blamed: str | None = None
    ) -> None:
        page = self._view.page(sample.url)
        look = ""
        if page is not None and page.seen:
            count = self._rules.repeats if self._needed_repeats(sample) else 1
            look = self._view.identity(sample.url, count).outline
        self._trials[sample.url, removed, blamed] = Trial(
            url=sample.url,
            removed=removed,
            outcome=found.outcome,
            reason=found.reason,
            blamed=blamed,
            look=look,
            swapped=bool(sample.swapped),
        )

    def _alone(self, samples: Sequence[Sample]) -> frozenset[str] | None:
        """The paper's step: each name removed alone. Gives the names that made no difference."""
        removable = [name for name in self._names if self._makes_no_difference(name, samples)]
        return None if self._view.wanted else frozenset(removable)

    def _makes_no_difference(self, name: str, samples: Sequence[Sample]) -> bool:
        """Remove one name from one sample after another, until its verdict cannot change."""
        removed = frozenset({name})
        same = changed = 0
        enough = max(self._rules.threshold * len(samples), 1)
        for left, sample in zip(range(len(samples), 0, -1), samples, strict=True):
            if changed >= enough or changed + left < enough:
                break
            found = self._compare(sample, removed)
            if found is None:
                return False
            self._note(sample, removed, found, name if found.needs_it else None)
            if found.needs_it and found.outcome == "invalid":
                return False
            same += found.outcome == "same"
            changed += found.outcome == "different"
        return same > 0 and changed < enough

    def _together(
        self, samples: Sequence[Sample], removable: frozenset[str]
    ) -> frozenset[str] | None:
        """Remove all of them at once; gives those that may really go together.

        The first sample is settled before the others are looked at: what must stay there, mostly
        must stay everywhere.
        """
        for batch in (samples[:1], samples):
            while removable:
                differing = self._differing(batch, removable)
                if differing is None:
                    return None
                if len(differing) < max(self._rules.threshold * len(batch), 1):
                    break
                kept = self._attribute(differing[0], removable)
                if kept is None:
                    return None
                removable -= kept
        return removable

    def _differing(self, samples: Sequence[Sample], removed: frozenset[str]) -> list[Sample] | None:
        """The samples whose content changes without these names; None while pages are wanted."""
        found = [(sample, self._compare(sample, removed)) for sample in samples]
        if self._view.wanted:
            return None
        alone = next(iter(removed)) if len(removed) == 1 else None
        differing = []
        for sample, compared in found:
            assert compared is not None
            if compared.needs_it:
                differing.append(sample)
            self._note(sample, removed, compared, alone if compared.needs_it else None)
        return differing

    def _attribute(self, sample: Sample, removable: frozenset[str]) -> frozenset[str] | None:
        """Which names must stay, on a sample that changes when all go: one more is taken at a time.

        Gives at least one name, or None while pages are wanted.
        """
        gone: frozenset[str] = frozenset()
        for name in sorted(removable):
            found = self._compare(sample, gone | {name})
            if found is None:
                return None
            if found.outcome == "same":
                gone |= {name}
            else:
                beside = f", once {', '.join(sorted(gone))} had gone," if gone else ""
                found = replace(found, reason=found.reason + beside)
                self._note(sample, gone | {name}, found, name)
        return removable - gone or removable

    def _stands_alone(self, samples: Sequence[Sample], removable: frozenset[str]) -> bool:
        """Try each name by itself on the bare path, where no other name can hide what it does.

        An empty list looks the same in every order. A name that changes the page there is noted
        as important, unless it shows what the whole URL shows: then it says the same as another
        name, which stays. False while pages are wanted.
        """
        for name in sorted(n for n in removable if not is_tracker(n)):
            alone = {query.keep_only(sample.url, {name}): sample.url for sample in samples}
            for url, whole in sorted(alone.items())[:_ALONE_VALUES]:
                found = compare(self._view, url, frozenset({name}), self._rules.repeats)
                if found is None or found.outcome != "different":
                    continue
                if self._view.alike(url, whole, self._rules.repeats):
                    continue
                found = replace(found, reason=f"{found.reason}, where it stands alone,")
                self._note(Sample(url), frozenset({name}), found, name)
        return not self._view.wanted

    # --- was anything seen? ---------------------------------------------------------------------

    def _still_seen(self, samples: Sequence[Sample], removable: frozenset[str]) -> bool:
        """Last of all, look at what shows nothing once more: a site may have begun to block us.

        Samples that look like it are taken out of the evidence. True when all was looked at.
        """
        if not removable:
            return True
        last = self._strangers.at_last
        page = self._view.page(last.url)
        if page is None:
            return False
        restless = [s for s in samples if self._needed_repeats(s)]
        count = self._rules.repeats if restless and page.seen else 1
        if self._view.pages(last.url, count) is None:
            return False
        if page.outcome == "throttled":
            self._discard(samples, "the site began to refuse us")
        elif page.seen:
            self._discard((s for s in samples if self._alike(s, page, last)), last.reason)
            # Block pages with a clock or a request id are alike only outside of what moves.
            alike = (s for s in restless if self._view.alike(s.url, last.url, count))
            self._discard(alike, last.reason)
        return True

    def _needed_repeats(self, sample: Sample) -> bool:
        return self._view.rendered(sample.url) >= self._rules.repeats

    def _discard(self, samples: Iterable[Sample], reason: str) -> None:
        gone = {sample.url for sample in samples}
        for key, trial in self._trials.items():
            if trial.url in gone:
                self._trials[key] = replace(trial, outcome="invalid", blamed=None, reason=reason)
