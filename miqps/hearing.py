"""What was seen of one context: its pages, which of them count, and the trials they make.

Every procedure of the judge works on a `Hearing`. It asks for pages and goes on as far as it can
without those that are not there yet; then `wait` ends it with `NotYet`, and when the pages have
come it runs again from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from miqps import sampling
from miqps.comparison import Compared, compare
from miqps.content_id import ContentId
from miqps.minimal_set import Answer, minimal_set
from miqps.page import Page
from miqps.sampling import Sample
from miqps.settings import Judging
from miqps.strangers import Stranger, strangers
from miqps.task import Task
from miqps.trial import Trial
from miqps.view import Render, View


class NotYet(Exception):  # noqa: N818 - no error: pages are wanted first
    """The procedure cannot go on before the pages that it wants are there."""


class Hearing:
    """The evidence of one context."""

    def __init__(self, task: Task, content_id: ContentId, rules: Judging) -> None:
        self.task = task
        self.names = task.context.names
        self.rules = rules
        self.view = View(content_id)
        self._trials: dict[tuple[str, frozenset[str], str | None, bool], Trial] = {}
        self._strangers = strangers(task.context, task.urls[0])

    def begin(self, pages: Mapping[Render, Page]) -> None:
        """Start over with the pages that are there by now."""
        self.view.refresh(pages)
        self.forget()

    def forget(self) -> None:
        """Drop what was noted: the procedure begins anew, with the pages that it has."""
        self._trials = {}

    def wait(self) -> None:
        """End this run while pages are wanted.

        Raises:
            NotYet: they are.
        """
        if self.view.wanted:
            raise NotYet

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All that was noted."""
        return tuple(self._trials.values())

    # --- samples --------------------------------------------------------------------------------

    def usable(self, samples: Sequence[Sample]) -> list[Sample]:
        """The samples whose own page was seen; the others are noted as invalid."""
        if not samples:
            return []
        pages = [self.view.page(sample.url) for sample in samples]
        strangers = [(self.view.page(s.url), s) for s in self._strangers.at_first]
        self.wait()
        usable = []
        for sample, page in zip(samples, pages, strict=True):
            assert page is not None
            why = "" if page.seen else f"the page was not seen: {page.reason or page.outcome}"
            for other, stranger in strangers:
                if not why and other is not None and self._alike(sample, other, stranger):
                    why = stranger.reason
            if why:
                self.note(sample, frozenset(), Compared("invalid", why))
            else:
                usable.append(sample)
        return usable

    def with_swaps(self, samples: Sequence[Sample], removable: frozenset[str]) -> list[Sample]:
        """Usable samples with values from elsewhere, for names tried with too few of their own."""
        known = sampling.tried(samples, removable)
        if not samples or not known:
            return []
        least, most = self.rules.min_values, self.rules.swap_values
        return self.usable(sampling.swapped(samples, known, self.task.pool, least, most))

    def _alike(self, sample: Sample, other: Page, stranger: Stranger) -> bool:
        return (
            other.seen
            and stranger.url != sample.url
            and not stranger.may_equal(sample.url)
            and self.view.same(self.view.look(sample.url), self.view.look(stranger.url))
        )

    # --- trials ---------------------------------------------------------------------------------

    def compare(
        self, url: str, removed: frozenset[str], *, on_wire: bool = False
    ) -> Compared | None:
        """What comes of removing these names; None while pages are wanted."""
        return compare(self.view, url, removed, self.rules.repeats, on_wire=on_wire)

    def compared(self, url: str, removed: frozenset[str], *, on_wire: bool = False) -> Compared:
        """What comes of removing these names.

        Raises:
            NotYet: pages are wanted.
        """
        found = self.compare(url, removed, on_wire=on_wire)
        if found is None:
            raise NotYet
        return found

    def compare_all(
        self, samples: Sequence[Sample], removed: frozenset[str], *, on_wire: bool = False
    ) -> list[Compared]:
        """What comes of removing these names from each of the samples.

        Raises:
            NotYet: pages are wanted, of all samples at once.
        """
        found = [self.compare(sample.url, removed, on_wire=on_wire) for sample in samples]
        self.wait()
        return [compared for compared in found if compared is not None]

    def note(
        self,
        sample: Sample,
        removed: frozenset[str],
        found: Compared,
        blamed: str | None = None,
        *,
        on_wire: bool = False,
    ) -> None:
        """Keep a trial, in place of an earlier one of the same names on the same sample."""
        page = self.view.page(sample.url)
        look = ""
        if page is not None and page.seen:
            count = self.rules.repeats if self._needed_repeats(sample) else 1
            look = self.view.identity(sample.url, count).outline
        self._trials[sample.url, removed, blamed, on_wire] = Trial(
            url=sample.url,
            removed=removed,
            outcome=found.outcome,
            reason=found.reason,
            blamed=blamed,
            look=look,
            swapped=bool(sample.swapped),
            on_wire=on_wire,
        )

    def note_blame(
        self,
        sample: Sample,
        removed: frozenset[str],
        found: Compared,
        blamed: str,
        *,
        on_wire: bool = False,
    ) -> None:
        """Keep a trial in which one name made the difference, once the others had gone."""
        gone = sorted(removed - {blamed})
        beside = f", once {', '.join(gone)} had gone," if gone else ""
        found = replace(found, reason=found.reason + beside)
        self.note(sample, removed, found, blamed, on_wire=on_wire)

    def differing(
        self, samples: Sequence[Sample], removed: frozenset[str], *, on_wire: bool = False
    ) -> list[Sample]:
        """The samples that need one of these names, with a trial noted of each sample.

        Raises:
            NotYet: pages are wanted.
        """
        found = self.compare_all(samples, removed, on_wire=on_wire)
        for sample, compared in zip(samples, found, strict=True):
            self.note(sample, removed, compared, on_wire=on_wire)
        return [s for s, compared in zip(samples, found, strict=True) if compared.needs_it]

    def minimal(self, url: str, names: Sequence[str], *, on_wire: bool = False) -> frozenset[str]:
        """The fewest of these names that bring a URL back from which all of them were removed.

        Args:
            url: it changes without them.
            names: the likeliest to be needed first.
            on_wire: they are taken out of the request only.

        Raises:
            NotYet: pages are wanted.
        """
        removed = frozenset(names)

        def same_when_kept(kept: frozenset[str]) -> Answer:
            return self.compared(url, removed - kept, on_wire=on_wire).outcome

        return minimal_set(names, same_when_kept).kept

    def needed(
        self, sample: Sample, names: Sequence[str], *, on_wire: bool = False
    ) -> frozenset[str]:
        """What `minimal` finds of a sample, with a trial noted of each name that it blames.

        Raises:
            NotYet: pages are wanted.
        """
        found = self.minimal(sample.url, names, on_wire=on_wire)
        for name in sorted(found):
            gone = frozenset(names) - (found - {name})
            compared = self.compared(sample.url, gone, on_wire=on_wire)
            self.note_blame(sample, gone, compared, name, on_wire=on_wire)
        return found

    def try_alone(self, url: str, whole: str, name: str) -> None:
        """Note that a name matters where it stands alone, on a URL that has no other.

        Not when that shows what the whole URL shows: then it says the same as another name, which
        stays. Pages may be wanted then.
        """
        found = self.compare(url, frozenset({name}))
        if found is None or found.outcome != "different":
            return
        if not self.view.alike(url, whole, self.rules.repeats):
            found = replace(found, reason=f"{found.reason}, where it stands alone,")
            self.note(Sample(url), frozenset({name}), found, name)

    # --- was anything seen? ---------------------------------------------------------------------

    def look_back(self, samples: Sequence[Sample]) -> None:
        """Last of all, look at what shows nothing once more: a site may have begun to block us.

        Samples that look like it are taken out of the evidence.
        """
        last = self._strangers.at_last
        page = self.view.page(last.url)
        if page is None:
            raise NotYet
        restless = [s for s in samples if self._needed_repeats(s)]
        count = self.rules.repeats if restless and page.seen else 1
        if self.view.pages(last.url, count) is None:
            raise NotYet
        if page.outcome == "throttled":
            self._discard(samples, "the site began to refuse us")
        elif page.seen:
            self._discard((s for s in samples if self._alike(s, page, last)), last.reason)
            # Block pages with a clock or a request id are alike only outside of what moves.
            alike = (s for s in restless if self.view.alike(s.url, last.url, count))
            self._discard(alike, last.reason)

    def _needed_repeats(self, sample: Sample) -> bool:
        return self.view.rendered(sample.url) >= self.rules.repeats

    def _discard(self, samples: Iterable[Sample], reason: str) -> None:
        gone = {sample.url for sample in samples}
        for key, trial in self._trials.items():
            if trial.url in gone:
                self._trials[key] = replace(trial, outcome="invalid", blamed=None, reason=reason)
