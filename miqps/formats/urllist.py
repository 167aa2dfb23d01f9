"""URL lists: one URL a line; blank lines and lines that begin with `#` are passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from miqps import settings
from miqps.eligibility import unfit
from miqps.formats.entry import TOO_LONG, BadLine, Entry, Source
from miqps.formats.lines import lines

__all__ = ["BadLine", "Entry", "entries", "lines", "read"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def entries(source: Source) -> Iterator[Entry | BadLine]:
    """What each line of a list gives."""
    return read(lines(source.file), source.check)


def read(
    lines: Iterable[bytes], check: Callable[[str], str | None] = unfit
) -> Iterator[Entry | BadLine]:
    r"""What each line gives, in order; line numbers count from 1.

    >>> list(read([b"# seen\r\n", b"ftp://a.example/?x\n"]))
    [BadLine(number=2, reason='not http or https')]
    """
    for number, raw in enumerate(lines, start=1):
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        stripped = raw.strip()
        if not stripped or stripped.startswith(b"#"):
            continue
        if len(stripped) > settings.CORPUS.url_length:
            yield BadLine(number, TOO_LONG)
            continue
        try:
            url = stripped.decode()
        except UnicodeDecodeError:
            yield BadLine(number, "not UTF-8")
            continue
        reason = check(url)
        yield BadLine(number, reason) if reason else Entry(number, url)
