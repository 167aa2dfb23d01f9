"""nginx: maps that give `$miqps_args`, the query without its neutral parameters.

For the key of a cache (`proxy_cache_key $scheme$http_host$uri?$miqps_args`) or for what is asked
upstream. A chain of maps takes one name out after the other; of a name that stands there more than
once the last item goes, and the others stay.

Source: nginx, ngx_http_map_module; regular expressions are PCRE's, compared in their case with `~`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from miqps.formats.exporting import Exported, exported, origin_of
from miqps.formats.statements import Said, Statement, escaped, exact, target_regex
from miqps.mapping import Map
from miqps.rules import Rules

TOO_LONG = "its expression is too long for a line"

_LONGEST = 3_500
"""Characters of an expression and what it gives. nginx reads parameters up to 4,096 bytes."""


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """The maps, for the `http` block."""
    said = _short(exact(map, rules, sites))
    names = sorted({name for statement in said.statements for name in statement.drop})
    lines = [f"# {origin_of(map)}", "map_hash_bucket_size 256;", "", *_contexts(said.statements)]
    before = "$args"
    for number, name in enumerate(names, 1):
        lines += _without(name, before, f"$miqps_args_{number}")
        before = f"$miqps_args_{number}"
    # The last item leaves its separator behind; what lost nothing keeps all its bytes.
    kept = ('"~^&[^ ]* (?<miqps_kept>.*?)&?$"', "$miqps_kept")
    lines += _map(f'"$miqps_drop {before}"', "$miqps_args", [kept, ("default", "$args")])
    return exported("\n".join(lines) + "\n", said)


def _short(said: Said) -> Said:
    """What has room in a line; one that is too long would cost the whole file."""
    left_out, kept = Counter(said.left_out), []
    for statement in said.statements:
        if len(target_regex(statement)) + len("&".join(statement.drop)) > _LONGEST:
            left_out[TOO_LONG] += len(statement.drop)
        else:
            kept.append(statement)
    return Said(tuple(kept), +left_out)


def _contexts(statements: Iterable[Statement]) -> Iterator[str]:
    """Which names go from a request: `&` before, between and behind them."""
    rows = [
        (f'"~^{escaped(s.site)}{target_regex(s).removeprefix("^")}"', f'"&{"&".join(s.drop)}&"')
        for s in statements
    ]
    yield from _map('"$http_host$request_uri"', "$miqps_drop", [*rows, ("default", '""')])


def _without(name: str, before: str, after: str) -> list[str]:
    item = rf"(?<miqps_head>(?:.*&)?){escaped(name)}(?:=[^&]*)?(?:&(?<miqps_tail>.*))?$"
    goes = rf'"~^[^ ]*&{escaped(name)}&[^ ]* {item}"'
    return _map(
        f'"$miqps_drop {before}"',
        after,
        [(goes, '"$miqps_head$miqps_tail"'), ('"~^[^ ]* (?<miqps_all>.*)$"', "$miqps_all")],
    )


def _map(source: str, target: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"map {source} {target} {{", *(f"    {key} {value};" for key, value in rows), "}", ""]
