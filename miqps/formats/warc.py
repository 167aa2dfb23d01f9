"""WARC files, by warcio: the pages among their responses.

A response does not say what was asked with which method; the request record beside it does. So a
response is held until the next record is seen.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from warcio.bufferedreaders import ChunkedDataReader  # type: ignore[import-untyped]
from warcio.limitreader import LimitReader  # type: ignore[import-untyped]
from warcio.recordloader import ArcWarcRecordLoader  # type: ignore[import-untyped]

from miqps.bodies import LONGEST, decoded, is_html
from miqps.formats import times
from miqps.formats.entry import (
    BROKEN,
    ENDS_EARLY,
    NO_DOCUMENT,
    BadLine,
    DamagedError,
    Entry,
    Source,
)
from miqps.formats.stream import PIECE, read_some
from miqps.formats.visits import document_of, page

_LONGEST_HEADERS = 1_024 * 1_024
_BEGINS = b"WARC/"
# It quotes URLs, which may hold what nobody should read.
logging.getLogger("warcio").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class _Request:
    """What a request record says."""

    ids: frozenset[str]
    url: str
    method: str
    has_authorization: bool
    has_cookies: bool


@dataclass(frozen=True, slots=True)
class _Response:
    """What a response record says."""

    number: int
    ids: frozenset[str]
    url: str
    seen: str
    status: int
    content_type: str
    body: bytes | None


def entries(source: Source) -> Iterator[Entry | BadLine]:
    """What each response gives; numbers count the records of all kinds."""
    request: _Request | None = None
    response: _Response | None = None
    damage: DamagedError | None = None
    try:
        for record in _records(source.file):
            if isinstance(record, BadLine):
                yield record
            elif response and isinstance(record, _Request) and _belong(record, response):
                yield _entry(response, record)
                response = None
            else:
                if response:
                    yield _entry(response, None)
                    response = None
                if isinstance(record, _Request):
                    request = record
                    continue
                if record and request and _belong(request, record):
                    yield _entry(record, request)
                else:
                    response = record
            request = None
    except DamagedError as error:
        damage = error
    if response:
        yield _entry(response, None)
    if damage:
        raise damage


def _entry(response: _Response, request: _Request | None) -> Entry | BadLine:
    if request and request.method != "GET":
        return BadLine(response.number, "method")
    if request and request.has_authorization:
        return BadLine(response.number, "authorization")
    if not 200 <= response.status < 300:
        return BadLine(response.number, "status")
    if response.content_type and not is_html(response.content_type):
        return BadLine(response.number, NO_DOCUMENT)
    document = document_of(
        response.status,
        response.content_type,
        response.body,
        cookies_sent=bool(request and request.has_cookies),
    )
    return page(response.number, response.url, document, seen=response.seen)


def _belong(request: _Request, response: _Response) -> bool:
    return bool(request.ids & response.ids) or request.url == response.url


def _records(file: BinaryIO) -> Iterator[_Request | _Response | BadLine | None]:
    """Every record: a request, a response, what is wrong with it, or None for other kinds.

    Where a record is broken, reading goes on at the next line that begins one.
    """
    stream = _Stream(file)
    loader = ArcWarcRecordLoader(verify_http=False, arc2warc=False)
    number = 0
    is_lost = False
    while line := stream.line():
        if not line.startswith(_BEGINS):
            if line.strip() and not is_lost:
                is_lost = True
                number += 1
                yield BadLine(number, BROKEN)
            continue
        number += 1
        try:
            record = loader.parse_record_stream(stream, line, "warc")
            is_lost = record.length is None
            result = None if is_lost else _understood(number, record)
        except (DamagedError, OSError):
            raise
        except Exception:
            # warcio takes what it reads for granted, and fails in many ways when it is not so.
            is_lost = True
        if is_lost:
            yield BadLine(number, BROKEN)
            continue
        while record.raw_stream.read(PIECE):
            pass
        if record.raw_stream.limit:
            raise DamagedError(ENDS_EARLY)
        yield result


def _understood(number: int, record: Any) -> _Request | _Response | None:
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    http = record.http_headers
    if http is None or not url.startswith(("http:", "https:")):
        return None
    ids = frozenset(
        value.strip()
        for name, value in record.rec_headers.headers
        if name.lower() in ("warc-record-id", "warc-concurrent-to")
    )
    if record.rec_type == "request":
        has_authorization = http.get_header("Authorization") is not None
        has_cookies = http.get_header("Cookie") is not None
        return _Request(ids, url, http.protocol.upper(), has_authorization, has_cookies)
    status = int(http.get_statuscode())
    content_type = http.get_header("Content-Type") or ""
    is_page = record.rec_type == "response" and 200 <= status < 300 and is_html(content_type)
    return _Response(
        number=number,
        ids=ids,
        url=url,
        seen=times.of_iso(record.rec_headers.get_header("WARC-Date")),
        status=status,
        content_type=content_type,
        body=_body(record) if is_page else None,
    )


def _body(record: Any) -> bytes | None:
    stream = LimitReader(record.raw_stream, 2 * LONGEST)
    if (record.http_headers.get_header("Transfer-Encoding") or "").strip().lower() == "chunked":
        stream = ChunkedDataReader(stream)
    body = bytearray()
    while len(body) < 2 * LONGEST and (piece := stream.read(PIECE)):
        body += piece
    if body.lstrip()[:1] == b"<":
        # Archives may keep the header of an encoding that they took off.
        return bytes(body[:LONGEST])
    return decoded(bytes(body), record.http_headers.get_header("Content-Encoding") or "")


class _Stream:
    """What warcio reads from: a piece at a time, whatever lengths a damaged file names."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._headers = 0

    def line(self) -> bytes:
        """The next line between records, or its first part."""
        self._headers = 0
        return self._file.readline(PIECE)

    def readline(self, size: int | None = None) -> bytes:
        line = self._file.readline(PIECE if size is None else min(size, PIECE))
        self._headers += len(line)
        if self._headers > _LONGEST_HEADERS:
            raise ValueError("too many headers")
        return line

    def read(self, size: int) -> bytes:
        return read_some(self._file, min(size, PIECE))

    def tell(self) -> int:
        """Asked for, and of no use here."""
        return 0
