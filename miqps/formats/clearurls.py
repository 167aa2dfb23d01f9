"""ClearURLs: rules in the form of its `data.json`, written and read.

Written: a provider a context; its `urlPattern` covers the whole URL with exactly the names of the
context. What ClearURLs cannot be told is the case of letters: it compares without it. Where the map
knows `id` and `utm_source`, `?ID=1&UTM_SOURCE=x` loses its tag too. Contexts that the map itself
knows in more than one case are left out.

Read: the names that providers take out, `referralMarketing` too. Redirections and raw rules are
about something else.

Source: ClearURLs, "Rules" (docs.clearurls.xyz).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from miqps.formats.exporting import Exported
from miqps.formats.statements import Statement, escaped, exact, url_regex, without_chains
from miqps.mapping import Map
from miqps.priors import Listed, Prior, expression
from miqps.rules import Rules

CASE = "the map knows its context in more than one case of letters"


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """The rules."""
    said = without_chains(exact(map, rules, sites))
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


def read(text: str, source: str) -> Listed:
    """What the rules say of names. Raises ValueError with one line: they are none."""
    try:
        providers = msgspec.json.decode(text, type=_RuleBook).providers
    except msgspec.DecodeError as error:
        raise ValueError(f"no ClearURLs rules: {error}") from None
    priors, passed_over = [], 0
    for provider in providers.values():
        url = expression(provider.url_pattern, re.IGNORECASE)
        unless = tuple(
            p for each in provider.exceptions if (p := expression(each, re.IGNORECASE)) is not None
        )
        if url is None or len(unless) < len(provider.exceptions):
            passed_over += len(provider.rules) + len(provider.referral_marketing)
            continue
        for rule in (*provider.rules, *provider.referral_marketing):
            name = expression(rule, re.IGNORECASE)
            if name is None:
                passed_over += 1
            else:
                priors.append(Prior(url, name, source, unless))
    return Listed(tuple(priors), passed_over)


class _ProviderFields(msgspec.Struct, rename="camel"):
    url_pattern: str
    rules: list[str] = []
    referral_marketing: list[str] = []
    exceptions: list[str] = []


class _RuleBook(msgspec.Struct):
    providers: dict[str, _ProviderFields]


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
