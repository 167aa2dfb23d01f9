"""What a map says, in statements that other formats can hold: narrowed, never widened.

A verdict holds for one path template and for exactly one set of names. `exact` says it like that,
for formats with regular expressions. `coarse` is for formats that know a path and a name and
nothing else: there a name may go where every context on the path lets it go.

What depends on more than that is left out and counted: verdicts on all paths, inferred ones, pins
that strip, names whose values may show something that is never touched, and whatever would need an
escape in one of the formats, since whoever makes a link chooses the letters of its names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from miqps import classes
from miqps.mapping import ALL_PATHS, ContextVerdicts, Map, SiteMap
from miqps.rules import Rules, default_rules
from miqps.urls import path_template

ON_ALL_PATHS = "it holds on all paths that have no verdict of their own"
INFERRED = "it was inferred for patterns that were never seen"
PINNED = "it is pinned to go whatever stands beside it"
KEPT = "a rule or a pin keeps it"
VALUES = "values beside it may show what is never touched"
UNTOUCHED = "its path or pattern is never touched"
ODD_NAME = "a name beside it needs escapes"
ODD_PATH = "its path needs escapes"
FOLDED = "no path has this template, or not any more"
CHAINED = "what it leaves behind would lose more"
NOT_ALWAYS = "it matters, or is in doubt, in another pattern on its path"

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.~\[\]-]{1,200}")
_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9._~*-]*)+")
# A port that is the default of one scheme belongs to the other one, which few formats can say.
_SITE = re.compile(r"(?!.*:(?:80|443)\Z)(?:[a-z0-9._-]+(?::\d+)?|\[[0-9a-f:.]+\](?::\d+)?)")

_ID = "|".join(
    (
        "[0-9]+",
        "[A-Za-z]+[0-9]{5,}",
        "[A-Za-z]+(?:-[A-Za-z]+)*-[0-9]+",
        "[A-Za-z]+(?:-[A-Za-z]+){3,}",
        "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    )
)
"""Segments that are a variable on every site: a part of what `urls.path_template` folds, in words
that JavaScript, PCRE and RE2 share."""


@dataclass(frozen=True, slots=True)
class Statement:
    """On this site, below this template, with exactly these names, these may go."""

    site: str
    path: str
    names: tuple[str, ...]
    drop: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """What can be said of a map, and of how many neutral verdicts it cannot, by reason."""

    statements: tuple[Statement, ...]
    left_out: Mapping[str, int]

    @property
    def said(self) -> int:
        """How many neutral verdicts the statements hold."""
        return sum(len(statement.drop) for statement in self.statements)


def exact(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Said:
    """A statement for each context that lets something go.

    Args:
        map: what was learned.
        rules: the static rules that stand above it; None for the shipped ones.
        sites: these only; None for all.
    """
    left_out = Counter[str]()
    found = [
        statement
        for site in _sites(map, sites)
        for statement in _of_site(site, rules or default_rules(), left_out, by_value=True)
    ]
    return Said(tuple(found), left_out)


def without_chains(said: Said) -> Said:
    """The statements for tools that look at a URL again once they have cleaned it.

    Where that would be a URL of another context, which lets more go, nothing is said.
    """
    loses = {(s.site, s.path, s.names) for s in said.statements}
    left_out, kept = Counter(said.left_out), []
    for statement in said.statements:
        left = tuple(name for name in statement.names if name not in statement.drop)
        if (statement.site, statement.path, left) in loses:
            left_out[CHAINED] += len(statement.drop)
        else:
            kept.append(statement)
    return Said(tuple(kept), +left_out)


def coarse(
    map: Map,
    rules: Rules | None = None,
    sites: Iterable[str] | None = None,
    *,
    below: bool = False,
) -> Said:
    """A statement for each path on which something may go whatever known pattern it stands in.

    `names` is empty: they do not count. The same arguments as `exact`; with `below` a path is a
    prefix, and all that is known below it counts.
    """
    left_out = Counter[str]()
    found = []
    for site in _sites(map, sites):
        sayable = list(_of_site(site, rules or default_rules(), left_out, by_value=False))
        by_path: dict[str, list[Statement]] = {}
        for statement in sayable:
            path = statement.path.partition("*")[0] if below else statement.path
            by_path.setdefault(path, []).append(statement)
        for path, statements in sorted(by_path.items()):
            names = {name for statement in statements for name in statement.drop}
            there = [c for c in site.contexts if _may_lie(c.context.path, path, below=below)]
            always = {name for name in names if _always_goes(site, there, name, sayable)}
            left_out[NOT_ALWAYS] += sum(len(set(s.drop) - always) for s in statements)
            if always:
                found.append(Statement(site.site, path, (), tuple(sorted(always))))
    return Said(tuple(found), +left_out)


def is_plain(path: str) -> bool:
    """Whether a path template has no letter that any format would have to escape."""
    return _PLAIN_PATH.fullmatch(path) is not None


def path_regex(template: str) -> str:
    """A regular expression for raw paths that have this template; some others have it too."""
    return "/".join(_segment_regex(segment) for segment in template.split("/"))


def query_regex(names: Sequence[str], drop: Sequence[str]) -> str:
    """A regular expression for the rest of a URL after `?` that has exactly these names, once each.

    Some tools forget an item whose name stands there twice, and put a `=` behind one without: what
    stays must have its own. No other items, none empty, no `;`, no web token, no fragment; and
    numbers only behind names whose words may show what is never touched. It has no `$`, which some
    formats read as their own.
    """
    end = r"(?![\s\S])"
    each = "".join(f"(?=(?:[^#]*&)?{escaped(name)}(?:[=&]|{end}))" for name in names)
    items = "|".join(_item_regex(name, flag=name in drop) for name in names)
    once = f"{{{len(names)}}}"
    return rf"(?![^#]*=eyJ){each}(?:(?:{items})(?:&(?=[^&])|{end})){once}{end}"


def url_regex(statement: Statement) -> str:
    """A regular expression for whole URLs, http or https, that an exact statement is about."""
    head = rf"^https?://{escaped(statement.site)}{path_regex(statement.path)}\?"
    return head + query_regex(statement.names, statement.drop)


def target_regex(statement: Statement) -> str:
    """The same for request targets, path and query."""
    return rf"^{path_regex(statement.path)}\?{query_regex(statement.names, statement.drop)}"


def names_regex(names: Iterable[str]) -> str:
    """A regular expression for one of these names."""
    return "|".join(escaped(name) for name in sorted(names))


# --- one site -----------------------------------------------------------------------------------


def _sites(map: Map, sites: Iterable[str] | None) -> Iterator[SiteMap]:
    for site in map.sites if sites is None else sites:
        if site in map.sites and _SITE.fullmatch(site):
            yield map.sites[site]


def _of_site(
    site: SiteMap, rules: Rules, left_out: Counter[str], *, by_value: bool
) -> Iterator[Statement]:
    # What pins and rules strip is left out, and what they keep counts: that is narrower.
    keeps = replace(rules, rules=tuple(replace(rule, strip=()) for rule in rules.rules))
    of_site = keeps.of_site(site.site, [pin for pin in site.pins if pin.action == "keep"])
    left_out[INFERRED] += sum(
        v.fetched == "neutral" for entry in site.inferred for v in entry.verdicts
    )
    left_out[PINNED] += sum(pin.action == "strip" for pin in site.pins)
    for entry in _merged(site.contexts):
        neutral = [v.name for v in entry.verdicts if v.fetched == "neutral"]
        why = _unsayable(entry, rules.off, site.open_prefixes, by_value=by_value)
        if why:
            left_out[why] += len(neutral)
            continue
        drop = [name for name in neutral if of_site.kept(name) == "nowhere"]
        left_out[KEPT] += len(neutral) - len(drop)
        if drop:
            where = entry.context
            yield Statement(site.site, where.path, where.names, tuple(sorted(drop)))
    for reason in [reason for reason, number in left_out.items() if not number]:
        del left_out[reason]


def _merged(contexts: Iterable[ContextVerdicts]) -> Iterator[ContextVerdicts]:
    """One entry a context. Of two, only what both let go may go."""
    by_context: dict[object, ContextVerdicts] = {}
    for entry in contexts:
        other = by_context.get(entry.context)
        if other is not None:
            goes = {v.name for v in other.verdicts if v.fetched == "neutral"}
            kept = tuple(v for v in entry.verdicts if v.fetched != "neutral" or v.name in goes)
            entry = replace(entry, verdicts=kept)
        by_context[entry.context] = entry
    yield from by_context.values()


def _unsayable(
    entry: ContextVerdicts, off: frozenset[str], open_prefixes: frozenset[str], *, by_value: bool
) -> str | None:
    path, names = entry.context.path, entry.context.names
    if path == ALL_PATHS:
        return ON_ALL_PATHS
    if path_template(path.replace("*", "1"), open_prefixes) != path:
        return FOLDED
    if classes.class_of_names(names, off) or classes.class_of_path(path, off):
        return UNTOUCHED
    if classes.action_names(names) and not by_value:
        return VALUES
    if not all(_PLAIN_NAME.fullmatch(name) for name in names):
        return ODD_NAME
    return None if is_plain(path) else ODD_PATH


def _may_lie(template: str, path: str, *, below: bool) -> bool:
    """Whether a context with this template may be asked for on a path, or below it."""
    if template == ALL_PATHS:
        return True
    start = template.partition("*")[0]
    return start.startswith(path) or path.startswith(start) if below else template == path


def _always_goes(
    site: SiteMap,
    contexts: Sequence[ContextVerdicts],
    name: str,
    sayable: Sequence[Statement],
) -> bool:
    """Whether every context that has the name lets it go, and no pin keeps it."""
    goes = {(s.path, s.names) for s in sayable if name in s.drop}
    having = [c.context for c in contexts if name in c.context.names]
    pinned = any(pin.name == name and pin.action == "keep" for pin in site.pins)
    return not pinned and all((c.path, c.names) in goes for c in having)


# --- regular expressions ------------------------------------------------------------------------


def _item_regex(name: str, *, flag: bool) -> str:
    value = "[0-9]*" if classes.action_names([name]) else "[^&#;]*"
    return f"{escaped(name)}(?:={value})?" if flag else f"{escaped(name)}={value}"


def _segment_regex(segment: str) -> str:
    if "*" not in segment:
        return escaped(segment)
    # An id has no extension, or the one that the template shows.
    return escaped(segment).replace("*", f"(?:{_ID})")


def escaped(text: str) -> str:
    # `re.escape` escapes what some of the others do not allow to be escaped, as `-` and `~`.
    return re.sub(r"([.\[\]])", r"\\\1", text)
