"""What one reader has in memory: contexts, how often each was seen, and the URLs worth keeping.

Nearly all URLs of a crawl belong to contexts that have samples enough. So a URL is looked at in
three steps, each of which only a part of them reaches: which context it belongs to, and that it was
seen; whether its values are among the smallest by their hashes; whether it may be stored at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from miqps import eligibility, query, urls
from miqps.bulk.runs import Gathered, Paths, Record
from miqps.bulk.samples import PathSample, Samples
from miqps.redaction import redact
from miqps.reservoir import LISTED, REDACTED, VISITED, digest
from miqps.sifting import SECRET_NAME

NO_HOST = "no valid host"
NO_PARAMETER = "no named parameter"

_REMEMBERED = 100_000
"""What stands before the query, or is a value, for which the work is not done again."""

_OF_URL, _OF_CONTEXT = 420, 2_200
"""Bytes of memory that each takes, beside its own text."""


class _Place(NamedTuple):
    """What stands before a query."""

    paths: PathSample
    contexts: dict[tuple[str, ...], dict[str, Samples]]
    template: str
    path: int
    """Its hash."""


class _Pattern(NamedTuple):
    """The names of a query, sorted, and in the order in which they stand."""

    names: tuple[str, ...]
    places: list[int]
    """Where the first item of each name stands."""

    of_items: list[str]

    def values(self, pieces: list[tuple[str, str, str]]) -> list[str]:
        """Of each name its value, as `Reservoir` takes them: several are joined."""
        if len(pieces) == len(self.places):
            return [pieces[place][2] for place in self.places]
        return [
            "&".join([p[2] for p, of in zip(pieces, self.of_items, strict=True) if of == name])
            for name in self.names
        ]


class Gathering:
    """The contexts of what was read since the last `spilled`.

    Attributes:
        urls: how many URLs were taken in.
        weight: bytes of memory it takes, by estimate.
        passed_over: why how many were not. A URL whose values are not wanted is not looked at
            closely, so of those that may not be stored some are counted as taken in.
    """

    def __init__(self) -> None:
        self.urls = 0
        self.weight = 0
        self.passed_over: Counter[str] = Counter()
        self._sites: dict[str, tuple[PathSample, dict[tuple[str, ...], dict[str, Samples]]]]
        self._sites = {}
        self._origins: dict[str, str | None] = {}
        self._places: dict[str, _Place] = {}
        self._patterns: dict[tuple[str, ...], _Pattern] = {}

    def add(self, url: str, visited: bool = False, seen: str = "") -> None:
        """Take a URL in, seen at an ISO 8601 time in UTC; empty for now."""
        head, _, raw = url.partition("#")[0].partition("?")
        pieces = [item.partition("=") for item in raw.split("&") if item]
        if not pieces:
            self.passed_over[NO_PARAMETER] += 1
            return
        place = self._places.get(head) or self._place(head)
        if place is None:
            self.passed_over[NO_HOST] += 1
            return
        raw_names = tuple([piece[0] for piece in pieces])
        pattern = self._patterns.get(raw_names) or self._pattern(raw_names)
        of_pattern = place.contexts.get(pattern.names)
        if of_pattern is None:
            of_pattern = place.contexts[pattern.names] = {}
        samples = of_pattern.get(place.template)
        if samples is None:
            samples = of_pattern[place.template] = Samples(pattern.names)
            self.weight += _OF_CONTEXT + 100 * len(pattern.names)
        self.urls += 1
        samples.hits += 1
        if seen > samples.last:
            samples.last = seen
        standing = VISITED if visited else LISTED
        if url in samples.urls:
            samples.see(url, standing, 1, seen)
        elif not samples.is_full:
            samples.note(url, standing, seen)
            self.weight += _OF_URL + len(url)
            if samples.is_crowded:
                self.weight -= samples.trim(self.passed_over) * (_OF_URL + len(url))
        elif samples.wants(place.path, pattern.values(pieces), standing, url):
            self._keep(samples, url, standing, seen)

    def spilled(self) -> Iterator[Record]:
        """What there is, site by site, in the order of `Record.key`; nothing is left of it."""
        sites, self._sites, self._places = self._sites, {}, {}
        self.weight = 0
        for site in sorted(sites):
            paths, contexts = sites.pop(site)
            yield Paths(site, paths.smallest())
            keys = sorted((path, names) for names, of in contexts.items() for path in of)
            for path, names in keys:
                samples = contexts[names].pop(path)
                samples.trim(self.passed_over)
                yield Gathered(site, path, names, samples.hits, samples.last, list(samples))

    def _place(self, head: str) -> _Place | None:
        if len(self._places) >= _REMEMBERED:
            self._places.clear()
        # Behind the slashes of the scheme; a host of one letter ends at the first place looked at.
        end = head.find("/", 8)
        origin, path = (head, "/") if end < 0 else (head[:end], head[end:])
        if origin not in self._origins:
            if len(self._origins) >= _REMEMBERED:
                self._origins.clear()
            self._origins[origin] = urls.site(origin)
        site = self._origins[origin]
        if site is None:
            return None
        found = self._sites.get(site)
        if found is None:
            found = self._sites[site] = PathSample(), {}
        paths, contexts = found
        of_path = digest(path)
        if of_path < paths.bar and of_path not in paths.kept:
            self.weight += paths.keep(of_path, path)
        place = self._places[head] = _Place(paths, contexts, urls.path_template(path), of_path)
        return place

    def _pattern(self, raw_names: tuple[str, ...]) -> _Pattern:
        if len(self._patterns) >= _REMEMBERED:
            self._patterns.clear()
        of_items = [query.name_of(raw) for raw in raw_names]
        names = tuple(sorted(set(of_items)))
        pattern = self._patterns[raw_names] = _Pattern(
            names, list(map(of_items.index, names)), of_items
        )
        return pattern

    def _keep(self, samples: Samples, url: str, standing: int, seen: str) -> None:
        reason = eligibility.unfit(url)
        clean = None if reason else redact(url)
        if clean is None:
            self.passed_over[reason or SECRET_NAME] += 1
            return
        more = samples.keep(clean, standing if clean == url else REDACTED, 1, seen)
        self.weight += more * (_OF_URL + len(clean))
