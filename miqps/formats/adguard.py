"""AdGuard and uBlock Origin: filter lists of `$removeparam` rules, written and read.

Written: one rule a parameter; its regular expression covers the whole URL with exactly the names of
the context, in their case (`match-case`), and page loads only (`document`). All rules that match a
URL are applied to it, so that several parameters go together.

Read: rules that take a name, or names that fit an expression, out of pages. Those that take out all
parameters, all but some, or something of other kinds of requests are passed over, and so are rules
with conditions on who asks. An exception (`@@`) silences its names where it holds.

Source: AdGuard, "How to create your own ad filters", `$removeparam`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from miqps.formats.exporting import Exported, exported, origin_of
from miqps.formats.statements import exact, url_regex, without_chains
from miqps.mapping import Map
from miqps.priors import Listed, Prior, expression
from miqps.rules import Rules


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """The filter list."""
    said = without_chains(exact(map, rules, sites))
    lines = [
        "! Title: Neutral query parameters",
        f"! Description: {origin_of(map)}",
        "! Expires: 1 day",
    ]
    for statement in said.statements:
        pattern = url_regex(statement).replace("/", r"\/")
        lines += [f"/{pattern}/$removeparam={name},match-case,document" for name in statement.drop]
    return exported("\n".join(lines) + "\n", said)


_RULE = re.compile(
    r"(@@)?(.*?)\$((?:~?[a-z][a-z0-9_-]*(?:=[^,]*)?,)*(?:removeparam|queryprune)\b.*)"
)
_COMMA = re.compile(r"(?<!\\),")
_ABOUT_PAGES = frozenset({"document", "doc", "all", "important", "match-case"})
_LITERAL_NAME = re.compile(r"[\w.\[\]-]+")


def read(text: str, source: str) -> Listed:
    """What a filter list says of names. Never raises: what it says otherwise is counted."""
    found: list[Prior] = []
    excepted: list[Prior] = []
    passed_over = 0
    for line in map(str.strip, text.splitlines()):
        match = _RULE.fullmatch(line)
        if match is None or line.startswith("!"):
            continue
        prior = _prior(match[2], match[3], source, any_name=bool(match[1]))
        if prior is None:
            passed_over += 1
        else:
            (excepted if match[1] else found).append(prior)
    return Listed(tuple(_silenced(prior, excepted) for prior in found), passed_over)


def _silenced(prior: Prior, exceptions: list[Prior]) -> Prior:
    silent = (e.url for e in exceptions if e.name.pattern in (prior.name.pattern, ".*"))
    return Prior(prior.url, prior.name, prior.source, tuple(silent))


def _prior(pattern: str, options: str, source: str, *, any_name: bool) -> Prior | None:
    name, hosts = None, ""
    for option in _COMMA.split(options):
        key, _, value = option.partition("=")
        if key in ("removeparam", "queryprune"):
            name = re.compile(".*") if any_name and not value else _name(value)
        elif key in ("domain", "to") and "~" not in value:
            hosts = value
        elif key not in _ABOUT_PAGES:
            return None
    if hosts and pattern.strip("*"):
        return None
    url = _of_hosts(hosts) if hosts else _url(pattern)
    return Prior(url, name, source) if name is not None and url is not None else None


def _name(value: str) -> re.Pattern[str] | None:
    """The names that a value means: one, or an expression for `name=value` that looks at names."""
    if _LITERAL_NAME.fullmatch(value):
        return re.compile(re.escape(value))
    match = re.fullmatch(r"/\^?(.+?)(?:=|\\b)?/(i?)", value)
    if match is None or not value.startswith("/^"):
        return None
    return expression(match[1].replace("\\,", ","), re.IGNORECASE if match[2] else 0)


def _of_hosts(hosts: str) -> re.Pattern[str]:
    listed = "|".join(re.escape(host) for host in hosts.split("|"))
    return re.compile(rf"^https?://(?:[^/?#]*\.)?(?:{listed})(?=[:/?#]|$)", re.IGNORECASE)


def _url(pattern: str) -> re.Pattern[str] | None:
    """A pattern of a filter rule as an expression: `||` a host, `|` an end, `^` a separator."""
    if len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/"):
        return expression(pattern[1:-1], re.IGNORECASE)
    start = end = ""
    if pattern.startswith("||"):
        start, pattern = r"^https?://(?:[^/?#]*\.)?", pattern[2:]
    elif pattern.startswith("|"):
        start, pattern = "^", pattern[1:]
    if pattern.endswith("|"):
        end, pattern = "$", pattern[:-1]
    words = re.escape(pattern).replace(r"\*", ".*").replace(r"\^", r"(?:[^\w.%-]|$)")
    return re.compile(start + words + end, re.IGNORECASE)
