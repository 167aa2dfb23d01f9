"""Access logs of Apache and nginx: common, combined, and either with the host in front.

A log does not say what kind of thing was answered: pictures, scripts and the like are told by the
ending of their path, all else is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from miqps import urls
from miqps.formats import times
from miqps.formats.entry import NO_DOCUMENT, TOO_LONG, BadLine, Entry, FormatError, Source
from miqps.formats.lines import records
from miqps.settings import PROBER_TOKEN

_LINE = re.compile(
    # `vhost_combined` writes host:port; others only a name, which must be told from the client.
    rb"(?:(?P<host>[A-Za-z0-9_.-]++|\[[0-9A-Fa-f:.]++\]):(?P<port>\d{1,5}) "
    rb"|(?=[0-9_.-]*+[A-Za-z])(?P<name>[A-Za-z0-9_.-]++) (?=[0-9A-Fa-f]*+[.:][0-9A-Fa-f.:]*+ ))?"
    rb"\S++ \S++ (?P<user>[^\[]{1,255}?) \[(?P<time>[^\]]{1,40})\] "
    rb'"(?P<request>(?:[^"\\]++|\\.)*+)" (?P<status>\d{3}) [\d-]++'
    rb'(?: "(?:[^"\\]++|\\.)*+" "(?P<agent>(?:[^"\\]++|\\.)*+)")?'
)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"v": b"\v", b"f": b"\f"}
_NO_PAGE = re.compile(
    rb"\.(?:avif|bmp|css|eot|gif|ico|jpe?g|m?js|json|map|mp[34]|ogg|otf|png|svg|ttf|wasm|web[mp]"
    rb"|woff2?)\Z",
    re.IGNORECASE,
)
_PROBER = PROBER_TOKEN.encode()
_NOBODY = (b"-", b'""')


def entries(source: Source) -> Iterator[Entry | BadLine]:
    """What each line of a log gives.

    Raises FormatError at the first request of an unnamed host, when no site was given.
    """
    for number, line in records(source.file):
        if line is None:
            yield BadLine(number, TOO_LONG)
            continue
        match = _LINE.match(line)
        if match is None:
            yield BadLine(number, "not a line of an access log")
            continue
        base = _base(match) or source.site
        if base is None:
            raise FormatError(
                "its lines name no host; say which site it is of, like --site https://shop.example"
            )
        yield _entry(number, base, match, source)


def matches(line: bytes) -> bool:
    """Whether this is a line of an access log."""
    return _LINE.match(line) is not None


def checked_site(site: str) -> str:
    """A site as it stands in front of a path. Raises FormatError for what is none."""
    base = site.rstrip("/")
    if not re.fullmatch(r"https?://[^/?#@\s]+", base, re.IGNORECASE) or urls.site(base) is None:
        raise FormatError(
            f"{site!r} is no site: give scheme and host, like --site https://shop.example"
        )
    return base


def _entry(number: int, base: str, match: re.Match[bytes], source: Source) -> Entry | BadLine:
    reason = _unused(match)
    if reason:
        return BadLine(number, reason)
    target = _unescaped(match["request"].split(b" ")[1])
    if not target.startswith(b"/") or b"#" in target:
        return BadLine(number, "odd target")
    if _NO_PAGE.search(target.partition(b"?")[0]):
        return BadLine(number, NO_DOCUMENT)
    try:
        url = base + target.decode()
    except UnicodeDecodeError:
        return BadLine(number, "not UTF-8")
    reason = source.check(url)
    if reason:
        return BadLine(number, reason)
    return Entry(number, url, seen=times.of_log(match["time"].decode("ascii", "replace")))


def _unused(match: re.Match[bytes]) -> str | None:
    method, *rest = match["request"].split(b" ")
    if method != b"GET":
        return "method"
    if not 1 <= len(rest) <= 2:
        return "odd target"
    if not match["status"].startswith(b"2"):
        return "status"
    if match["user"] not in _NOBODY:
        return "authorization"
    return "prober" if _PROBER in (match["agent"] or b"") else None


def _base(match: re.Match[bytes]) -> str | None:
    if match["name"]:
        return f"https://{match['name'].decode()}"
    if not match["host"]:
        return None
    # The line does not tell the scheme; ports do, by custom.
    port = int(match["port"])
    scheme = "https" if port in (443, 8443) else "http"
    named = "" if port in (80, 443) else f":{port}"
    return f"{scheme}://{match['host'].decode()}{named}"


def _unescaped(text: bytes) -> bytes:
    if b"\\" not in text:
        return text
    return _ESCAPE.sub(
        lambda m: bytes.fromhex(m[1].decode()) if m[1] else _LETTERS.get(m[2], m[2]), text
    )
