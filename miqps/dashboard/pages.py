"""What the pages of the dashboard show, read from the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from miqps.gate import GateDecision
from miqps.ledger import Cleaned, Ledger, Rewrite
from miqps.mapping import MapError, Pin, SiteMap, Verdict
from miqps.store import Store, StoreError

_DECISIONS = 5


@dataclass(frozen=True, slots=True)
class KnownSite:
    """A site of the map, in numbers."""

    site: str
    contexts: int
    important: int
    neutral: int
    undecided: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The front page."""

    today: dict[str, Cleaned]
    recent: list[Rewrite]
    sites: list[KnownSite]
    last_probe: str
    trouble: str
    """Why the store could not be read, or ""."""


@dataclass(frozen=True, slots=True)
class SeenTrial:
    """A trial with the numbers of its pictures."""

    removed: tuple[str, ...]
    outcome: str
    reason: str
    pictures: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class KnownContext:
    """A context with what was found out, and some of the evidence."""

    path: str
    names: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    trials: tuple[SeenTrial, ...]


@dataclass(frozen=True, slots=True)
class SitePage:
    """The page of one site."""

    site: str
    contexts: tuple[KnownContext, ...]
    pins: tuple[Pin, ...]
    decisions: tuple[GateDecision, ...]
    circling: tuple[tuple[str, ...], ...] = ()
    """Patterns that the site changes back; they are left alone."""

    def pinned(self, name: str) -> str:
        """What is pinned for a parameter on the whole site, or ""."""
        return next((p.action for p in self.pins if p.name == name and p.path == "/"), "")


def overview(path: str, ledger: Ledger) -> Overview:
    """The front page; what the store does not tell is left out, with the reason."""
    sites: list[KnownSite] = []
    last_probe = trouble = ""
    try:
        with _store(path) as store:
            newest = store.maps.newest()
            for site in newest.sites.values() if newest else ():
                decisions = [v.decision for c in site.contexts for v in c.verdicts]
                important, neutral = decisions.count("important"), decisions.count("neutral")
                undecided = len(decisions) - important - neutral
                contexts = len(site.contexts)
                sites.append(KnownSite(site.site, contexts, important, neutral, undecided))
            last_probe = store.journal.last_finished()
    except (StoreError, MapError) as error:
        trouble = str(error)
    return Overview(ledger.today(), ledger.recent(), sites, last_probe, trouble)


def site_page(path: str, name: str) -> SitePage | None:
    """The page of a site; None when nothing is known of it."""
    try:
        with _store(path) as store:
            newest = store.maps.newest()
            known = newest.sites.get(name) if newest else None
            numbers = {c.context: c.id for c in store.corpus.contexts(name)}
            if known is None and not numbers:
                return None
            known = known or SiteMap(name, ())
            contexts = tuple(
                KnownContext(
                    found.context.path,
                    found.context.names,
                    found.verdicts,
                    _trials(store, numbers.get(found.context)),
                )
                for found in known.contexts
            )
            decisions = tuple(store.maps.decisions(name)[:_DECISIONS])
            left_alone = [names for site, names in store.signs.circling() if site == name]
            circling = tuple(sorted(left_alone))
            return SitePage(name, contexts, known.pins, decisions, circling)
    except (StoreError, MapError):
        return None


def picture(path: str, number: int) -> bytes | None:
    """A picture of the evidence, WebP; None when it is not there."""
    try:
        with _store(path) as store:
            return store.evidence.picture(number)
    except StoreError:
        return None


def _trials(store: Store, context_id: int | None) -> tuple[SeenTrial, ...]:
    if context_id is None:
        return ()
    found = store.evidence.picture_numbers(context_id)
    one_of_each = {trial.outcome: trial for trial in found}
    return tuple(
        SeenTrial(tuple(sorted(t.removed)), t.outcome, t.reason.rstrip(","), tuple(p.items()))
        for t, p in ((trial, found[trial]) for trial in one_of_each.values())
    )


@contextmanager
def _store(path: str) -> Iterator[Store]:
    with Store.open(path, create=False) as store:
        yield store
