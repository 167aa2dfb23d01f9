"""Takes compression off, told by a file's first bytes: gzip, zstd, bzip2, xz, zlib (`.zhar`).

Damage becomes a DamagedError where it is met, after all that could be read before it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

import zstandard

from miqps.formats.entry import ENDS_EARLY, DamagedError
from miqps.formats.stream import peeked, read_some

_MAGIC_SIZE = 16
# So few bytes of zstd may stand for 4 MiB. Small pieces cost next to nothing.
_SMALL = 128


def decompressed(file: BinaryIO) -> tuple[BinaryIO, bool]:
    """The content of a file, and whether it was compressed."""
    magic, whole = peeked(file, _MAGIC_SIZE)
    for pattern, opened in _KINDS:
        if pattern.match(magic):
            return io.BufferedReader(_Checked(opened(whole))), True
    return whole, False


class _Checked(io.RawIOBase):
    """A decompressor's output, whose many kinds of errors are one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._damage: DamagedError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # Once damaged, always damaged: some decompressors start anew when asked again.
        if self._damage:
            raise self._damage
        try:
            piece = read_some(self._file, len(buffer))
        except EOFError:
            self._damage = DamagedError(ENDS_EARLY)
        except OSError as error:
            # Decompressors raise it too, but never with a number of the system.
            if error.errno is not None:
                raise
            self._damage = DamagedError("damaged compression")
        except (zlib.error, lzma.LZMAError, zstandard.ZstdError, MemoryError):
            self._damage = DamagedError("damaged compression")
        else:
            buffer[: len(piece)] = piece
            return len(piece)
        raise self._damage


class _Frames(io.RawIOBase):
    """What a decompressor object makes of one or more frames.

    For zlib, which has no file type, and for zstd, whose own one does not tell a file that was cut
    off from a whole one.
    """

    def __init__(self, file: BinaryIO, new: Callable[[], Any]) -> None:
        self._file = file
        self._new = new
        self._frame: Any = None
        self._input = b""
        self._output = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._output:
            piece = self._input or self._file.read(_SMALL)
            if not piece:
                if self._frame is not None:
                    raise EOFError
                return 0
            if self._frame is None:
                self._frame = self._new()
            self._output = memoryview(self._frame.decompress(piece))
            self._input = b""
            if self._frame.eof:
                self._input, self._frame = self._frame.unused_data, None
        piece_out = self._output[: len(buffer)]
        self._output = self._output[len(piece_out) :]
        buffer[: len(piece_out)] = piece_out
        return len(piece_out)


def _zstd(file: BinaryIO) -> BinaryIO:
    return io.BufferedReader(_Frames(file, lambda: zstandard.ZstdDecompressor().decompressobj()))


def _zlib(file: BinaryIO) -> BinaryIO:
    return io.BufferedReader(_Frames(file, zlib.decompressobj))


_KINDS: tuple[tuple[re.Pattern[bytes], Callable[[BinaryIO], Any]], ...] = (
    (re.compile(rb"\x1f\x8b"), lambda file: gzip.GzipFile(fileobj=file)),
    # The second is a frame to be skipped, which some writers begin with.
    (re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _zstd),
    (re.compile(rb"BZh[1-9](?:\x31\x41\x59\x26\x53\x59|\x17\x72\x45\x38\x50\x90)"), bz2.BZ2File),
    (re.compile(rb"\xfd7zXZ\x00"), lzma.LZMAFile),
    (re.compile(rb"\x78[\x9c\xda]"), _zlib),
)
