"""ClearURLs: rules in the form of its `data.json`.

A provider a context: its `urlPattern` covers the whole URL with exactly the names of the context.
What ClearURLs cannot be told is the case of letters: it compares without it. Where the map knows
`id` and `utm_source`, `?ID=1&UTM_SOURCE=x` loses its tag too. Contexts that the map itself knows in
more than one case are left out.

Source: ClearURLs, "Rules" (docs.clearurls.xyz).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from miqps.formats.exporting import Exported
from miqps.formats.statements import Statement, escaped, exact, url_regex
from miqps.mapping import Map
from miqps.rules import Rules

CASE = "the map knows its context in more than one case of letters"


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """The rules."""
    said = exact(map, rules, sites)
    known = Counter(
        _place(site.site, found.context.path, found.context.names)
        for site in map.sites.values()
        for found in site.contexts
    )
    sayable = [s for s in said.statements if known[_place(s.site, s.path, s.names)] == 1]
    left_out = Counter(said.left_out)
    left_out[CASE] += said.said - sum(len(s.drop) for s in sayable)
    rule_book = {"providers": {_title(s): _provider(s) for s in sayable}}
    text = json.dumps(rule_book, indent=1) + "\n"
    return Exported(text, sum(len(s.drop) for s in sayable), +left_out)


def _place(site: str, path: str, names: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    return site, path.lower(), tuple(sorted(name.lower() for name in names))


def _title(statement: Statement) -> str:
    return f"{statement.site}{statement.path} {' '.join(statement.names)}"


def _provider(statement: Statement) -> dict[str, object]:
    return {
        "urlPattern": url_regex(statement),
        "completeProvider": False,
        "rules": [escaped(name) for name in statement.drop],
        "rawRules": [],
        "referralMarketing": [],
        "exceptions": [],
        "redirections": [],
        "forceRedirection": False,
    }
