"""Sitemaps: the URLs of a `urlset`, or the sitemaps of a `sitemapindex`. Nothing is fetched.

Read with expat itself, which keeps no tree. Entities are refused where they are declared, so none
is ever expanded, and external ones are never looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO
from xml.parsers import expat

from miqps import settings
from miqps.formats.entry import ENDS_EARLY, TOO_LONG, BadLine, DamagedError, Entry, Source
from miqps.formats.stream import PIECE, read_some

_LONGEST = settings.CORPUS.url_length
# A tag or comment is held by the parser until it ends.
_LONGEST_TOKEN = 1_024 * 1_024
_DEEPEST = 100

_PAGES = ["urlset", "url", "loc"]
_SITEMAPS = ["sitemapindex", "sitemap", "loc"]


def entries(source: Source) -> Iterator[Entry | BadLine]:
    """What each `loc` gives; numbers count them."""
    for number, (is_page, url) in enumerate(_locations(source.file), start=1):
        if not is_page:
            yield BadLine(number, "a sitemap, not a page")
            continue
        reason = TOO_LONG if len(url) > _LONGEST else source.check(url)
        yield BadLine(number, reason) if reason else Entry(number, url)


def _locations(file: BinaryIO) -> Iterator[tuple[bool, str]]:
    found = _Locations()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = found.start
    parser.EndElementHandler = found.end
    parser.CharacterDataHandler = found.text
    parser.EntityDeclHandler = _refuse
    fed = 0
    while True:
        piece = read_some(file, PIECE)
        fed += len(piece)
        try:
            parser.Parse(piece, not piece)
        except DamagedError as error:
            damage = error.reason
        # The others come from encodings that Python does not have, or not as XML needs them.
        except (expat.ExpatError, LookupError, ValueError):
            damage = "broken XML" if piece else ENDS_EARLY
        else:
            damage = ""
        yield from found.taken()
        if damage:
            raise DamagedError(damage)
        if not piece:
            return
        if fed - parser.CurrentByteIndex > _LONGEST_TOKEN:
            raise DamagedError("broken XML")


class _Locations:
    """Gathers the text of each `loc`, with whether it is a page's."""

    def __init__(self) -> None:
        self._path: list[str] = []
        self._text: list[str] | None = None
        self._size = 0
        self._found: list[tuple[bool, str]] = []

    def start(self, name: str, _: dict[str, str]) -> None:
        self._path.append(name.rpartition(" ")[2])
        if len(self._path) > _DEEPEST:
            raise DamagedError("broken XML")
        if len(self._path) == 1 and self._path[0] not in ("urlset", "sitemapindex"):
            raise DamagedError("not a sitemap")
        if self._path in (_PAGES, _SITEMAPS):
            self._text, self._size = [], 0

    def end(self, _: str) -> None:
        if self._text is not None and self._path in (_PAGES, _SITEMAPS):
            self._found.append((self._path == _PAGES, "".join(self._text).strip()))
            self._text = None
        self._path.pop()

    def text(self, text: str) -> None:
        if self._text is not None and self._size <= 2 * _LONGEST:
            self._text.append(text)
            self._size += len(text)

    def taken(self) -> list[tuple[bool, str]]:
        """What was found since the last time."""
        found, self._found = self._found, []
        return found


def _refuse(*_: object) -> None:
    raise DamagedError("XML entities are refused")
