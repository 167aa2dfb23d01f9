"""What is kept while it is gathered: of a context the URLs, of a site some of its paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from miqps import settings
from miqps.eligibility import unfit
from miqps.redaction import redact
from miqps.reservoir import REDACTED, Reservoir, Sample, digest
from miqps.sifting import SECRET_NAME

Kept = tuple[str, int, int, str]
"""A URL, its standing, how often it was seen at that standing, and when last (ISO 8601)."""

_SLACK = 2
"""There may be so many times as many URLs as are kept before those that are not are dropped."""

_PATHS = 2_000
"""Distinct paths of a site that are kept, those with the smallest hashes, to learn from them which
positions are variables: far more than that takes."""

_OF_PATH = 180
"""Bytes of memory that one takes, beside its text."""


class PathSample:
    """The paths of a site with the smallest hashes.

    Attributes:
        kept: by their hashes; some more than are wanted in the end.
        bar: paths with this hash or a bigger one are not wanted.
    """

    __slots__ = ("bar", "kept")

    def __init__(self) -> None:
        self.kept: dict[int, str] = {}
        self.bar = 1 << 64

    def keep(self, id_: int, path: str) -> int:
        """Take in a path that is below the bar; returns by how many bytes the sample grew."""
        self.kept[id_] = path
        if len(self.kept) < 2 * _PATHS:
            return _OF_PATH + len(path)
        wanted = sorted(self.kept)[:_PATHS]
        self.bar = wanted[-1]
        self.kept = {id_: self.kept[id_] for id_ in wanted}
        return -_PATHS * (_OF_PATH + len(path))

    def smallest(self) -> list[str]:
        """The sample."""
        return [self.kept[id_] for id_ in sorted(self.kept)[:_PATHS]]


class Samples:
    """The URLs of a context of which a corpus would keep any, and some more.

    Args:
        names: the pattern.
    """

    __slots__ = ("_names", "_reservoir", "_unchecked", "hits", "last", "urls")

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._reservoir: Reservoir | None = None
        self._unchecked: set[str] = set()
        self.hits = 0
        self.last = ""
        self.urls: dict[str, tuple[int, int, str]] = {}
        """Standing, hits at that standing, and when it was last seen."""

    def __iter__(self) -> Iterator[Kept]:
        for url, (standing, hits, seen) in self.urls.items():
            yield url, standing, hits, seen

    def see(self, url: str, standing: int, hits: int, seen: str) -> bool:
        """Count a URL that is there; False: it is not.

        What was seen at a lower standing does not count: the URL may have been dropped then, or
        not, and the outcome must not depend on it.
        """
        known = self.urls.get(url)
        if known is None:
            return False
        if standing < known[0]:
            self.urls[url] = standing, hits, seen
        elif standing == known[0]:
            self.urls[url] = standing, known[1] + hits, max(known[2], seen)
        return True

    def wants(self, path: int, values: Iterable[str], standing: int, url: str) -> bool:
        """Whether a URL with this hash of its path and these values may be one of those to keep."""
        return self._reservoir is None or self._reservoir.takes(path, values, standing, url)

    def keep(self, url: str, standing: int, hits: int, seen: str) -> int:
        """Take in a URL that may be stored; returns by how many there are more now."""
        if self.see(url, standing, hits, seen):
            return 0
        self.urls[url] = standing, hits, seen
        if self._reservoir is not None:
            self._reservoir.offer(Sample(url, digest(url), standing))
        if self.is_crowded:
            return 1 - self.trim()
        return 1

    def note(self, url: str, standing: int, seen: str) -> None:
        """Take in a URL that may be stored or not: `trim` finds out, should it be among the best.

        Only as long as there is no reservoir.
        """
        self.urls[url] = standing, 1, seen
        self._unchecked.add(url)

    @property
    def is_crowded(self) -> bool:
        """Whether it is time to trim."""
        return len(self.urls) >= _SLACK * settings.CORPUS.urls_per_context

    @property
    def is_full(self) -> bool:
        """Whether there is a reservoir to ask."""
        return self._reservoir is not None

    def trim(self, passed_over: Counter[str] | None = None) -> int:
        """Drop what is not to be kept, and what may not be stored; returns how many went.

        Args:
            passed_over: counts why how many may not be stored.
        """
        before = len(self.urls)
        while True:
            if self._reservoir is None:
                self._reservoir = _reservoir(self._names)
                for url, known in self.urls.items():
                    self._reservoir.offer(Sample(url, digest(url), known[0]))
            best = [url for url in self.urls if digest(url) in self._reservoir]
            doubtful = self._unchecked.intersection(best)
            self._unchecked -= doubtful
            # All are still there, so whoever takes the place of one that goes is the next best.
            if not sum([self._is_other(url, passed_over) for url in sorted(doubtful)]):
                break
            self._reservoir = None
        self.urls = {url: self.urls[url] for url in best}
        self._unchecked.clear()
        return before - len(self.urls)

    def _is_other(self, url: str, passed_over: Counter[str] | None) -> bool:
        """Look closely at a URL; True: it had to go, or had to be redacted."""
        reason = unfit(url)
        clean = None if reason else redact(url)
        if clean == url:
            return False
        _, hits, seen = self.urls.pop(url)
        if clean is not None:
            if not self.see(clean, REDACTED, hits, seen):
                self.urls[clean] = REDACTED, hits, seen
        elif passed_over is not None:
            passed_over[reason or SECRET_NAME] += hits
        return True


def _reservoir(names: tuple[str, ...]) -> Reservoir:
    """Room for all that any corpus would keep, whether or not the path turns out to be open."""
    room = settings.CORPUS.urls_per_context // len(names)
    return Reservoir(names, True, room * (len(names) + 1), settings.CORPUS.values_per_name)
