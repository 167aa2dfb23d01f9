"""`No-Vary-Search`: response headers that say which parameters a cache may leave out of its key.

One header a path template. Like `Clean-param` it cannot say beside which other parameters they
stand: a name is listed where every known context on the path lets it go. It is for who owns the
site, and for caches in front of it.

Source: "No-Vary-Search" (httpwg), structured fields (RFC 9651).
"""

from __future__ import annotations

from collections.abc import Iterable

from miqps.formats.exporting import Exported, exported, origin_of
from miqps.formats.statements import coarse
from miqps.mapping import Map
from miqps.rules import Rules


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """For each path template a comment and the header."""
    said = coarse(map, rules, sites)
    lines = [f"# {origin_of(map)}"]
    for statement in said.statements:
        names = " ".join(f'"{name}"' for name in statement.drop)
        lines += ["", f"# {statement.site}{statement.path}", f"No-Vary-Search: params=({names})"]
    return exported("\n".join(lines) + "\n", said)
