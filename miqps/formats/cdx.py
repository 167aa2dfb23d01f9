"""Indexes of web archives: CDX, with or without its header line, and CDXJ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from miqps.bodies import is_html
from miqps.formats import times
from miqps.formats.entry import BROKEN, NO_DOCUMENT, TOO_LONG, BadLine, Entry, FormatError, Source
from miqps.formats.lines import records

_HEADER = b"CDX "
_DEFAULT = ["N", "b", "a", "m", "s", "k", "r", "M", "S", "V", "g"]
_CDXJ = re.compile(rb"\S+ (\d{4,17}) (\{.*\})", re.DOTALL)
_CDX = re.compile(rb"\S+ \d{4,17} [A-Za-z][A-Za-z0-9+.-]*:\S+ \S+ (?:\d{3}|-) \S+")
_UNKNOWN = ("", "-", "unk", "unknown")


class _Capture(NamedTuple):
    """What a line says of one answer; empty or `-` where it does not say."""

    url: str
    time: str
    mime: str
    status: str
    method: str


def entries(source: Source) -> Iterator[Entry | BadLine]:
    """What each line of an index gives.

    Raises FormatError when the header line names no column with the original URL.
    """
    columns = _DEFAULT
    for number, line in records(source.file):
        if line is None:
            yield BadLine(number, TOO_LONG)
        elif line.startswith(_HEADER):
            columns = line.decode("ascii", "replace").split()[1:]
            if "a" not in columns:
                raise FormatError("a CDX file without original URLs (column a)")
        elif not line.startswith(b"!"):
            yield _entry(number, line, columns, source)


def matches(line: bytes) -> bool:
    """Whether this is a line of such an index."""
    return line.startswith(b" CDX ") or bool(_CDXJ.match(line) or _CDX.match(line))


def _entry(number: int, line: bytes, columns: list[str], source: Source) -> Entry | BadLine:
    try:
        capture = _capture(line, columns)
    except UnicodeDecodeError:
        return BadLine(number, "not UTF-8")
    except (ValueError, RecursionError):
        return BadLine(number, BROKEN)
    reason = _unused(capture) or source.check(capture.url)
    if reason:
        return BadLine(number, reason)
    return Entry(number, capture.url, seen=times.of_digits(capture.time))


def _capture(line: bytes, columns: list[str]) -> _Capture:
    """Raises ValueError when the line is none of an index."""
    match = _CDXJ.fullmatch(line)
    if match:
        found = json.loads(match[2])
        url, mime, status, method = (
            str(found.get(key) or "") for key in ("url", "mime", "status", "method")
        )
        return _Capture(url, match[1].decode(), mime, status, method or _method(line))
    fields = line.decode().split(" ")
    # Wayback's server leaves out the last ones.
    if len(fields) <= columns.index("a"):
        raise ValueError
    named = dict(zip(columns, fields, strict=False))
    time, mime, status = (named.get(letter, "") for letter in "bms")
    return _Capture(named["a"], time, mime, status, _method(line))


def _method(line: bytes) -> str:
    # Archives that replay forms put the method into the key; without it, it is GET.
    return "POST" if b"__wb_method=" in line.partition(b" ")[0] else ""


def _unused(capture: _Capture) -> str | None:
    if capture.method not in ("", "GET"):
        return "method"
    if capture.status not in ("", "-") and not re.fullmatch("2[0-9][0-9]", capture.status):
        return "status"
    if capture.mime == "warc/revisit":
        # The answer was the same as an earlier one, whose kind is not said here.
        return "revisit"
    return None if capture.mime in _UNKNOWN or is_html(capture.mime) else NO_DOCUMENT
