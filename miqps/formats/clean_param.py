"""Yandex: `Clean-param` lines of robots.txt, in which the owner of a site says what is no content.

Written and read. A line names parameters and a path prefix. It cannot say beside which other
parameters they stand: a name is listed where every known context below the prefix lets it go, and a
URL with a set of names that was never seen there loses it too, which the proxy would not do.
Whoever owns the site may say so; nobody else reads these lines.

Source: Yandex Webmaster, "Clean-param".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from miqps.formats.exporting import Exported, origin_of
from miqps.formats.statements import Statement, coarse
from miqps.mapping import Map
from miqps.priors import Listed, Prior
from miqps.rules import Rules

ODD = "Clean-param has no letters for it"
TOO_LONG = "a line of robots.txt would be too long"

_LONGEST = 500
"""Characters of a line that are read."""

_LINE = re.compile(r"clean-param\s*:\s*(\S+)(?:\s+(\S+))?", re.IGNORECASE)
_SAYABLE = re.compile(r"[A-Za-z0-9._-]+")
_PATH = re.compile(r"[A-Za-z0-9./_-]+")


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """One section a site, to be put into its robots.txt."""
    said = coarse(map, rules, sites, below=True)
    left_out, lines, number = Counter(said.left_out), [f"# {origin_of(map)}"], 0
    site = ""
    for statement in said.statements:
        if statement.site != site:
            site = statement.site
            lines += ["", f"# robots.txt of {site}", "User-agent: *"]
        for names in _lines(statement, left_out):
            number += len(names)
            lines.append(f"Clean-param: {'&'.join(names)} {statement.path}")
    return Exported("\n".join(lines) + "\n", number, +left_out)


def _lines(statement: Statement, left_out: Counter[str]) -> Iterator[list[str]]:
    """The names of each line, no more than it has room for."""
    names = [name for name in statement.drop if _SAYABLE.fullmatch(name)]
    if not _PATH.fullmatch(statement.path):
        names = []
    left_out[ODD] += len(statement.drop) - len(names)
    line: list[str] = []
    room = _LONGEST - len(f"Clean-param:  {statement.path}")
    for name in names:
        if len(name) > room:
            left_out[TOO_LONG] += 1
        elif len("&".join([*line, name])) > room:
            yield line
            line = [name]
        else:
            line.append(name)
    if line:
        yield line


def read(text: str, source: str, site: str) -> Listed:
    """What a site's robots.txt says of its names. Never raises."""
    host = rf"^https?://{re.escape(site)}"
    priors = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line.partition("#")[0].strip())
        if match is None:
            continue
        path = re.escape(match[2] or "/").replace(r"\*", ".*")
        url = re.compile(host + path)
        names = filter(None, match[1].split("&"))
        priors += [Prior(url, re.compile(re.escape(name)), source) for name in names]
    return Listed(tuple(priors))
