"""What hand-kept lists say of parameters: a prior, never a verdict.

It orders the search (what lists call a tracker is tried last to be kept) and shows in
explanations. Who trusts the lists may have them used like rules, where nothing was learned.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field

from miqps.query import split

_MOST_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Prior:
    """Names that a list takes out of some URLs."""

    url: re.Pattern[str]
    """Searched in a URL."""

    name: re.Pattern[str]
    """Matches a whole name."""

    source: str
    """The list, for people."""

    unless: tuple[re.Pattern[str], ...] = ()
    """Searched in a URL: there it says nothing."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What was read of a list."""

    priors: tuple[Prior, ...]
    passed_over: int = 0
    """Entries that say something else, or that are not understood."""


def expression(pattern: str, flags: int = 0) -> re.Pattern[str] | None:
    """A list's regular expression; None when it is none here, or one for JavaScript only."""
    with warnings.catch_warnings():
        # `[[` may come to mean something else one day; in JavaScript it does not.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return re.compile(pattern, flags)
        except (re.error, OverflowError, RecursionError):
            return None


@dataclass
class Priors:
    """All that is listed. Lists are asked by URLs without their query: none of them is secret."""

    priors: tuple[Prior, ...] = ()
    _by_place: dict[str, tuple[Prior, ...]] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.priors)

    def says(self, url: str, name: str) -> str | None:
        """The list that takes this name out of the URL; None when none does."""
        for prior in self._about(split(url)[0]):
            if prior.name.fullmatch(name):
                return prior.source
        return None

    def listed(self, url: str, names: Iterable[str]) -> frozenset[str]:
        """Those of the names that a list takes out of the URL."""
        return frozenset(name for name in names if self.says(url, name))

    def _about(self, place: str) -> tuple[Prior, ...]:
        found = self._by_place.get(place)
        if found is None:
            found = tuple(
                prior
                for prior in self.priors
                if prior.url.search(place) and not any(u.search(place) for u in prior.unless)
            )
            if len(self._by_place) >= _MOST_REMEMBERED:
                self._by_place.clear()
            self._by_place[place] = found
        return found
