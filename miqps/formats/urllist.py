"""URL lists: one URL a line; blank lines and lines that begin with `#` are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from miqps import settings
from miqps.eligibility import unfit

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line with a URL that may become a sample."""

    line: int
    url: str


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that gives nothing, and why; the reason holds nothing of the line."""

    line: int
    reason: str


def read(lines: Iterable[bytes]) -> Iterator[Entry | BadLine]:
    r"""What each line gives, in order; line numbers count from 1.

    >>> list(read([b"# seen\r\n", b"https://a.example/p?id=7\r\n", b"ftp://a.example/?x\n"]))
    [Entry(line=2, url='https://a.example/p?id=7'), BadLine(line=3, reason='not http or https')]
    """
    for number, raw in enumerate(lines, start=1):
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        stripped = raw.strip()
        if not stripped or stripped.startswith(b"#"):
            continue
        if len(stripped) > settings.CORPUS.url_length:
            yield BadLine(number, "too long")
            continue
        try:
            url = stripped.decode()
        except UnicodeDecodeError:
            yield BadLine(number, "not UTF-8")
            continue
        reason = unfit(url)
        yield BadLine(number, reason) if reason else Entry(number, url)


def lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file in constant memory: the middle of an overlong one is never held.

    What is cut off an overlong line cannot make it fit: it stays longer than a URL may be.
    """
    longest = settings.CORPUS.url_length + 1_024
    while line := file.readline(longest):
        yield line
        while len(line) == longest and not line.endswith(b"\n"):
            line = file.readline(longest)
