"""Site and path template of a URL: what verdicts are about.

Recording, probing and look-up fold paths with the same function, so a verdict is only ever used
where it was learned. The shape rule is for first sight; what it cannot know, a site teaches: where
many distinct values stand (`learn_open_prefixes`), the position is a variable.

>>> path_template("/p/123/reviews"), path_template("/p/search"), path_template("/p/123/")
('/p/*/reviews', '/p/search', '/p/*/')
>>> path_template("/catalogue/the-shadow-of-x_12/12345.html")
'/catalogue/*/*.html'
>>> path_template("/wiki/Ada", open_prefixes={"/wiki"})
'/wiki/*'
>>> site("HTTPS://me:secret@EXAMPLE.com:443/p")
'example.com'
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import unquote

from miqps import query
from miqps.settings import PATHS

_DEFAULT_PORTS = {"http": 80, "https": 443}
_ORIGIN = re.compile(r"(https?)://([^/?#]*)", re.IGNORECASE)
_PLAIN_AUTHORITY = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")
# Letters that the standard library's IDNA (2003) maps to others than browsers (UTS 46) do.
_IDNA_DEVIATIONS = frozenset("ßẞς\u200c\u200d")
_LONGEST_HOST = 255
_LONGEST = PATHS.longest_segment

_EXTENSION = re.compile(
    r"(?<=.)\.(?:html?|xhtml|shtml|php\d?|aspx?|jspx?|do|action|cgi|pl|py|cfm|json|xml|rss|atom"
    r"|txt|md|rst|csv|pdf|jpe?g|png|gif|webp|svg)\Z",
    re.IGNORECASE | re.ASCII,
)
_ID = re.compile(
    "|".join(
        (
            # Number or date, e-mail address or handle, anything long.
            rf"[0-9][0-9.,:-]*+|[^@]*+@.*|.{{{_LONGEST + 1},}}",
            # A slug: a number at its end, three digits at its beginning, many words (so do UUIDs).
            r".*[^-_+, ][-_+, ]++[0-9][0-9.:]*+[-_+, ]*|[0-9]{3}[0-9.:]*[-_+, ].*",
            rf"[-_+, ]*+(?:[^-_+, ]++[-_+, ]++){{{PATHS.slug_words - 1}}}[^-_+, ].*",
            # Hex with a digit.
            r"(?=[^0-9]*+[0-9])[0-9a-f]{8,}",
            # `tt0111161`, `B08N5WRWNW`, `dQw4w9WgXcQ`, unlike `windows11`, `es2015`, `mp3player`.
            r"[a-z]+[0-9]{5,}",
            r"(?=.{8})(?:[a-z]+[0-9]+[a-z]+[0-9]|[0-9]+[a-z]+[0-9]+[a-z])[a-z0-9_-]*",
        )
    ),
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


@dataclass(frozen=True, slots=True, order=True)
class Context:
    """What a verdict is about: a site, a path scope (template) and a pattern of names."""

    site: str
    path: str
    names: tuple[str, ...]


def site(url: str) -> str | None:
    """The site of a URL: `host[:port]`, lower case, A-labels, the default port left out.

    None when the URL is not http(s) or its host is not understood the way browsers do.
    """
    match = _ORIGIN.match(url)
    if match is None or "\\" in match.group():
        return None
    scheme, authority = match.groups()
    if _PLAIN_AUTHORITY.fullmatch(authority):
        return authority
    host, port = _host_and_port(authority.rpartition("@")[2])
    if host is None or port is None:
        return None
    if port and int(port) != _DEFAULT_PORTS[scheme.lower()]:
        return f"{host}:{int(port)}"
    return host


def path(url: str) -> str:
    """The raw path of a URL or request target, `/` when it is empty."""
    match = _ORIGIN.match(url)
    rest = url[match.end() :] if match else url
    return query.split(rest)[0] or "/"


def path_template(path: str, open_prefixes: Container[str] = ()) -> str:
    """The path with `*` for every segment that is a variable: `/p/*/reviews`.

    A segment is one when its shape says so - number, date, UUID, hash, token, handle, a slug with a
    number at its end or of many words - or when the template before it is in `open_prefixes`.
    File extensions stay (`*.html`), and so do empty segments: `/p/1/` is not `/p/1`. Matrix
    parameters keep their names (`;v=*`).
    """
    template, *segments = path.split("/")
    if not open_prefixes:
        # A plain word is no id; most segments are one.
        folded = [
            segment if segment.isalpha() and len(segment) <= _LONGEST else _folded(segment)
            for segment in segments
        ]
        return f"{template}/{'/'.join(folded)}" if folded else template
    for segment in segments:
        is_open = bool(segment) and template in open_prefixes
        template = f"{template}/{_folded(segment, is_open)}"
    return template


def refolded(template: str, open_prefixes: Container[str]) -> str:
    """What a template is called once these prefixes are open.

    >>> refolded("/wiki/Ada/*", {"/wiki"})
    '/wiki/*/*'
    """
    now, *segments = template.split("/")
    for segment in segments:
        is_open = bool(segment) and now in open_prefixes
        now = f"{now}/{_folded(segment, True) if is_open else segment}"
    return now


def learn_open_prefixes(paths: Iterable[str]) -> frozenset[str]:
    """Path templates below which the next segment is a variable.

    They are the ones with `PATHS.open_values` or more distinct segments that do not look like ids;
    at the root it takes `PATHS.open_root_values`.
    """
    found: set[str] = set()
    pending = set(paths)
    # Level by level: what is open above decides what the prefixes below are called.
    for depth in range(1, PATHS.deepest + 1):
        pending = {raw for raw in pending if raw.count("/") >= depth}
        literals: defaultdict[str, set[str]] = defaultdict(set)
        for raw in pending:
            *above, segment = raw.split("/", depth + 1)[: depth + 1]
            if segment and not _folded(segment).startswith("*"):
                literals[path_template("/".join(above), found)].add(segment)
        found.update(
            prefix
            for prefix, seen in literals.items()
            if len(seen) >= (PATHS.open_values if prefix else PATHS.open_root_values)
        )
    return frozenset(found)


def context_of(url: str, open_prefixes: Container[str] = ()) -> Context | None:
    """The context of a URL; None without a site or without a named query item."""
    names = query.names(url)
    if not names:
        return None
    where = site(url)
    if where is None:
        return None
    return Context(where, path_template(path(url), open_prefixes), names)


def _host_and_port(authority: str) -> tuple[str | None, str | None]:
    """Host and port (digits or '') of an authority without user info; None: not understood."""
    if authority.startswith("["):
        inside, bracket, port = authority[1:].partition("]")
        host = _ipv6(inside) if bracket and port[:1] in ("", ":") else None
        port = port[1:]
    else:
        name, _, port = authority.partition(":")
        host = _host_name(name)
    is_port = not port or (port.isascii() and port.isdigit() and int(port[:6]) < 65_536)
    return host, port if is_port else None


def _ipv6(text: str) -> str | None:
    try:
        return f"[{IPv6Address(text)}]" if "%" not in text else None
    except AddressValueError:
        return None


def _host_name(host: str) -> str | None:
    if len(host) > _LONGEST_HOST or not _IDNA_DEVIATIONS.isdisjoint(host):
        return None
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    host = host.lower()
    return host if _HOST.fullmatch(host) else None


def _folded(segment: str, is_open: bool = False) -> str:
    """A segment as it stands in a template: itself, or with `*` where it is a variable."""
    if not is_open and segment.isdecimal() and segment.isascii():
        return "*"
    if "." not in segment and ";" not in segment and "%" not in segment:
        return "*" if is_open or _ID.fullmatch(segment) else segment.replace("*", "%2A")
    base, semicolon, matrix = segment.partition(";")
    match = _EXTENSION.search(base) if "." in base else None
    extension = match.group() if match else ""
    stem = base[: len(base) - len(extension)]
    if is_open or _ID.fullmatch(unquote(stem) if "%" in stem else stem):
        stem = "*"
    else:
        stem = stem.replace("*", "%2A")
    if not semicolon:
        return stem + extension
    return stem + extension + semicolon + ";".join(map(_folded_matrix, matrix.split(";")))


def _folded_matrix(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    return name + equals + ("*" if _ID.fullmatch(value) else value.replace("*", "%2A"))
