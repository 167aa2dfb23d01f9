"""Which column of a table holds the URLs, and what a value of it gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from miqps.formats.entry import BadLine, Entry, FormatError

KNOWN = ("url", "uri", "link", "address", "page", "loc", "original")
_URL = re.compile(r"\s*https?://", re.IGNORECASE)
_SHOWN = 10
_NO_TEXT = "\ufffd"
"""What bytes that are no UTF-8 are read as."""


def is_url(value: str) -> bool:
    """Whether a value begins as a URL does."""
    return _URL.match(value) is not None


def url_column(header: Sequence[str], rows: Sequence[Sequence[str]], column: str | None) -> int:
    """The place of the column with the URLs, from 0.

    Args:
        header: the names of the columns, or the first row where there are none.
        rows: the first rows, to see what the columns hold.
        column: the name that the user gave, or a number from 1; None to find it.

    Raises:
        FormatError: there is none, or more than one.
    """
    names = [cell.strip().lower() for cell in header]
    if column is not None:
        return _asked_for(header, names, column)
    values = [[row[at] for row in rows if at < len(row) and row[at]] for at in range(len(names))]
    known = [names.index(each) for each in KNOWN if each in names]
    for at in known:
        if any(map(is_url, values[at])):
            return at
    found = [at for at, held in enumerate(values) if held and all(map(is_url, held))]
    if len(found) == 1:
        return found[0]
    if found:
        raise FormatError(
            f"more than one column holds URLs; name one with --column{_names(header)}"
        )
    if known:
        return known[0]
    raise FormatError(f"no column holds URLs; name one with --column{_names(header)}")


def entry_of(number: int, value: str, check: Callable[[str], str | None]) -> Entry | BadLine:
    """What a value of that column gives."""
    url = value.strip()
    if not url:
        return BadLine(number, "no URL in it")
    if _NO_TEXT in url:
        return BadLine(number, "not UTF-8")
    reason = check(url)
    return BadLine(number, reason) if reason else Entry(number, url)


def _asked_for(header: Sequence[str], names: Sequence[str], column: str) -> int:
    if column.strip().lower() in names:
        return names.index(column.strip().lower())
    if column.isascii() and column.isdigit() and 1 <= int(column) <= len(names):
        return int(column) - 1
    raise FormatError(f"no column {column!r}{_names(header)}")


def _names(header: Sequence[str]) -> str:
    """The names to choose from; nothing when the first row is no header, but data."""
    if any(map(is_url, header)):
        return f" (a number from 1 to {len(header)})"
    shown = ", ".join(repr(cell.strip()[:40]) for cell in header[:_SHOWN])
    return f" ({shown}{', …' if len(header) > _SHOWN else ''})" if header else ""
