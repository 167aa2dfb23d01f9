"""What is known about one site, ready for the look-up.

`SiteIndex.decide` is the whole policy and gives reasons. For the hot path its answer is worked out
beforehand for every pattern that drops something: `plain` holds, per path template, what goes.
Patterns whose answer depends on more than template and names are left out and marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from miqps import classes, query
from miqps.mapping import ALL_PATHS, ContextVerdicts, Decision, SiteMap, Verdict
from miqps.priors import Priors
from miqps.rules import Rules, SiteRules
from miqps.urls import path_template

Purpose = Literal["fetch", "wire", "key"]
"""What a URL is cleaned for: to be fetched, under an address that stays, or to be compared."""

Layer = Literal["class", "pin", "keep rule", "strip rule", "verdict", "inferred", "list", "unknown"]
Pattern = frozenset[str]

NOTHING: frozenset[str] = frozenset()


_JOINED = re.compile(r"=[^;]*;[^;=]+=")

_NO_PATTERNS: dict[Pattern, frozenset[str]] = {}


DECIDE = ("",)
"""Stands for the action names of a pattern on which only `decide` knows: a static rule looks at the
raw path, or the names are not what they look like in the raw query."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What happens to one name, which layer says so, and why."""

    name: str
    kept: bool
    layer: Layer
    reason: str
    verdict: Verdict | None = None


_DECISIONS: dict[Purpose, Callable[[Verdict], Decision]] = {
    "fetch": lambda verdict: verdict.fetched,
    "wire": lambda verdict: verdict.decision,
    "key": lambda verdict: verdict.in_key,
}


class SiteIndex:
    """The verdicts and rules of one site."""

    __slots__ = (
        "_by_context",
        "_inferred",
        "_learned",
        "_trusted",
        "careful",
        "everywhere",
        "off",
        "open_prefixes",
        "patterns",
        "plain",
        "rules",
        "site",
    )

    def __init__(
        self,
        site: str,
        map: SiteMap,
        learned: Callable[[], SiteMap],
        rules: SiteRules,
        off: frozenset[str],
        trusted: Priors | None = None,
    ) -> None:
        self.site = site
        self._learned = learned
        self._trusted = trusted
        self.open_prefixes = map.open_prefixes
        self.rules = rules
        self.off = off
        self.patterns: dict[Pattern, tuple[str, ...]] = {}
        """Patterns that drop something somewhere, and their names whose values may show a
        never-touch class."""
        self.plain: dict[str, dict[Pattern, frozenset[str]]] = {}
        """Path template to pattern to the names that go."""
        self.everywhere: dict[Pattern, frozenset[str]] = {}
        """The same for the scope of all paths, where `plain` says nothing."""
        self.careful = rules.strips or bool(map.inferred) or bool(trusted)
        """Whether patterns without a verdict of their own have to be decided too."""
        self._by_context: dict[tuple[str, tuple[str, ...]], ContextVerdicts] | None = None
        self._inferred: tuple[ContextVerdicts, ...] = ()

    def template(self, path: str) -> str:
        """The template of a raw path on this site."""
        return path_template(path, self.open_prefixes)

    def dropped_below(self, path: str) -> dict[Pattern, frozenset[str]] | None:
        """What goes on this raw path, by pattern; None when the path is in a never-touch class."""
        found = self.plain.get(path_template(path, self.open_prefixes), _NO_PATTERNS)
        # Without open prefixes a template shows what its paths show: told when it was built.
        is_told = not self.open_prefixes and not self.everywhere
        return found if is_told or not classes.class_of_path(path, self.off) else None

    def decide(
        self, path: str, names: tuple[str, ...], query_text: str, purpose: Purpose = "fetch"
    ) -> list[Ruling]:
        """What happens to each name of a URL, in the order given.

        Never-touch classes come first, then pins, keep rules, strip rules, the verdict for exactly
        this path and pattern, the one for this pattern on all paths, then what was inferred for
        single names. What is undecided or unknown goes by lists, where these are trusted; else it
        stays.
        """
        label = (
            classes.class_of_names(names, self.off)
            or classes.class_of_path(path, self.off)
            or classes.class_of_values(query_text, self.off)
        )
        if label:
            return [Ruling(name, True, "class", label) for name in names]
        find = self._finder(path, names)
        rulings = [self._ruling(path, name, find, purpose) for name in names]
        if ";" not in query_text:
            return rulings
        # Some servers part parameters at `;` too: an item may hold more than its own.
        joined = {query.name_of(item) for item in query_text.split("&") if _JOINED.search(item)}
        return [
            Ruling(found.name, True, "class", "more parameters may follow behind a ';'")
            if found.name in joined
            else found
            for found in rulings
        ]

    def _ruling(
        self,
        path: str,
        name: str,
        find: Callable[[str], tuple[Layer, Verdict] | None],
        purpose: Purpose,
    ) -> Ruling:
        by_rule = self.rules.decide(path, name)
        if by_rule is not None:
            action, rule = by_rule
            why = ": ".join(filter(None, (rule.source, rule.reason)))
            kept = action == "keep"
            layer: Layer = "pin" if rule.pinned else "keep rule" if kept else "strip rule"
            return Ruling(name, kept, layer, why)
        found = find(name)
        decision = _DECISIONS[purpose](found[1]) if found else "undecided"
        if self._trusted and decision == "undecided":
            source = self._trusted.says(f"https://{self.site}{path}", name)
            if source is not None:
                return Ruling(name, False, "list", source, found[1] if found else None)
        if found is None:
            return Ruling(name, True, "unknown", "no verdict for this site, path and pattern")
        layer, verdict = found
        return Ruling(name, decision != "neutral", layer, f"{decision}: {verdict.reason}", verdict)

    def _finder(
        self, path: str, names: tuple[str, ...]
    ) -> Callable[[str], tuple[Layer, Verdict] | None]:
        by_context = self._by_context
        if by_context is None:
            # Only here the evidence is needed; most processes never come by.
            map = self._learned()
            self._inferred = map.inferred
            by_context = {(c.context.path, c.context.names): c for c in map.contexts}
            self._by_context = by_context
        template = self.template(path)
        for scope in (template, ALL_PATHS):
            context = by_context.get((scope, names))
            if context is not None:
                exact = {verdict.name: verdict for verdict in context.verdicts}
                return lambda name: ("verdict", exact[name]) if name in exact else None
        inferred = {
            verdict.name: verdict
            for scope in (ALL_PATHS, template)
            for entry in self._inferred
            if entry.context.path == scope
            for verdict in entry.verdicts
        }
        return lambda name: ("inferred", inferred[name]) if name in inferred else None


class Indexer:
    """Makes indexes of sites; equal patterns and sets become one object, so that many fit."""

    def __init__(self, rules: Rules, purpose: Purpose, trusted: Priors | None = None) -> None:
        self._rules = rules
        self._trusted = trusted
        self._decision = _DECISIONS[purpose]
        self._patterns: dict[tuple[str, ...], tuple[Pattern, tuple[str, ...]] | None] = {}
        self._untouched_paths: dict[str, bool] = {}
        self._sets: dict[frozenset[str], frozenset[str]] = {}

    def index(self, site: str, learned: Callable[[], SiteMap]) -> SiteIndex:
        """The index of a site. `learned` is asked now, and once more if reasons are wanted."""
        map = learned()
        rules = self._rules.of_site(site, map.pins)
        index = SiteIndex(site, map, learned, rules, self._rules.off, self._trusted)
        general = any(entry.context.path == ALL_PATHS for entry in map.contexts)
        for entry in map.contexts:
            drop, is_fixed = self._dropped(entry.verdicts, rules)
            if drop or general:
                self._add(index, entry.context.path, entry.context.names, drop, is_fixed)
        return index

    def _add(
        self,
        index: SiteIndex,
        scope: str,
        names: tuple[str, ...],
        drop: frozenset[str],
        is_fixed: bool,
    ) -> None:
        shape = self._patterns[names] if names in self._patterns else self._new_shape(names)
        if shape is None or self._is_untouched(scope):
            return
        pattern, actions = shape
        general = scope == ALL_PATHS
        by_pattern = index.everywhere if general else index.plain.setdefault(scope, {})
        # Two verdicts on one context: only what both let go may go.
        by_pattern[pattern] = by_pattern[pattern] & drop if pattern in by_pattern else drop
        if drop:
            is_fixed = is_fixed and index.patterns.get(pattern) is not DECIDE
            index.patterns[pattern] = actions if is_fixed else DECIDE

    def _is_untouched(self, scope: str) -> bool:
        found = self._untouched_paths.get(scope)
        if found is None:
            found = classes.class_of_path(scope, self._rules.off) is not None
            self._untouched_paths[scope] = found
        return found

    def _new_shape(self, names: tuple[str, ...]) -> tuple[Pattern, tuple[str, ...]] | None:
        """The pattern and its action names; None: it is never touched."""
        shape = None
        if names and not classes.class_of_names(names, self._rules.off):
            actions = classes.action_names(names)
            # The hot path takes an empty item for a nameless one, and looks at raw names.
            if "" in names or any("%" in name for name in names):
                actions = DECIDE
            shape = frozenset(names), actions
        self._patterns[names] = shape
        return shape

    def _dropped(self, row: tuple[Verdict, ...], rules: SiteRules) -> tuple[frozenset[str], bool]:
        """What goes by these verdicts, and whether that is so on every path."""
        neutral = [verdict.name for verdict in row if self._decision(verdict) == "neutral"]
        kept = [rules.kept(name) for name in neutral]
        drop = frozenset(
            [n for n, where in zip(neutral, kept, strict=True) if where != "everywhere"]
        )
        # Strip rules name what no verdict names, and most look at the path.
        is_fixed = not rules.strips and not self._trusted and "somewhere" not in kept
        return self._sets.setdefault(drop, drop), is_fixed
