"""What a run is to judge: which contexts are due, by which samples, with which values beside."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import zip_longest

from miqps import query, urls
from miqps.eligibility import unfit
from miqps.gate import unconfirmed
from miqps.mapping import ContextVerdicts, Map, SiteMap
from miqps.priors import Priors
from miqps.settings import JUDGE, JUDGING, Judging
from miqps.store import Store, StoredContext
from miqps.store.file import days_ago
from miqps.task import Task
from miqps.trackers import is_tracker
from miqps.urls import Context

_POOL = 50
"""Values from elsewhere that are kept a name and context: more are never tried."""

_OF_THE_MOMENT = dict.fromkeys(("max_renders", "max_minutes", "delay"))
"""What a run that was cut off may do otherwise when it goes on: nothing looks different for it."""


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
    max_minutes: float | None = None

    delay: float | None = None
    """Seconds between two renders of a registrable domain; None: as usual."""

    again: bool = False
    """Judge contexts again that were judged before."""

    stale: float | None = None
    """Days after which a judgement is made again, and at once when an older judge made it."""

    off: tuple[str, ...] = ()
    """Never-touch classes that are switched off."""

    def as_settings(self) -> str:
        """What runs are told apart by: one that was cut off goes on when this is the same."""
        return json.dumps({**asdict(self), **_OF_THE_MOMENT, "judge": JUDGE}, sort_keys=True)


def last_rules(store: Store) -> Judging:
    """How the last run weighed its evidence; the usual way when there was none."""
    settings = json.loads(store.journal.last_settings() or "{}")
    known = {field.name for field in fields(Judging)}
    return Judging(**{k: v for k, v in settings.get("rules", {}).items() if k in known})


def agenda(
    store: Store, plan: Plan, priors: Priors | None = None
) -> list[tuple[StoredContext, Task]]:
    """What is due, the most valuable first, the sites by turns: each is asked slowly.

    Args:
        store: where everything is.
        plan: what the run is to do.
        priors: what lists say of parameters.

    Raises:
        MapError: the published map in the store is damaged.
    """
    # The published map, not the evidence: a run that goes on must guess what it guessed before.
    published = store.maps.newest()
    by_site = []
    for site in plan.hosts or store.corpus.sites():
        stored = store.corpus.contexts(site)
        verdicts = store.evidence.verdicts(site)
        decided = {
            found.context: {v.name for v in found.verdicts if v.decision != "undecided"}
            for found in verdicts
        }
        held = _held_back(store, site, verdicts, stored)
        ranked = sorted(
            (
                (_worth(c, decided.get(c.context, ()), plan), c)
                for c in stored
                if due(c, plan) or (c.urls and c.context in held)
            ),
            key=lambda each: (-each[0], -each[1].hits, each[1].context),
        )[: plan.rules.top_patterns]
        worths = {c.id: worth for worth, c in ranked}
        known = _known_to_matter(published, site)
        off = frozenset(plan.off)
        queued = tasks(store, stored, [c for _, c in ranked], off, known, priors)
        by_site.append([(worths[c.id], c, task) for c, task in queued])
    rounds = (filter(None, one_of_each) for one_of_each in zip_longest(*by_site))
    return [
        (c, task)
        for one_of_each in rounds
        for _, c, task in sorted(one_of_each, key=lambda each: -each[0])
    ]


def _worth(stored: StoredContext, decided: Collection[str], plan: Plan) -> int:
    """Traffic times what is not known of it: names without a verdict, known tags aside."""
    if stored.judged_by != plan.content_id:
        decided = ()
    unknown = sum(n not in decided and not is_tracker(n) for n in stored.context.names)
    return stored.hits * unknown


def due(stored: StoredContext, plan: Plan) -> bool:
    """Whether a context is to be judged: it never was, was left open and more is known now, is
    stale, or has drifted.

    What another content ID said does not count: it answered another question.
    """
    if not stored.urls:
        return False
    if plan.again or not stored.judged_urls or stored.judged_by not in ("", plan.content_id):
        return True
    if plan.stale is not None and (stored.judge < JUDGE or stored.judged < days_ago(plan.stale)):
        return True
    if stored.drifted > stored.judged:
        return True
    return stored.urls > stored.judged_urls and stored.undecided > 0


def tasks(
    store: Store,
    all_contexts: Sequence[StoredContext],
    chosen: Sequence[StoredContext],
    off: frozenset[str] = frozenset(),
    known: frozenset[str] = frozenset(),
    priors: Priors | None = None,
) -> list[tuple[StoredContext, Task]]:
    """The chosen contexts with their samples, and with what is known of their names elsewhere.

    `off` holds never-touch classes that do not count, `known` names that matter on the site,
    `priors` what lists say.
    """
    priors = priors or Priors()
    samples = {
        stored.id: [url for url in store.corpus.urls_of(stored.id) if not unfit(url, off)]
        for stored in all_contexts
    }
    seen: dict[str, dict[str, dict[str, None]]] = {}
    for stored in all_contexts:
        for url in samples[stored.id]:
            for name in stored.context.names:
                values = seen.setdefault(name, {}).setdefault(stored.context.path, {})
                values.update(dict.fromkeys(query.values(url, name)[:1]))
    return [
        (
            stored,
            Task(
                context=stored.context,
                urls=tuple(samples[stored.id]),
                pool={n: _nearest(seen[n], stored.context.path) for n in stored.context.names},
                known=known & set(stored.context.names),
                listed=priors.listed(samples[stored.id][0], stored.context.names),
            ),
        )
        for stored in chosen
        if samples[stored.id]
    ]


def _held_back(
    store: Store,
    site: str,
    verdicts: Sequence[ContextVerdicts],
    stored: Sequence[StoredContext],
) -> frozenset[Context]:
    """What the gate held back at the end of an earlier run: another look has to confirm it."""
    mattered = store.maps.mattered(site)
    if not mattered:
        return frozenset()
    numbers = {each.context: each.id for each in stored}
    runs = {
        found.context: store.evidence.run_of(numbers[found.context])
        for found in verdicts
        if found.context in numbers and found.neutral | found.neutral_in_keys
    }
    known = SiteMap(site, tuple(verdicts), store.corpus.open_prefixes(site))
    return unconfirmed(known, mattered, runs)


def _known_to_matter(published: Map | None, site: str) -> frozenset[str]:
    known = published.sites.get(site) if published is not None else None
    return frozenset(
        verdict.name
        for context in (known.contexts if known is not None else ())
        for verdict in context.verdicts
        if "important" in (verdict.decision, verdict.key)
    )


def _nearest(by_path: dict[str, dict[str, None]], path: str) -> tuple[str, ...]:
    near = list(by_path.get(path, ()))
    far = [value for other, values in by_path.items() if other != path for value in values]
    return tuple(dict.fromkeys(near + far))[:_POOL]


def known_site(store: Store, host: str) -> str | None:
    """The site of the corpus that a user means by a host name, a site or a URL."""
    sites = store.corpus.sites()
    asked = urls.site(host) or urls.site(f"http://{host}") or host.lower()
    if asked in sites:
        return asked
    matching = [site for site in sites if site.rpartition(":")[0] == asked]
    return matching[0] if len(matching) == 1 else None
