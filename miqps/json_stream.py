"""A JSON text read piece by piece, so that a big one is never in memory as a whole.

The caller walks down to the level it wants to hold: `members` and `elements` go into an object or
array, `value` takes whatever stands next as Python values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_COMMA = re.compile(r"\s*,\s*")
_decode = json.JSONDecoder().raw_decode


class JsonStream:
    """One JSON text, from pieces of any length. Every method raises ValueError on broken text."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self._text = ""
        self._at = 0
        self._passed = 0

    def members(self) -> Iterator[str]:
        """The keys of the object that stands next; each one's value must be taken in the loop."""
        self._expect("{")
        if self._next() == "}":
            self._at += 1
            return
        while True:
            if self._next() != '"':
                raise self._error("a key in quotes expected")
            key = self.value()
            self._expect(":")
            yield key
            if self._next() != ",":
                break
            self._at += 1
        self._expect("}")

    def elements(self) -> Iterator[Any]:
        """The elements of the array that stands next, as Python values."""
        self._expect("[")
        if self._next() == "]":
            self._at += 1
            return
        yield self.value()
        while True:
            # The usual way on: a comma, and the next value in full.
            comma = _COMMA.match(self._text, self._at)
            if comma is None and self._next() != ",":
                break
            self._at = comma.end() if comma else self._at + 1
            yield self._value_here()
        self._expect("]")

    def value(self) -> Any:
        """What stands next, as a Python value."""
        self._next()
        return self._value_here()

    def finish(self) -> None:
        """Makes sure that nothing follows."""
        if self._next():
            raise self._error("the text should end here")

    def _value_here(self) -> Any:
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # Perhaps the value, or all of it, is in the next piece.
                if not self._fill():
                    raise self._error(error.msg, error.pos) from None
                self._next()
            except RecursionError:
                raise self._error("nested too deep") from None
            else:
                # A number that ends where the piece ends may go on in the next one.
                if end < len(self._text) or not self._fill():
                    self._at = end
                    return value

    def _next(self) -> str:
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return ""

    def _expect(self, mark: str) -> None:
        if self._next() != mark:
            raise self._error(f"'{mark}' expected")
        self._at += 1

    def _fill(self) -> bool:
        """Takes more text in, at least as much as is still unread; False at the end."""
        rest = self._text[self._at :]
        pieces = [rest]
        wanted = max(len(rest), 1)
        for piece in self._pieces:
            pieces.append(piece)
            wanted -= len(piece)
            if wanted <= 0:
                break
        text = "".join(pieces)
        if len(text) == len(rest):
            return False
        self._passed += self._at
        self._text, self._at = text, 0
        return True

    def _error(self, what: str, at: int | None = None) -> ValueError:
        at = self._at if at is None else at
        return ValueError(f"broken JSON at character {self._passed + at + 1}: {what}")
