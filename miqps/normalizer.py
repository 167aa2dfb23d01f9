"""The online step: URL in, cleaned URL out.

What may go is decided in this order, first hit wins:

1. a never-touch class covers the URL: everything stays
2. what is pinned, then a static `keep` rule, then a static `strip` rule
3. the verdict for exactly this site, path template and pattern
4. the verdict for this site and pattern on all paths
5. a verdict inferred for the single parameter on this path, then on all paths
6. what is undecided or unknown goes where a hand-kept list says so, if lists are trusted
7. nobody knows: it stays

Only *neutral* ones go. A URL that is not understood comes back as it is; so does one that loses
nothing, as the same object. `SiteIndex.decide` says all this at length; `clean` looks up what was
worked out from it beforehand.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import TypeVar

from miqps import query, urls
from miqps.classes import is_action_value
from miqps.following import Follower
from miqps.index import DECIDE, NOTHING, Indexer, Pattern, Purpose, Ruling, SiteIndex
from miqps.mapping import Map, MapError, SiteMap
from miqps.priors import Priors
from miqps.rules import Rules, SiteRules, default_rules
from miqps.settings import PATHS

__all__ = ["Explanation", "MapError", "Normalizer", "Ruling"]

_LONGEST_REMEMBERED = 2_048
_NOTHING_LEARNED = SiteMap("", ())
_UNSEEN = SiteIndex("", _NOTHING_LEARNED, lambda: _NOTHING_LEARNED, SiteRules(()), NOTHING)
_NOWHERE: dict[Pattern, frozenset[str]] = {}

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a URL is cleaned the way it is.

    `site` is None when the URL is not understood; `path` is its template. `rulings` has one entry
    for each name, in the order of their first appearance.
    """

    url: str
    cleaned: str
    site: str | None
    path: str
    version: int
    rulings: tuple[Ruling, ...]


class Normalizer:
    """Cleans URLs by static rules and a learned map. Reads may come from many threads.

    Args:
        map: what was learned; None for static rules alone.
        rules: the static rules; None for the shipped ones.
        on_wire: the page keeps its address, as behind a proxy, and its scripts still see what was
            taken out. Else what is cleaned is fetched under its new address.
        trusted: hand-kept lists that are believed where nothing was learned.
    """

    def __init__(
        self,
        map: Map | None,
        rules: Rules | None = None,
        *,
        on_wire: bool = False,
        trusted: Priors | None = None,
    ) -> None:
        self._rules = default_rules() if rules is None else rules
        self._map, self._trusted = map, trusted
        self.version = map.version if map else 0
        """The version of the map, 0 without one."""
        self.contexts = map.contexts if map else 0
        """How many contexts the map has verdicts on."""
        self._learned: Mapping[str, SiteMap] = map.sites if map else {}
        self._purpose: Purpose = "wire" if on_wire else "fetch"
        self._indexer = Indexer(self._rules, self._purpose, trusted)
        self._trusts = bool(trusted)
        self._sites: dict[str, SiteIndex | None] = {}
        self._origins: dict[str, SiteIndex | None] = {}
        self._heads: dict[str, dict[Pattern, frozenset[str]] | None] = {}
        self._prefixes: dict[tuple[str, str, int], str] = {}

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        rules: Rules | None = None,
        *,
        on_wire: bool = False,
        trusted: Priors | None = None,
        watch: bool = False,
    ) -> Normalizer:
        """The normalizer for a store (its newest map), a map as JSON or in shards, or an address.

        A store without a map gives one that knows static rules only. Of what came from an http(s)
        address the last is kept in the user's cache, for when the network is gone. With `watch` the
        result is a `LiveNormalizer`: it goes by a newly published map within two seconds.

        Raises MapError: no such file, not a store, broken JSON, not a map, no answer.
        """
        follower = Follower(os.fspath(path))
        map = follower.first()
        if not watch:
            return cls(map, rules, on_wire=on_wire, trusted=trusted)
        from miqps.live import LiveNormalizer  # it is one of these

        return LiveNormalizer(
            map, partial(cls, rules=rules, on_wire=on_wire, trusted=trusted), follower
        )

    def for_fetching(self) -> Normalizer:
        """By the same map and rules, for URLs that are fetched under their new address."""
        return Normalizer(self._map, self._rules, trusted=self._trusted)

    def clean(self, url: str) -> str:
        """The URL without the parameters that may go; the same object when nothing goes."""
        head, mark, text = url.partition("?")
        if not mark:
            return url
        slash = head.find("/", 8)
        origin = head[:slash] if slash > 0 else head
        site = self._origins.get(origin, _UNSEEN)
        if site is _UNSEEN:
            site = self._meet(origin)
        if site is None:
            return url
        if "#" in url:
            return self._clean_carefully(url, site)
        items = text.split("&")
        names = [item.partition("=")[0] for item in items]
        pattern = frozenset(names)
        actions = site.patterns.get(pattern)
        if actions is None:
            # Empty items hide the pattern; escapes and lone surrogates hide names.
            if (
                site.careful
                or "" in pattern
                or ("%" in text and "%" in "".join(names))
                or not text.isascii()
            ):
                return self._clean_carefully(url, site)
            return url
        if "eyJ" in text or ";" in text or (actions and _needs_care(actions, names, items)):
            return self._clean_carefully(url, site)
        by_pattern = self._heads.get(head, _NOWHERE)
        if by_pattern is _NOWHERE:
            by_pattern = self._visit(head, slash, site)
        if by_pattern is None:
            return url
        drop = by_pattern.get(pattern)
        if drop is None:
            drop = site.everywhere.get(pattern)
        if not drop:
            return url
        rest = "&".join(compress(items, [name not in drop for name in names]))
        return f"{head}?{rest}" if rest else head

    def clean_target(self, scheme: str, host: str, port: int, target: bytes) -> bytes:
        """The request target (`/path?query`, raw) of that origin, cleaned.

        Targets in other forms (`*`, absolute) come back as they are.
        """
        if b"?" not in target or not target.startswith(b"/"):
            return target
        origin = (scheme, host, port)
        prefix = self._prefixes.get(origin)
        if prefix is None:
            name = f"[{host}]" if ":" in host and not host.startswith("[") else host
            prefix = f"{scheme}://{name}:{port}"
            _remember(self._prefixes, origin, prefix, PATHS.remembered)
        url = prefix + target.decode("utf-8", "surrogateescape")
        cleaned = self.clean(url)
        if cleaned is url:
            return target
        return cleaned[len(prefix) :].encode("utf-8", "surrogateescape")

    def key(self, url: str) -> str:
        """A key that equal pages share: cleaned and sorted by name. Never to be fetched."""
        head, text, tail = query.split(url)
        if not text:
            return url
        site = self._site_of(url)
        if site is not None:
            rulings = site.decide(urls.path(url), query.names(url), text, "key")
            url = query.remove(url, {ruling.name for ruling in rulings if not ruling.kept})
            head, text, tail = query.split(url)
        if not text:
            return url
        return f"{head}?{'&'.join(sorted(query.items(text), key=query.name_of))}{tail}"

    def explain(self, url: str) -> Explanation:
        """What happens to each parameter of this URL, which layer says so, and why."""
        text = query.split(url)[1]
        names = tuple(dict.fromkeys(map(query.name_of, filter(None, query.items(text or "")))))
        where = urls.site(url)
        site = self._site_of(url) or self._index(where or "")
        path = urls.path(url)
        found = {
            r.name: r for r in site.decide(path, tuple(sorted(names)), text or "", self._purpose)
        }
        rulings = tuple(found[name] for name in names)
        if where is None:
            why = "not a web address that is understood"
            rulings = tuple(Ruling(name, True, "unknown", why) for name in names)
        return Explanation(url, self.clean(url), where, site.template(path), self.version, rulings)

    def _clean_carefully(self, url: str, site: SiteIndex) -> str:
        text = query.split(url)[1]
        if not text:
            return url
        rulings = site.decide(urls.path(url), query.names(url), text, self._purpose)
        drop = {ruling.name for ruling in rulings if not ruling.kept}
        return query.remove(url, drop) if drop else url

    def _site_of(self, url: str) -> SiteIndex | None:
        where = urls.site(url)
        return None if where is None else self._find(where)

    def _find(self, where: str) -> SiteIndex | None:
        site = self._sites.get(where, _UNSEEN)
        if site is _UNSEEN:
            is_known = where in self._learned
            strips = self._trusts or (self._rules.strips and self._rules.of_site(where).strips)
            site = self._index(where) if is_known or strips else None
            if len(self._sites) >= PATHS.sites_at_hand:
                # What is remembered of origins holds on to these.
                self._origins.clear()
            _remember(self._sites, where, site, PATHS.sites_at_hand)
        return site

    def _index(self, where: str) -> SiteIndex:
        sites = self._learned
        nothing = _NOTHING_LEARNED
        learned = (lambda: sites[where]) if where in sites else (lambda: nothing)
        return self._indexer.index(where, learned)

    def _meet(self, origin: str) -> SiteIndex | None:
        site = self._site_of(origin)
        if len(origin) < _LONGEST_REMEMBERED:
            _remember(self._origins, origin, site, PATHS.remembered)
        return site

    def _visit(
        self, head: str, slash: int, site: SiteIndex
    ) -> dict[Pattern, frozenset[str]] | None:
        by_pattern = site.dropped_below(head[slash:] if slash > 0 else "/")
        if len(head) < _LONGEST_REMEMBERED:
            _remember(self._heads, head, by_pattern, PATHS.remembered)
        return by_pattern


def _needs_care(actions: tuple[str, ...], names: list[str], items: list[str]) -> bool:
    """Whether a value behind one of the action names may put the URL into a never-touch class."""
    return actions is DECIDE or any(
        names.count(name) > 1 or is_action_value(items[names.index(name)][len(name) + 1 :])
        for name in actions
    )


def _remember(memory: dict[_K, _V], key: _K, value: _V, most: int) -> None:
    if len(memory) >= most:
        memory.clear()
    memory[key] = value
