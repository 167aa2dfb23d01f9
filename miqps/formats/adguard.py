"""AdGuard and uBlock Origin: a filter list of `$removeparam` rules.

One rule a parameter; its regular expression covers the whole URL with exactly the names of the
context, in their case (`match-case`), and page loads only (`document`). All rules that match a URL
are applied to it, so that several parameters go together.

Source: AdGuard, "How to create your own ad filters", `$removeparam`.
"""

from __future__ import annotations

from collections.abc import Iterable

from miqps.formats.exporting import Exported, exported, origin_of
from miqps.formats.statements import exact, url_regex
from miqps.mapping import Map
from miqps.rules import Rules


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """The filter list."""
    said = exact(map, rules, sites)
    lines = [
        "! Title: Neutral query parameters",
        f"! Description: {origin_of(map)}",
        "! Expires: 1 day",
    ]
    for statement in said.statements:
        pattern = url_regex(statement).replace("/", r"\/")
        lines += [f"/{pattern}/$removeparam={name},match-case,document" for name in statement.drop]
    return exported("\n".join(lines) + "\n", said)
