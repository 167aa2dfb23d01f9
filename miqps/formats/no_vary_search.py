"""`No-Vary-Search`: response headers that say which parameters a cache may leave out of its key.

Written: one header a path template. Like `Clean-param` it cannot say beside which other parameters
they stand: a name is listed where every known context on the path lets it go. It is for who owns
the site, and for caches in front of it.

Read: what a header says of the names on its own path, where it is seen in traffic.

Source: "No-Vary-Search" (httpwg), structured fields (RFC 9651).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import http_sf

from miqps.formats.exporting import Exported, exported, origin_of
from miqps.formats.statements import coarse, is_plain, path_regex
from miqps.mapping import Map
from miqps.priors import Listed, Prior
from miqps.rules import Rules


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """For each path template a comment and the header."""
    said = coarse(map, rules, sites)
    lines = [f"# {origin_of(map)}"]
    for statement in said.statements:
        names = " ".join(f'"{name}"' for name in statement.drop)
        lines += ["", f"# {statement.site}{statement.path}", f"No-Vary-Search: params=({names})"]
    return exported("\n".join(lines) + "\n", said)


def read(header: str, source: str, site: str, path: str) -> Listed:
    """What a header says of the names on the path of its answer. Never raises.

    Args:
        header: its value. What is no structured field says nothing.
        source: for people.
        site: whose answer it is.
        path: the template of its path.
    """
    if not is_plain(path):
        return Listed((), 1)
    try:
        said: Any = http_sf.parse(header.encode("ascii"), tltype="dictionary")
    except (http_sf.StructuredFieldError, ValueError):
        return Listed((), 1)
    params, _ = said.get("params", (False, {}))
    listed, _ = said.get("except", ([], {}))
    if params is True:
        other = "|".join(_texts(listed))
        names = [re.compile(rf"(?!(?:{other})\Z).*" if other else ".*", re.DOTALL)]
    else:
        names = [re.compile(name) for name in _texts(params)]
    url = re.compile(rf"^https?://{re.escape(site)}{path_regex(path)}\Z")
    return Listed(tuple(Prior(url, name, source) for name in names))


def _texts(listed: Any) -> list[str]:
    """The strings of an inner list, as expressions."""
    found = listed if isinstance(listed, list) else []
    return [re.escape(name) for name, _ in found if isinstance(name, str)]
