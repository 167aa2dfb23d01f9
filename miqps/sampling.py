"""Which URLs speak for a context, and which values are tried beyond those that were seen in it.

Everything here is deterministic and does not depend on the order in which URLs were recorded: ties
are broken by a hash.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from miqps import query, urls

_ALPHABETS = (string.digits, "abcdef", string.ascii_lowercase, "ABCDEF", string.ascii_uppercase)


@dataclass(frozen=True, slots=True)
class Sample:
    """A URL to judge by, and the names whose values were put in from elsewhere."""

    url: str
    swapped: frozenset[str] = frozenset()
    origin: str = ""
    """The observed URL that lent its values, when they were put into another one."""


def values_of(url: str, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The raw values of each of the names; repeated names have several."""
    return {name: query.values(url, name) for name in names}


def choose(candidates: Iterable[str], names: Sequence[str], limit: int) -> list[Sample]:
    """Up to `limit` samples, each bringing as many new values (and a new path) as possible.

    Stops early when no URL brings anything new.
    """
    left = {
        url: {*values_of(url, names).items(), ("", (urls.path(url),))}
        for url in sorted(set(candidates), key=_shuffled)
    }
    seen: set[tuple[str, tuple[str, ...]]] = set()
    chosen: list[Sample] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda url: len(left[url] - seen))
        news = left.pop(best) - seen
        if not news:
            break
        seen |= news
        chosen.append(Sample(best))
    return chosen


def tried(samples: Iterable[Sample], names: Iterable[str]) -> dict[str, set[str]]:
    """The first raw value of each of the names in each of the samples."""
    found: dict[str, set[str]] = {name: set() for name in sorted(names)}
    for sample in samples:
        for name, known in found.items():
            known.update(query.values(sample.url, name)[:1])
    return found


def crossed(samples: Sequence[Sample], names: Iterable[str]) -> list[Sample]:
    """Samples in which these names have the values of the next sample."""
    names = sorted(names)
    made = []
    for sample, other in zip(samples, (*samples[1:], *samples[:1]), strict=True):
        url, swapped = sample.url, set()
        for name in names:
            values = query.values(other.url, name)
            if values and values[0] not in query.values(sample.url, name)[:1]:
                url = query.replace_value(url, name, values[0])
                swapped.add(name)
        if swapped:
            made.append(Sample(url, frozenset(swapped), origin=other.url))
    return made


def transplants(
    bases: Sequence[Sample],
    candidates: Iterable[str],
    lacking: Mapping[str, int],
    known: Mapping[str, Collection[str]],
) -> list[Sample]:
    """Samples that carry the values of observed URLs in the place of their own.

    The page without these names is there already, so each costs one render and not two; and each
    tries a new value of as many names as lack some.

    Args:
        bases: samples to put the values into, used in turn.
        candidates: observed URLs that were not used yet.
        lacking: how many more values each name should be tried with.
        known: the values that were tried.
    """
    seen = {name: set(values) for name, values in known.items()}
    left = dict(lacking)
    urls_left = sorted(set(candidates), key=_shuffled)
    made: list[Sample] = []
    while urls_left and any(count > 0 for count in left.values()):
        news = {url: _news(url, left, seen) for url in urls_left}
        best = max(urls_left, key=lambda url: len(news[url]))
        if not news[best]:
            break
        urls_left.remove(best)
        url = bases[len(made) % len(bases)].url
        for name, value in news[best].items():
            url = query.replace_value(url, name, value)
            seen[name].add(value)
            left[name] -= 1
        made.append(Sample(url, frozenset(news[best]), origin=best))
    return made


def _news(
    url: str, lacking: Mapping[str, int], seen: Mapping[str, Collection[str]]
) -> dict[str, str]:
    """The values of a URL that are new for a name that lacks some."""
    found = {}
    for name, count in lacking.items():
        values = query.values(url, name) if count > 0 else ()
        if values and values[0] not in seen[name]:
            found[name] = values[0]
    return found


def swapped(
    bases: Sequence[Sample],
    tried: Mapping[str, Collection[str]],
    pool: Mapping[str, Sequence[str]],
    least: int,
    most: int,
) -> list[Sample]:
    """Samples in which the given names carry values that were not tried yet, all at once.

    Args:
        bases: samples to put the values into, used in turn.
        tried: for each name that lacks values, the ones that were tried already.
        pool: for each name, values seen elsewhere on the site, the nearest first.
        least: distinct values a name should reach.
        most: distinct values a name should reach where the site has shown that many.

    Below `least` a value of the same shape is made, but only from values that are opaque (ids,
    tokens, times): a made-up word for `sort` or `lang` would say nothing, since sites fall back to
    their default.
    """
    fresh: dict[str, list[str]] = {}
    for name, known in tried.items():
        new = [value for value in pool.get(name, ()) if value not in known]
        del new[max(most - len(known), 0) :]
        seen = {*known, *pool.get(name, ())}
        # A constant says nothing, however opaque: it may be the one that the site knows.
        made_from = sorted(filter(opaque, seen)) if len(seen) > 1 else []
        while len(known) + len(new) < least and made_from:
            made = lookalike(made_from[0], len(new))
            if made in known or made in new:
                break
            new.append(made)
        fresh[name] = new
    samples: list[Sample] = []
    for turn in range(max(map(len, fresh.values()), default=0)):
        url = bases[turn % len(bases)].url
        names = set()
        for name, values in fresh.items():
            if turn < len(values):
                url = query.replace_value(url, name, values[turn])
                names.add(name)
        samples.append(Sample(url, frozenset(names)))
    return samples


def opaque(value: str) -> bool:
    """Whether a value says nothing by itself: an id, a token, a time stamp; no word, no number.

    >>> [opaque(v) for v in ("7f3a9c2e1b5d4f60", "1700000000123", "spring_sale", "2", "launch2026")]
    [True, True, False, False, False]
    """
    if "%" in value:
        return False
    digits = sum(c.isdigit() for c in value)
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value) if a.isalnum())
    if not any(c.isalpha() for c in value):
        return digits >= 10
    hexadecimal = all(c in string.hexdigits for c in value)
    return len(value) >= 8 and digits > 0 and (changes >= 3 or hexadecimal)


def lookalike(value: str, number: int) -> str:
    """Another value of the same shape: digits for digits, letters for letters; deterministic."""
    made = []
    for place, char in enumerate(value):
        alphabet = next((alphabet for alphabet in _ALPHABETS if char in alphabet), None)
        if alphabet is None:
            made.append(char)
        else:
            chance = hashlib.blake2b(f"{number}:{place}:{value}".encode(), digest_size=2).digest()
            made.append(alphabet[int.from_bytes(chance, "big") % len(alphabet)])
    return "".join(made)


def _shuffled(url: str) -> bytes:
    return hashlib.blake2b(url.encode(), digest_size=8).digest()
