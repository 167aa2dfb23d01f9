"""Varnish: VCL that takes neutral parameters out of the URL before it is looked up.

Byte for byte what the proxy does: a request target with exactly the names of a context loses its
neutral items, and all the rest stays in its order.

Source: Varnish 7, "VCL", `regsuball`; regular expressions are PCRE2's.
"""

from __future__ import annotations

from collections.abc import Iterable

from miqps.formats.exporting import Exported, exported, origin_of
from miqps.formats.statements import Statement, exact, names_regex, target_regex
from miqps.mapping import Map
from miqps.rules import Rules

_HEAD = """vcl 4.1;

# {origin}
# include this file, and call miqps_clean at the start of vcl_recv

sub miqps_clean {{
"""
_CONTEXT = """    {also}if (req.http.host == "{site}" && req.url ~ {{"{target}"}}) {{
        # A "?" may stand in a value too: only the first one begins the query.
        set req.url = regsub(req.url, "\\?", "?&");
        set req.url = regsuball(req.url, {{"&(?:{names})(?:=[^&]*)?(?=&|$)"}}, "");
        set req.url = regsub(req.url, "\\?&", "?");
        set req.url = regsub(req.url, "^([^?]*)\\?$", "\\1");
    }}
"""


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """The subroutine `miqps_clean`."""
    said = exact(map, rules, sites)
    contexts = [_context(s, "else " if n else "") for n, s in enumerate(said.statements)]
    text = _HEAD.format(origin=origin_of(map)) + "".join(contexts) + "}\n"
    return exported(text, said)


def _context(statement: Statement, also: str) -> str:
    return _CONTEXT.format(
        also=also,
        site=statement.site,
        target=target_regex(statement),
        names=names_regex(statement.drop),
    )
