"""From the runs of all readers to the samples of each site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter

from miqps import settings, urls
from miqps.bulk.runs import Paths, Record
from miqps.bulk.samples import PathSample, Samples
from miqps.observation import Observation
from miqps.redaction import redact
from miqps.reservoir import REDACTED, VISITED, digest
from miqps.store import ImportedFile, Store
from miqps.store.imports import note
from miqps.urls import Context

_BATCH = 20_000
"""URLs a transaction."""

_Gathered = dict[tuple[str, tuple[str, ...]], Samples]


@dataclass(frozen=True, slots=True)
class Site:
    """What is known of one site."""

    site: str
    open_prefixes: frozenset[str]
    contexts: list[tuple[Context, Samples]]
    """The most seen first."""

    left: int
    """Contexts that were seen less than those, or had no URL to be asked for."""


def sites(records: Iterable[Record], top: int) -> Iterator[Site]:
    """The sites of records that come in the order of their keys.

    Args:
        records: of one share of the sites, from all runs.
        top: how many contexts a site has at most.
    """
    for site, found in groupby(records, key=attrgetter("site")):
        yield _site(site, found, top)


def fill(store: Store, found: Iterable[Site], mark: str) -> tuple[int, int, int]:
    """Put sites into a store, from where an interrupted call with the same mark has come to.

    Returns how many sites, contexts and new URLs that were. Raises StoreError.
    """
    done = store.imports.known(mark)
    number = contexts = new = 0
    batch: list[Observation] = []
    rest: list[tuple[Context, int]] = []

    def flush() -> None:
        nonlocal new, batch, rest
        also = partial(note, imported=ImportedFile(mark, 0, 0), entries=number)
        new += store.corpus.add(batch, rest=rest, also=also)
        batch, rest = [], []

    for number, site in enumerate(found, 1):
        contexts += len(site.contexts)
        if number <= done:
            continue
        store.corpus.open_paths(site.site, site.open_prefixes)
        for context, samples in site.contexts:
            kept = [_observation(*each) for each in samples]
            batch += kept
            rest.append((context, samples.hits - sum(seen.hits for seen in kept)))
        if len(batch) >= _BATCH:
            flush()
    flush()
    return number, contexts, new


def _observation(url: str, standing: int, hits: int, seen: str) -> Observation:
    return Observation(url, standing == VISITED, hits, seen, standing == REDACTED)


def _site(site: str, found: Iterator[Record], top: int) -> Site:
    paths = PathSample()
    prefixes: frozenset[str] | None = None
    contexts: _Gathered = {}
    left = 0
    for record in found:
        if isinstance(record, Paths):
            for path in record.paths:
                if (id_ := digest(path)) < paths.bar:
                    paths.keep(id_, path)
            continue
        if prefixes is None:
            prefixes = urls.learn_open_prefixes(_presentable(site, paths.smallest()))
        key = urls.refolded(record.path, prefixes), record.names
        samples = contexts.get(key)
        if samples is None:
            samples = contexts[key] = Samples(record.names)
        samples.hits += record.hits
        samples.last = max(samples.last, record.last)
        for kept in record.urls:
            samples.keep(*kept)
        if len(contexts) >= 2 * settings.CORPUS.contexts_per_site:
            left += _drop_least_seen(contexts, settings.CORPUS.contexts_per_site)
    left += _drop_least_seen(contexts, top)
    for samples in contexts.values():
        samples.trim()
    named = [(Context(site, *key), samples) for key, samples in contexts.items()]
    return Site(site, prefixes or frozenset(), named, left)


def _presentable(site: str, paths: Iterable[str]) -> Iterator[str]:
    """Paths without secrets: of what is learned from them something is stored."""
    for path in paths:
        clean = redact(f"https://{site}{path}?x")
        if clean is not None:
            yield urls.path(clean)


def _drop_least_seen(contexts: _Gathered, most: int) -> int:
    """Leave the most seen contexts that have URLs, in that order; gives how many went."""
    ranked = sorted(contexts, key=lambda key: (-contexts[key].hits, key))
    kept = [key for key in ranked if contexts[key].urls][:most]
    left = len(contexts) - len(kept)
    rest = {key: contexts[key] for key in kept}
    contexts.clear()
    contexts.update(rest)
    return left
