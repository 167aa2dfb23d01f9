"""Readers of what people already have: one file a format, and here the way in to all of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from miqps.eligibility import unfit
from miqps.formats.accesslog import checked_site
from miqps.formats.compression import decompressed
from miqps.formats.detection import BEGINNING, detect
from miqps.formats.entry import BadLine, DamagedError, Entry, FormatError, Reader, Source
from miqps.formats.stream import peeked

__all__ = ["FORMATS", "BadLine", "Entry", "FormatError", "detect", "read"]


def _reader(module: str) -> Reader:
    """A reader that is imported when it is first used: some stand on big libraries."""

    def entries(source: Source) -> Iterator[Entry | BadLine]:
        found: Reader = importlib.import_module(f"miqps.formats.{module}").entries
        return found(source)

    return entries


FORMATS: dict[str, Reader] = {
    "urllist": _reader("urllist"),
    "har": _reader("har"),
    "flows": _reader("flows"),
    "accesslog": _reader("accesslog"),
    "cdx": _reader("cdx"),
    "warc": _reader("warc"),
    "sitemap": _reader("sitemap"),
    "csv": _reader("csv_table"),
    "parquet": _reader("parquet"),
}
"""The reader of each format, by the name that the command line knows it by."""


def read(
    name: str,
    file: BinaryIO,
    format: str = "auto",
    site: str | None = None,
    column: str | None = None,
    check: Callable[[str], str | None] = unfit,
) -> Iterator[Entry | BadLine]:
    """What a file gives, entry by entry, in constant memory; compressed or not.

    Damage costs what is damaged, never what was read before it.

    Args:
        name: the file's name, which may tell its format; "-" for a stream.
        file: the file, open for bytes; a pipe will do.
        format: a key of `FORMATS`, or "auto" to tell it by the content and the name.
        site: scheme and host of an access log's site.
        column: the name, or the number from 1, of the column with the URLs.
        check: why a URL gives nothing; recorded traffic is always checked as if it were to be
            stored.

    Raises:
        FormatError: it cannot be read as it was asked for; now, or at the first entry.
        OSError: the file itself cannot be read.
    """
    if format != "auto" and format not in FORMATS:
        raise FormatError(f"no format {format!r}; there are auto, {', '.join(FORMATS)}")
    if site is not None:
        site = checked_site(site)
    content, is_compressed = decompressed(file)
    beginning, stream = peeked(content, BEGINNING)
    if format == "auto":
        format = detect(beginning, name)
    whole = None if is_compressed or not file.seekable() else file
    return _undamaged(FORMATS[format](Source(stream, whole, site, column, check)))


def _undamaged(entries: Iterator[Entry | BadLine]) -> Iterator[Entry | BadLine]:
    number = 0
    try:
        for entry in entries:
            number = entry.number
            yield entry
    except DamagedError as damage:
        yield BadLine(number + 1, damage.reason)
