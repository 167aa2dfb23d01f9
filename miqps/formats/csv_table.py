"""Tables as text: comma, tab or semicolon; with or without names of the columns."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from miqps.formats.columns import KNOWN, entry_of, is_url, url_column
from miqps.formats.entry import BROKEN, TOO_LONG, BadLine, Entry, Source
from miqps.formats.stream import peeked

_LONGEST_LINE = 1_024 * 1_024
_SAMPLE = 50
_DELIMITERS = "\t;,"
# Stands where a line was cut: no URL can hold it.
_CUT = "\0"


def entries(source: Source) -> Iterator[Entry | BadLine]:
    """What each row of a table gives; numbers are the lines on which rows begin.

    Raises FormatError when it is not clear which column holds the URLs.
    """
    text = _text(source.file)
    first = list(itertools.islice(text, _SAMPLE))
    delimiter = _delimiter(first, source.column)
    sample = _rows(first, delimiter)
    if not sample:
        return
    header, *rows = sample
    has_header = not any(map(is_url, header))
    at = url_column(header, rows if has_header else sample, source.column)
    reader = csv.reader(itertools.chain(first, text), delimiter=delimiter)
    begins = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield BadLine(begins, BROKEN)
        else:
            if has_header and row:
                has_header = False
            elif row:
                yield _entry(begins, row, at, len(header), source)
        begins = reader.line_num + 1


def matches(first: list[str]) -> bool:
    """Whether these lines are a table's, and no list of URLs."""
    if not first:
        return False
    for delimiter in _DELIMITERS:
        rows = _rows(first, delimiter)
        if not rows or any(map(is_url, rows[0])):
            # Without names, only a tab or a quote can be no part of a URL.
            if delimiter == "\t" and rows and (len(rows[0]) > 1 or first[0].startswith('"')):
                return True
            continue
        if any(cell.strip().lower() in KNOWN for cell in rows[0]):
            return True
        if len(rows) > 1 and len(rows[0]) == len(rows[1]) > 1 and any(map(is_url, rows[1])):
            return True
    return False


def _entry(number: int, row: list[str], at: int, width: int, source: Source) -> Entry | BadLine:
    if any(row[width:]):
        # An unquoted delimiter in a value: perhaps the URL's, which would be cut then.
        return BadLine(number, "more values than columns")
    value = row[at] if at < len(row) else ""
    return BadLine(number, TOO_LONG) if _CUT in value else entry_of(number, value, source.check)


def _text(file: BinaryIO) -> Iterator[str]:
    beginning, whole = peeked(file, 2)
    encoding = "utf-16" if beginning in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    with io.TextIOWrapper(whole, encoding, errors="replace", newline="\n") as text:
        while line := text.readline(_LONGEST_LINE):
            rest = line
            while len(rest) == _LONGEST_LINE and not rest.endswith("\n"):
                rest = text.readline(_LONGEST_LINE)
            yield line if rest is line else f"{line}{_CUT}\n"


def _delimiter(first: Iterable[str], column: str | None) -> str:
    """What parts the values: the names of columns tell, else the same number in every row."""
    wanted = {column.strip().lower()} if column else set(KNOWN)
    best, most = _DELIMITERS[0], 1
    for delimiter in _DELIMITERS:
        rows = [row for row in _rows(first, delimiter) if row]
        if not rows or len(rows[0]) == 1:
            continue
        if any(cell.strip().lower() in wanted for cell in rows[0]):
            return delimiter
        if len(rows[0]) > most and all(len(row) == len(rows[0]) for row in rows):
            best, most = delimiter, len(rows[0])
    return best


def _rows(first: Iterable[str], delimiter: str) -> list[list[str]]:
    rows = []
    try:
        for row in csv.reader(first, delimiter=delimiter):
            if row:
                rows.append(row)
    except csv.Error:
        pass
    return rows
