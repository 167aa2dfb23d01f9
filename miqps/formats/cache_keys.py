"""Caches that are set up by hand: which parameters to leave out of their keys, path by path.

For Cloudflare (Cache Rules, "Query string: all except"), Fastly (`querystring.filter`) and Caddy
(`uri query`). None of them can say beside which other parameters a name stands: a name is listed
where every known context on the path lets it go. It is for who owns the site.

Source: the documentation of Cloudflare "Cache keys", Fastly "querystring", Caddy "uri".
"""

from __future__ import annotations

from collections.abc import Iterable

from miqps.formats.exporting import Exported, exported, origin_of
from miqps.formats.statements import coarse, path_regex
from miqps.mapping import Map
from miqps.rules import Rules


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """Notes for people, in Markdown."""
    said = coarse(map, rules, sites)
    lines = ["# Cache keys", "", f"This was {origin_of(map)}."]
    for s in said.statements:
        pattern = f"^{path_regex(s.path)}$"
        listed = " + querystring.filtersep() + ".join(f'"{name}"' for name in s.drop)
        lines += [
            "",
            f"## {s.site}{s.path}",
            "",
            f"- Leave out of the key: {', '.join(f'`{name}`' for name in s.drop)}",
            f"- Cloudflare: URI path matches `{pattern}`; query string: all except the names above",
            f'- Fastly: `if (req.url.path ~ "{pattern}") {{ set req.url ='
            f" querystring.filter(req.url, {listed}); }}`",
            f"- Caddy: `@p path_regexp {pattern}`, then `uri @p query` with"
            f" {', '.join(f'`-{name}`' for name in s.drop)}",
        ]
    return exported("\n".join(lines) + "\n", said)
