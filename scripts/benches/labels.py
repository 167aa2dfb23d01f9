"""What is known about the parameters of a site, and how a map measures up to it."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from miqps import query, urls

Pattern = tuple[str, tuple[str, ...]]
"""A path, `{...}` standing for any segment, and the names of a query."""

_PAIR = re.compile(r"pair\(([^)]*)\)", re.IGNORECASE)
_NEUTRAL, _UNSEEN = "neutral", "unseen"


@dataclass(frozen=True, slots=True)
class Label:
    """The truth about one parameter of one pattern."""

    pattern: Pattern
    name: str
    truth: str
    """neutral: it may go. unseen: it may, but nobody can see it. All else must stay."""

    pair: str = ""
    """The name of which it says the same: either may go, not both."""


@dataclass(frozen=True, slots=True)
class Case:
    """A parameter of a URL, and what the map says of it."""

    url: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Score:
    """How a map measures up."""

    wrong: tuple[Case, ...]
    """Parameters that matter and were dropped."""

    kept: tuple[Case, ...]
    """Parameters that may go and have enough values, and were kept."""

    found: int
    neutral: int
    found_with_samples: int
    neutral_with_samples: int
    """Those that the list has enough values of."""


Cleaner = Callable[[str], str]


def read_patterns(path: Path) -> list[Label]:
    """Labels by pattern: columns pattern (`PATH?name&name`), param, label, why."""
    labels = []
    for row in _rows(path):
        template, _, names = row["pattern"].partition("?")
        pair = _PAIR.search(row.get("why") or "")
        pattern = (template, tuple(sorted(names.split("&"))) if names else ())
        labels.append(Label(pattern, row["param"], row["label"], pair[1] if pair else ""))
    return labels


def read_paths(path: Path, addresses: Sequence[str]) -> list[Label]:
    """Labels by path: columns path, parameter, truth; each holds for all patterns of its path.

    What says the same is `pair(NAME)`, or just `pair` where a path has one.
    """
    truths = {(row["path"], row["parameter"]): row["truth"] for row in _rows(path)}
    labels = {}
    for address in addresses:
        pattern = (urls.path(f"http://x{address}"), query.names(address))
        for name in pattern[1]:
            truth = truths[pattern[0], name]
            named = _PAIR.match(truth)
            others = (n for n in pattern[1] if n != name and truths[pattern[0], n] == "pair")
            pair = named[1] if named else next(others, "") if truth == "pair" else ""
            labels[pattern, name] = Label(pattern, name, truth, pair)
    return list(labels.values())


def score(
    labels: Iterable[Label],
    addresses: Sequence[str],
    clean: Cleaner,
    reason: Callable[[str, str], str],
    enough: int,
) -> Score:
    """Hold what a map drops against the labels.

    Args:
        labels: the truth.
        addresses: URLs of the site.
        clean: what the map makes of a URL.
        reason: why a name of a URL is dropped.
        enough: distinct values of a parameter that a judge can do with.
    """
    by_pattern: defaultdict[Pattern, list[Label]] = defaultdict(list)
    for label in labels:
        by_pattern[label.pattern].append(label)
    wrong: list[Case] = []
    drops: defaultdict[Label, list[bool]] = defaultdict(list)
    values: defaultdict[Label, set[tuple[str, ...]]] = defaultdict(set)
    examples: dict[Label, str] = {}
    for address in addresses:
        gone = set(query.names(address)) - set(query.names(clean(address)))
        for label in _of(address, by_pattern):
            examples.setdefault(label, address)
            values[label].add(query.values(address, label.name))
            is_free = label.truth in (_NEUTRAL, _UNSEEN) or (label.pair and label.pair not in gone)
            if label.name in gone and not is_free:
                wrong.append(Case(address, label.name, reason(address, label.name)))
            drops[label].append(bool(gone & {label.name, label.pair}))
    may_go = [label for label in drops if label.truth == _NEUTRAL or label.pair > label.name]
    found = {label for label in may_go if 2 * sum(drops[label]) >= len(drops[label])}
    sampled = {label for label in may_go if len(values[label]) >= enough}
    kept = tuple(
        Case(examples[label], label.name, reason(examples[label], label.name))
        for label in may_go
        if label in sampled - found
    )
    return Score(tuple(wrong), kept, len(found), len(may_go), len(found & sampled), len(sampled))


def _of(address: str, by_pattern: dict[Pattern, list[Label]]) -> list[Label]:
    """The labels of the pattern that a URL has; of several templates the most literal one."""
    path, names = urls.path(address), query.names(address)
    fitting = [pattern for pattern in by_pattern if pattern[1] == names and _fits(path, pattern[0])]
    return by_pattern[min(fitting, key=lambda p: p[0].count("{"))] if fitting else []


def _fits(path: str, template: str) -> bool:
    literal = map(re.escape, re.split(r"\{[^}]*\}", template))
    return re.fullmatch("[^/]+".join(literal), path) is not None


def _rows(path: Path) -> Iterable[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
