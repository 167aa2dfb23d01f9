"""The entries of a HAR as pieces of its text, one by one, in constant memory.

A parser would hold a whole body of hundreds of megabytes, and could not go on after one broken
entry. Here only brackets and quotes are looked at: that is enough to see where an entry ends, and
strings that are too long are cut on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from miqps.formats.entry import ENDS_EARLY, DamagedError
from miqps.formats.stream import PIECE, read_some

_LONGEST_STRING = 4 * 1_024 * 1_024
_LONGEST_ELEMENT = 8 * 1_024 * 1_024

_QUOTE = ord('"')
_OPENING = frozenset(b"[{")
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
# Whole strings and all else that is no bracket; it ends before a string that goes on later.
_PLAIN = rb'[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+"'
_RUN = re.compile(rb"(?:%b)*+" % _PLAIN, re.DOTALL)
# In an element, what has no brackets inside of it may go along.
_RUN_INSIDE = re.compile(
    rb"(?:%b|\{(?:%b)*+\}|\[(?:%b)*+\])*+" % (_PLAIN, _PLAIN, _PLAIN), re.DOTALL
)
# What the last character before a cut may still lack: hex digits of an escape, bytes of a letter.
_REST = re.compile(rb"[0-9a-fA-F\x80-\xbf]*+")
_LONGEST_REST = 4
_KEY = re.compile(rb'"([a-z]{1,20})"\s*:\s*\Z')
_LONGEST_KEY = 512

_PATH = [b"", b"log", b"entries"]


def elements(file: BinaryIO) -> Iterator[bytes | None]:
    """The JSON text of every entry, with overlong strings cut short; None for an overlong entry.

    Raises DamagedError where the text ends before its entries do, or has none.
    """
    scan = _Scan(file)
    path: list[bytes] = []
    depth = 0
    for bracket in scan.brackets():
        if bracket in _OPENING:
            if depth == len(path) < len(_PATH):
                path.append(scan.key() if path else b"")
            elif path == _PATH and depth == len(_PATH):
                scan.keep(bracket)
            depth += 1
        else:
            depth -= 1
            if depth < 0:
                break
            if path == _PATH and depth == len(_PATH):
                yield scan.kept()
            elif depth < len(path):
                if path == _PATH:
                    return
                path.pop()
    raise DamagedError(ENDS_EARLY if path == _PATH else "no list of entries in it")


class _Scan:
    """Where the reading is, and the text of the element that is being read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._text = b""
        self._at = 0
        self._pieces: list[bytes] | None = None
        self._size = 0
        self._before = b""
        """The last of what stands outside of elements, where a key may be."""

    def brackets(self) -> Iterator[int]:
        """Brackets outside of strings, as bytes: all that matter for where an element ends."""
        while self._at < len(self._text) or self._fill():
            pattern = _RUN if self._pieces is None else _RUN_INSIDE
            run = pattern.match(self._text, self._at)
            assert run
            self._take(run.end())
            if self._at == len(self._text):
                continue
            mark = self._text[self._at]
            if mark == _QUOTE:
                self._long_string()
                continue
            self._take(self._at + 1)
            yield mark

    def key(self) -> bytes:
        """The key before the bracket that was just given."""
        match = _KEY.search(self._before[:-1])
        return match.group(1) if match else b""

    def keep(self, bracket: int) -> None:
        """Begin an element with the bracket that was just given."""
        self._pieces, self._size = [bytes([bracket])], 1

    def kept(self) -> bytes | None:
        """The element that ends with the bracket that was just given."""
        pieces, self._pieces = self._pieces or [], None
        return b"".join(pieces) if self._size <= _LONGEST_ELEMENT else None

    def _long_string(self) -> None:
        """Go over a string that does not end in this piece of the text."""
        self._take(self._at + 1)
        size = 0
        rest = _LONGEST_REST
        while self._at < len(self._text) or self._fill():
            match = _IN_STRING.match(self._text, self._at)
            assert match
            end = match.end()
            size += end - self._at
            if size <= _LONGEST_STRING:
                self._take(end)
            else:
                begun = _REST.match(self._text, self._at, min(end, self._at + rest))
                assert begun
                rest = rest - len(begun.group()) if begun.end() == end else 0
                self._take(begun.end())
                self._at = end
            if self._at == len(self._text):
                continue
            if self._text[self._at] == _QUOTE:
                self._take(self._at + 1)
                return
            # A backslash at the end of the piece: the escape goes on in the next one.
            if not self._fill():
                return

    def _take(self, end: int) -> None:
        piece = self._text[self._at : end]
        self._at = end
        if self._pieces is None:
            self._before = (self._before + piece)[-_LONGEST_KEY:]
            return
        self._size += len(piece)
        if self._size <= _LONGEST_ELEMENT:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def _fill(self) -> bool:
        piece = read_some(self._file, PIECE)
        self._text = self._text[self._at :] + piece
        self._at = 0
        return bool(piece)
