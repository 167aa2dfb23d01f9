"""What was found out becomes the map in force: through the gate, as the next version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from miqps.gate import GateDecision, Mattered, Passage, decide, taken_back
from miqps.mapping import Map, MapError, Pin, SiteMap
from miqps.settings import Judging
from miqps.store import Store, now
from miqps.store.maps import Edition, OutdatedError
from miqps.urls import Context
from miqps.weighing import Judged, review

_TRIES = 5
"""How often a map is worked out anew because another process published meanwhile."""


@dataclass(frozen=True, slots=True)
class Published:
    """What came of publishing."""

    version: int
    """The version in force now; 0 when there is none."""

    is_new: bool
    decisions: tuple[GateDecision, ...] = ()


def publish(
    store: Store, run_id: int | None, rules: Judging, accept: Collection[str] = ()
) -> Published:
    """Weigh all evidence in the store, let what passes the gate through, and store the next map.

    Args:
        store: where everything is.
        run_id: the run that asks for it; None when a person does.
        rules: how evidence is weighed.
        accept: sites whose dangerous changes a person has seen, and lets through.

    Raises:
        StoreError: the file refuses.
        MapError: a map in the store is damaged.
    """
    return _published(store, partial(_weighed_edition, store, run_id, rules, frozenset(accept)))


def publish_pins(store: Store) -> Published:
    """Put what is pinned in force, and change nothing else. Raises StoreError, MapError."""

    def edition(old: Map | None) -> Edition | None:
        sites = _with_pins(old.sites if old else {}, store.pins.of_sites())
        return _next(old, sites, "pins")

    return _published(store, edition)


def roll_back(store: Store, version: int) -> Published:
    """Publish an earlier version once more; what is pinned now stays pinned.

    What may go now and might not go then counts as important from here on: to go again it must pass
    the gate, by what later runs see.

    Raises:
        MapError: this version is not kept, or is damaged.
        StoreError: the file refuses.
    """

    def edition(old: Map | None) -> Edition | None:
        then = store.maps.read(version)
        if old is None or then is None:
            raise MapError(f"{store.path}: version {version} is not kept; see: maps.py list")
        run = store.journal.newest()
        mattered = {
            site: [*store.maps.mattered(site), *taken]
            for site, before in old.sites.items()
            if (taken := taken_back(before, then.sites.get(site), run))
        }
        sites = _with_pins(then.sites, store.pins.of_sites())
        new = _next(old, sites, f"back to version {version}")
        return None if new is None else replace(new, mattered=_distinct(mattered))

    return _published(store, edition)


def _published(store: Store, edition: Callable[[Map | None], Edition | None]) -> Published:
    for _ in range(_TRIES):
        old = store.maps.newest()
        base = old.version if old is not None else 0
        made = edition(old)
        if made is None:
            return Published(base, False)
        try:
            store.maps.publish(made, base)
        except OutdatedError:
            continue
        version = made.map.version if made.map is not None else base
        return Published(version, version > base, made.decisions)
    raise MapError(f"{store.path}: other processes publish all the time; try again later")


def _weighed_edition(
    store: Store, run_id: int | None, rules: Judging, accept: frozenset[str], old: Map | None
) -> Edition | None:
    known, imported = store.corpus.sites(), store.maps.imported()
    before = old.sites if old is not None else {}
    sites, mattered, decisions = dict[str, SiteMap](), dict[str, list[Mattered]](), []
    for site in sorted({*known, *imported}):
        found, runs = _weighed(store, run_id, site, rules) if site in known else (None, {})
        new = _with_imported(found or SiteMap(site, ()), imported.get(site))
        if not new.contexts and not new.inferred:
            continue
        remembered = store.maps.mattered(site)
        passage = decide(before.get(site), new, remembered, runs, accept=site in accept)
        sites[site] = passage.site
        if list(passage.mattered) != remembered:
            mattered[site] = list(passage.mattered)
        if _is_news(passage, before.get(site)):
            decisions.append(passage.decision)
    made = _next(old, _with_pins(sites, store.pins.of_sites()), _note(run_id))
    if made is None and not mattered and not decisions:
        return None
    made = made or Edition(None)
    return replace(made, run_id=run_id, decisions=tuple(decisions), mattered=mattered)


def _is_news(passage: Passage, before: SiteMap | None) -> bool:
    decision = passage.decision
    unpinned = replace(before, pins=()) if before is not None else None
    return replace(passage.site, pins=()) != unpinned or not decision.accepted


def _note(run_id: int | None) -> str:
    return "by hand" if run_id is None else f"run {run_id}"


def _next(old: Map | None, sites: Mapping[str, SiteMap], note: str) -> Edition | None:
    """The next version with these sites; None when it would be the same."""
    if dict(old.sites if old is not None else {}) == dict(sites):
        return None
    number = old.version + 1 if old is not None else 1
    return Edition(Map(number, now(), {site: sites[site] for site in sorted(sites)}), note)


def _with_pins(
    sites: Mapping[str, SiteMap], pins: Mapping[str, tuple[Pin, ...]]
) -> dict[str, SiteMap]:
    """The sites with what is pinned, and no others that say nothing."""
    return {
        site: replace(found, pins=pins.get(site, ()))
        for site in sorted({*sites, *pins})
        for found in (sites.get(site, SiteMap(site, ())),)
        if found.contexts or found.inferred or site in pins
    }


def _with_imported(own: SiteMap, imported: SiteMap | None) -> SiteMap:
    """What was found out here, and for patterns that were not judged here what others found."""
    if imported is None:
        return own
    if not own.contexts:
        return replace(imported, pins=())
    known = {found.context for found in own.contexts}
    others = tuple(found for found in imported.contexts if found.context not in known)
    return replace(own, contexts=own.contexts + others, inferred=own.inferred + imported.inferred)


def _distinct(mattered: Mapping[str, Iterable[Mattered]]) -> dict[str, list[Mattered]]:
    """One memory a place: the latest, which counts for both if either did."""
    found: dict[str, list[Mattered]] = {}
    for site, all_of_it in mattered.items():
        places: dict[object, Mattered] = {}
        for each in all_of_it:
            was = places.get(each.place, each)
            wire, key = was.wire or each.wire, was.key or each.key
            run = max(was.run, each.run)
            places[each.place] = replace(each, wire=wire, key=key, run=run)
        found[site] = list(places.values())
    return found


def _weighed(
    store: Store, run_id: int | None, site: str, rules: Judging
) -> tuple[SiteMap, dict[Context, int]]:
    """A site's verdicts, weighed anew with what its contexts say of each other, and stored.

    With them the run that the evidence of each context comes from.
    """
    contexts = {stored.context: stored.id for stored in store.corpus.contexts(site)}
    judged = [
        Judged(context, tuple(trials))
        for context, id_ in contexts.items()
        if (trials := store.evidence.trials(id_))
    ]
    before = {found.context: found for found in store.evidence.verdicts(site)}
    verdicts = review(judged, rules)
    for found in verdicts:
        if before.get(found.context) != found:
            store.evidence.save_verdicts(run_id, contexts[found.context], found.verdicts)
    # In an order of their own: how often each was seen changes daily, and is no news.
    in_order = sorted(verdicts, key=lambda found: found.context)
    runs = {found.context: store.evidence.run_of(contexts[found.context]) for found in verdicts}
    return SiteMap(site, tuple(in_order), store.corpus.open_prefixes(site)), runs
