"""What one reader reads: a file, or a part of a long list.

A list of URLs that is not compressed can be read from any line on; everything else is read whole.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import IO

import msgspec

from miqps import formats
from miqps.bulk import tables
from miqps.formats import BadLine, Entry
from miqps.formats.compression import decompressed
from miqps.formats.detection import BEGINNING
from miqps.formats.stream import Part, peeked

_LEAST, _MOST, _PARTS = 16 << 20, 512 << 20, 8
"""A list is read in eight parts, of at least and at most so many bytes: a reader that begins has
to find out anew which URLs are worth keeping."""

_PIECE = 1 << 16

_ELSEWHERE = "duckdb"


class Split(msgspec.Struct, frozen=True):
    """A file from a byte on to another, 0 and its size for all of it; and how it is to be read."""

    file: str
    start: int
    end: int
    size: int
    changed: int
    """When the file was last changed, in ns since 1970: it is read again if it was."""

    format: str
    site: str | None = None
    column: str | None = None


def splits_of(
    file: str, format: str = "auto", site: str | None = None, column: str | None = None
) -> list[Split]:
    """The parts in which a file is read, or the files of a pattern. Raises OSError, FormatError."""
    if tables.is_elsewhere(file):
        return [Split(name, 0, 1, 1, 0, _ELSEWHERE, None, column) for name in tables.files_of(file)]
    with open(file, "rb") as opened:
        stat = os.fstat(opened.fileno())
        content, is_compressed = decompressed(opened)
        if format == "auto":
            format = formats.detect(peeked(content, BEGINNING)[0], file)
    part = max(stat.st_size, 1)
    if format == "urllist" and not is_compressed:
        part = min(max(part // _PARTS, _LEAST), _MOST)
    return [
        Split(
            file, start, min(start + part, stat.st_size), stat.st_size, stat.st_mtime_ns,
            format, site, column,
        )
        for start in range(0, max(stat.st_size, 1), part)
    ]  # fmt: skip


def entries(split: Split) -> Iterator[Entry | BadLine]:
    """What a split gives; lines are counted from its beginning.

    URLs are not checked. Raises FormatError, and OSError for the file.
    """
    if split.format == _ELSEWHERE:
        yield from tables.entries(split.file, split.column)
        return
    with open(split.file, "rb") as file:
        where = split.format, split.site, split.column
        if (split.start, split.end) == (0, split.size):
            yield from formats.read(split.file, file, *where, check=_unchecked)
            return
        start, end = (_line_after(file, at) for at in (split.start, split.end))
        file.seek(start)
        part = io.BufferedReader(Part(file, end - start))
        yield from formats.read(split.file, part, *where, check=_unchecked)


def _unchecked(url: str) -> None:
    """Only the few URLs that are wanted are looked at closely."""


def _line_after(file: IO[bytes], at: int) -> int:
    """Where the first line begins that begins at a byte or behind it."""
    if not at:
        return 0
    file.seek(at - 1)
    while (piece := file.readline(_PIECE)) and not piece.endswith(b"\n"):
        pass
    return file.tell()
