"""The gate between what was found out and the map that traffic is rewritten by.

The dangerous change is from important to neutral. When more than a set share of a site's contexts
make it at once, the site or the run is broken far likelier than the site has changed (the paper's
rule): that site keeps what was published, the others go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from miqps.mapping import Map, SiteMap, Verdict
from miqps.settings import PUBLISHING, Judging, Publishing
from miqps.store import Store, now
from miqps.weighing import Judged, review


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether a site's new verdicts may be published."""

    site: str
    accepted: bool
    contexts: int
    """Contexts that were published before and are known still."""

    lost: int
    """Those of them in which an important parameter would become neutral."""

    reason: str


def decide(old: SiteMap | None, new: SiteMap, rules: Publishing = PUBLISHING) -> GateDecision:
    """Compare a site's new verdicts with its published ones."""
    if old is None:
        return GateDecision(new.site, True, 0, 0, "new site")
    now = {found.context: {v.name: v for v in found.verdicts} for found in new.contexts}
    known = [found for found in old.contexts if found.context in now]
    lost = sum(
        any(_is_lost(before, now[found.context].get(before.name)) for before in found.verdicts)
        for found in known
    )
    share = lost / len(known) if known else 0.0
    accepted = share <= rules.max_lost_share
    said = f"{lost} of {len(known)} contexts lose an important parameter"
    if not accepted:
        said += f": more than {rules.max_lost_share:.0%}, the published verdicts stay"
    return GateDecision(new.site, accepted, len(known), lost, said)


def _is_lost(before: Verdict, after: Verdict | None) -> bool:
    """Whether a parameter that mattered, on the wire or in a key, may go there now."""
    return after is not None and any(
        (old, new) == ("important", "neutral")
        for old, new in ((before.decision, after.decision), (before.in_key, after.in_key))
    )


def merge(
    old: Map | None, new: Iterable[SiteMap], decisions: Iterable[GateDecision], created: str
) -> Map | None:
    """The next version: the published map with accepted sites replaced; None if none changed."""
    accepted = {decision.site for decision in decisions if decision.accepted}
    before = dict(old.sites) if old is not None else {}
    after = before | {site.site: site for site in new if site.site in accepted}
    if old is not None and after == before:
        return None
    return Map(version=old.version + 1 if old is not None else 1, created=created, sites=after)


@dataclass(frozen=True, slots=True)
class Published:
    """What came of publishing."""

    version: int
    """The version in force now; 0 when there is none."""

    is_new: bool
    decisions: tuple[GateDecision, ...]


def publish(store: Store, run_id: int, rules: Judging) -> Published:
    """Weigh all evidence in the store, let what passes the gate through, and store the next map.

    Raises StoreError, and MapError when the published map in the store is damaged.
    """
    old = store.maps.newest()
    sites = [_weighed(store, run_id, site, rules) for site in store.corpus.sites()]
    sites = [site for site in sites if site.contexts]
    decisions = []
    for site in sites:
        before = old.sites.get(site.site) if old is not None else None
        if before == site:
            continue
        decision = decide(before, site)
        store.maps.save_gate(
            run_id,
            site.site,
            accepted=decision.accepted,
            contexts=decision.contexts,
            lost=decision.lost,
            reason=decision.reason,
        )
        decisions.append(decision)
    new = merge(old, sites, decisions, now())
    if new is not None and new.sites:
        store.maps.publish(new, f"run {run_id}")
        return Published(new.version, True, tuple(decisions))
    return Published(old.version if old is not None else 0, False, tuple(decisions))


def _weighed(store: Store, run_id: int, site: str, rules: Judging) -> SiteMap:
    """A site's verdicts, weighed anew with what its contexts say of each other, and stored."""
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
    return SiteMap(site, tuple(in_order), store.corpus.open_prefixes(site))
