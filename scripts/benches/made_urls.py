"""Real-looking URLs and a map that knows them, made from a seed.

The proportions follow a crawl of 100,000 real URLs: one in five has a query, the median is two
parameters and the mean five, few sites get most of the traffic, most patterns are seen once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from miqps.mapping import ContextVerdicts, Map, SiteMap, Verdict
from miqps.urls import Context, path_template


def _list(words: str) -> list[str]:
    return words.split()


TRACKERS = _list("""
    utm_source utm_medium utm_campaign utm_term utm_content gclid fbclid msclkid mc_eid _ga igshid
    spm scm trk ref_src
    """)
CONTENT = _list("""
    id page q sort category lang color size view tab offset limit order filter year type brand from
    to format currency variant section topic author tag mode
    """)
SECTIONS = _list("p product item blog news wiki catalog docs user shop video forum")
PAGES = _list("index.html search list overview reviews about all new")
WORDS = _list("""
    red blue summer garden winter bread house river stone light music paper silver green cotton
    travel simple modern family coffee
    """)
CONTEXTS_A_SITE = 20
REASONS = ("same content in every sample", "content differs", "too few values")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of page of a site: a path with holes, and the patterns seen on it."""

    path: str
    patterns: tuple[tuple[str, ...], ...]


def site_name(number: int) -> str:
    """The host of the n-th site."""
    return f"{WORDS[number % 20]}-{WORDS[number // 20 % 20]}{number}.example"


@lru_cache(maxsize=20_000)
def kinds(number: int) -> tuple[Kind, ...]:
    """The kinds of pages on the n-th site, the same ones every time."""
    draw = random.Random(number)
    found = []
    for section in draw.sample(SECTIONS, 5):
        tail = draw.choice(["", "/reviews", "/", ".html"])
        patterns = []
        while len(patterns) < CONTEXTS_A_SITE // 5:
            count = min(max(round(draw.lognormvariate(0.7, 1.1)), 1), 60)
            content = draw.sample(CONTENT, min(count, draw.randint(0, 4)))
            trackers = draw.sample(TRACKERS, min(count - len(content), len(TRACKERS)))
            extra = [f"p{n}" for n in range(count - len(content) - len(trackers))]
            names = tuple(dict.fromkeys(content + trackers + extra))
            if names and set(names) not in map(set, patterns):
                patterns.append(names)
        found.append(Kind(f"/{section}/{{}}{tail}", tuple(patterns)))
    return tuple(found)


def made_map(contexts: int) -> Map:
    """A map with that many contexts; a bigger one holds all of a smaller one."""
    sites = {}
    for number in range(contexts // CONTEXTS_A_SITE):
        site = site_name(number)
        entries = tuple(
            ContextVerdicts(Context(site, path_template(kind.path.format(7)), names), verdicts)
            for kind in kinds(number)
            for names in (tuple(sorted(pattern)) for pattern in kind.patterns)
            for verdicts in [tuple(_verdict(name, number) for name in names)]
        )
        sites[site] = SiteMap(site, entries)
    return Map(1, "2026-01-01T00:00:00Z", sites)


def made_urls(count: int, sites: int, seed: int = 1) -> list[str]:
    """That many distinct URLs, one in five with a query."""
    return list(islice(_urls(sites, random.Random(seed)), count))


def _verdict(name: str, number: int) -> Verdict:
    if name in TRACKERS:
        return Verdict(name, "neutral", REASONS[0], 10 + number % 20, 10 + number % 17)
    if name.startswith("p"):
        return Verdict(name, "undecided", REASONS[2], 2, 2)
    return Verdict(name, "important", REASONS[1], 1 + number % 5, 1, 1)


def _urls(sites: int, draw: random.Random) -> Iterator[str]:
    seen = set()
    while True:
        # Squared twice: a few sites get most of it.
        number = int(sites * draw.random() ** 4)
        kind = draw.choice(kinds(number))
        url = f"https://{site_name(number)}{kind.path.format(_hole(draw))}"
        if draw.random() < 0.2:
            url += f"?{_query(kind, draw)}"
        if url not in seen:
            seen.add(url)
            yield url


def _query(kind: Kind, draw: random.Random) -> str:
    names = list(draw.choice(kind.patterns))
    if draw.random() < 0.3:
        # A pattern that nobody has judged.
        names.append(draw.choice(CONTENT) + draw.choice(["", "_id", "2"]))
    if draw.random() < 0.5:
        draw.shuffle(names)
    return "&".join(f"{name}={_value(draw)}" for name in names)


def _hole(draw: random.Random) -> str:
    shape = draw.random()
    if shape < 0.4:
        return str(draw.randint(1, 10**7))
    if shape < 0.75:
        return "-".join(draw.choices(WORDS, k=4)) + f"_{draw.randint(1, 9999)}"
    if shape < 0.9:
        return draw.choice(PAGES)
    return f"{draw.getrandbits(64):016x}"


def _value(draw: random.Random) -> str:
    shape = draw.random()
    if shape < 0.35:
        return str(draw.randint(0, 10**6))
    if shape < 0.65:
        return draw.choice(WORDS)
    if shape < 0.85:
        return f"{draw.choice(WORDS)}%20{draw.choice(WORDS)}"
    return f"{draw.getrandbits(96):024x}"
