"""What a report shows, gathered from a store."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from miqps import query
from miqps.gate import GateDecision
from miqps.mapping import ContextVerdicts, Map, Pin, SiteMap, Verdict
from miqps.normalizer import Normalizer
from miqps.rules import Rules
from miqps.store import Store, StoredContext
from miqps.trial import Trial

_PICTURE_BYTES = 2_500_000
"""Of all pictures together, before they are written as text: with the rest, less than 5 MB."""

_TRIALS = 2
"""Trials of a context whose pictures are shown: one that changed, one that did not."""

_DECISIONS = 10
"""Decisions of the gate that are shown of a site, the newest."""

_ORDER = {"important": 0, "undecided": 1, "neutral": 2}


@dataclass(frozen=True, slots=True)
class Pictured:
    """A trial with what was seen: addresses of pictures that hold the picture itself."""

    removed: tuple[str, ...]
    outcome: str
    reason: str
    original: str
    stripped: str
    difference: str


@dataclass(frozen=True, slots=True)
class ContextFindings:
    """A context with its verdicts, what matters first."""

    path: str
    names: tuple[str, ...]
    hits: int
    verdicts: tuple[Verdict, ...]
    pictures: tuple[Pictured, ...]


@dataclass(frozen=True, slots=True)
class SiteFindings:
    """A site: what was seen of it, and what was found out."""

    site: str
    hits: int
    urls: int
    """Distinct URLs in the corpus."""

    cleaned: int
    """Distinct ones after cleaning."""

    duplicates: tuple[tuple[str, int], ...]
    """Parameters that may go, and how many of the URLs have them, most first."""

    contexts: tuple[ContextFindings, ...]
    pins: tuple[Pin, ...]
    decisions: tuple[GateDecision, ...]

    @property
    def counts(self) -> Counter[str]:
        """How many parameters are important, neutral, undecided."""
        return Counter(v.decision for context in self.contexts for v in context.verdicts)


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a report shows. `created` is an ISO time in UTC."""

    version: int
    created: str
    sites: tuple[SiteFindings, ...]
    runs: int
    renders: int
    shared: int
    pictures_left_out: int


def gather(
    store: Store, created: str, sites: Iterable[str] | None = None, rules: Rules | None = None
) -> Findings:
    """The findings of these sites, or of all, the most seen first.

    Args:
        store: where everything is.
        created: the time to put on it.
        sites: which; None for all.
        rules: the static rules that stand above the map; None for the shipped ones.

    Raises:
        StoreError: the file refuses.
        MapError: the map in force is damaged.
    """
    map = store.maps.newest() or Map(0, "", {})
    normalizer = Normalizer(map, rules)
    room = _Room(_PICTURE_BYTES)
    found = [
        _of_site(store, site, map.sites.get(site, SiteMap(site, ())), normalizer, room)
        for site in (store.corpus.sites() if sites is None else sites)
    ]
    runs, renders, shared = store.journal.totals()
    ordered = tuple(sorted(found, key=lambda site: (-site.hits, site.site)))
    return Findings(map.version, created, ordered, runs, renders, shared, room.left_out)


class _Room:
    """How many bytes of pictures there is room for."""

    def __init__(self, left: int) -> None:
        self._left = left
        self.left_out = 0

    def take(self, pictures: Mapping[str, bytes]) -> bool:
        size = sum(map(len, pictures.values()))
        if size > self._left:
            self.left_out += len(pictures)
            return False
        self._left -= size
        return True


def _of_site(
    store: Store, site: str, known: SiteMap, normalizer: Normalizer, room: _Room
) -> SiteFindings:
    stored = store.corpus.contexts(site)
    verdicts = {found.context: found for found in known.contexts}
    urls = [url for context in stored for url in store.corpus.urls_of(context.id)]
    gone = Counter[str]()
    for url in urls:
        left = normalizer.clean(url)
        if left is not url:
            gone.update({*query.names(url)} - {*query.names(left)})
    return SiteFindings(
        site=site,
        hits=sum(context.hits for context in stored),
        urls=len(set(urls)),
        cleaned=len(set(map(normalizer.clean, urls))),
        duplicates=tuple(gone.most_common()),
        contexts=tuple(
            _of_context(store, context, verdicts[context.context], room)
            for context in stored
            if context.context in verdicts
        ),
        pins=known.pins,
        decisions=tuple(store.maps.decisions(site)[:_DECISIONS]),
    )


def _of_context(
    store: Store, stored: StoredContext, found: ContextVerdicts, room: _Room
) -> ContextFindings:
    pictures = store.evidence.pictures(stored.id)
    shown = [trial for trial in _telling(list(pictures)) if room.take(pictures[trial])]
    return ContextFindings(
        stored.context.path,
        stored.context.names,
        stored.hits,
        tuple(sorted(found.verdicts, key=lambda v: (_ORDER[v.decision], v.name))),
        tuple(_pictured(trial, pictures[trial]) for trial in shown),
    )


def _telling(trials: Sequence[Trial]) -> list[Trial]:
    """One of each outcome, those first that changed."""
    by_outcome = {trial.outcome: trial for trial in reversed(trials)}
    return [by_outcome[o] for o in ("different", "same") if o in by_outcome][:_TRIALS]


def _pictured(trial: Trial, pictures: Mapping[str, bytes]) -> Pictured:
    address = {
        kind: f"data:image/webp;base64,{base64.b64encode(image).decode()}"
        for kind, image in pictures.items()
    }
    return Pictured(
        tuple(sorted(trial.removed)),
        trial.outcome,
        trial.reason.rstrip(","),
        address.get("original", ""),
        address.get("stripped", ""),
        address.get("difference", ""),
    )
