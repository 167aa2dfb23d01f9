"""The lines of a file in constant memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from miqps import settings

_LONGEST_OF_LIST = settings.CORPUS.url_length + 1_024
_LONGEST_OF_RECORDS = 65_536


def lines(file: BinaryIO, longest: int = _LONGEST_OF_LIST) -> Iterator[bytes]:
    """The lines with their ends: the middle of an overlong one is never held.

    Of an overlong one the first `longest` bytes are given, without an end. With the default that
    cannot make it fit: it stays longer than a URL may be.
    """
    while line := file.readline(longest):
        yield line
        while len(line) == longest and not line.endswith(b"\n"):
            line = file.readline(longest)


def records(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """The lines that are not blank, stripped, with their numbers from 1; None for an overlong one.

    For lines that hold more than a URL: up to 64 KiB.
    """
    for number, line in enumerate(lines(file, _LONGEST_OF_RECORDS), start=1):
        if len(line) == _LONGEST_OF_RECORDS and not line.endswith(b"\n"):
            yield number, None
        elif stripped := line.strip():
            yield number, stripped
