"""Looking at the beginning of a stream that can only be read forwards, such as a pipe."""

from __future__ import annotations

import io
from typing import IO, Any, BinaryIO

from miqps.formats.entry import DamagedError

PIECE = 65_536
"""Bytes read at once."""


def peeked(file: BinaryIO, size: int) -> tuple[bytes, io.BufferedReader]:
    """The first bytes of a stream, and a stream that gives all of it, these bytes too.

    Returns fewer bytes than `size` when there are no more, or when what follows is damaged: then
    reading on says so. The given stream stays open when the returned one is closed.
    """
    beginning = bytearray()
    try:
        while len(beginning) < size and (piece := read_some(file, size - len(beginning))):
            beginning += piece
    except DamagedError:
        pass
    return bytes(beginning), io.BufferedReader(_Replayed(bytes(beginning), file), PIECE)


def read_some(file: BinaryIO, size: int) -> bytes:
    """What is there, without waiting for all of `size` where the stream can do so."""
    read: Any = getattr(file, "read1", file.read)
    return bytes(read(size) or b"")


class _Replayed(io.RawIOBase):
    """A stream whose beginning was read already."""

    def __init__(self, beginning: bytes, file: BinaryIO) -> None:
        self._beginning = memoryview(beginning)
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._beginning:
            piece: bytes | memoryview = self._beginning[: len(buffer)]
            self._beginning = self._beginning[len(piece) :]
        else:
            piece = read_some(self._file, len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


class Part(io.RawIOBase):
    """The next bytes of a file, and no more."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._file.read(min(len(buffer), self._left))
        self._left -= len(piece)
        buffer[: len(piece)] = piece
        return len(piece)
