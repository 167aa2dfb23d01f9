"""A list of URLs as people have them, made from a seed, as long as wanted, in little memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import BinaryIO

from benches.made_urls import PAGES, WORDS, Kind, kinds, site_name

SITES = 5_000
"""The n-th of them gets the n-th part of the lines of the first (Zipf)."""

_AT_ONCE = 10_000
_UNFIT = 0.2
# Most of what cannot be used has no query; the rest is what lists of links are full of.
_UNFIT_KINDS = (
    *[lambda where, n: f"https://{where}/wiki/page-{n}"] * 12,
    *[lambda where, n: f"http://{where}/"] * 2,
    lambda where, n: f"mailto:someone{n}@{where}",
    lambda where, n: f"https://{where}/cart/add?id={n}",
    lambda where, n: f"https://{where}/account/logout?return={n}",
    lambda where, n: f"https://me:secret@{where}/p?id={n}",
    lambda where, n: f"https://{where}/a title with spaces?id={n}",
    lambda where, n: f"https://{where}/p?q=\udcff{n}",
)


def write_lines(file: BinaryIO, count: int, seed: int = 1) -> None:
    """Write so many lines; one in five is a URL that cannot become a sample."""
    draw = random.Random(seed)
    weights = list(accumulate(1 / rank for rank in range(1, SITES + 1)))
    for done in range(0, count, _AT_ONCE):
        number = min(_AT_ONCE, count - done)
        sites = draw.choices(range(SITES), cum_weights=weights, k=number)
        text = "".join(f"{line}\n" for line in _lines(sites, draw))
        file.write(text.encode("utf-8", "surrogateescape"))


def _lines(sites: list[int], draw: random.Random) -> Iterator[str]:
    chance, choice = draw.random, draw.choice
    for site in sites:
        if chance() < _UNFIT:
            yield choice(_UNFIT_KINDS)(_site_name(site), _often_small(draw))
            continue
        kind: Kind = choice(kinds(site))
        # Of the patterns of a page few are seen often.
        names = kind.patterns[int(len(kind.patterns) * chance() ** 2)]
        items = [f"{name}={_value(draw)}" for name in names]
        yield f"https://{_site_name(site)}{kind.path.format(_hole(draw))}?{'&'.join(items)}"


def _often_small(draw: random.Random) -> int:
    """A number that was often seen before: half of them are below 1,000."""
    return int(1_000_000 ** draw.random())


def _hole(draw: random.Random) -> str:
    shape = draw.random()
    if shape < 0.8:
        return str(_often_small(draw))
    if shape < 0.9:
        return draw.choice(PAGES)
    return f"{draw.choice(WORDS)}-{draw.choice(WORDS)}-{draw.choice(WORDS)}_{_often_small(draw)}"


def _value(draw: random.Random) -> str:
    shape = draw.random()
    if shape < 0.5:
        return str(_often_small(draw))
    if shape < 0.9:
        return draw.choice(WORDS)
    return f"{draw.getrandbits(96):024x}"


_site_name = lru_cache(maxsize=None)(site_name)
