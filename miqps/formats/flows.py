"""mitmproxy's flow files (`mitmdump -w`, `save.file`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

from mitmproxy import http
from mitmproxy.io import FlowReader

from miqps.addon.origin import origin
from miqps.addon.rewriter import ORIGINAL_TARGET
from miqps.bodies import LONGEST, decoded
from miqps.formats import times
from miqps.formats.entry import BROKEN, ENDS_EARLY, TOO_LONG, BadLine, DamagedError, Entry, Source
from miqps.formats.stream import PIECE, read_some
from miqps.formats.visits import document_of, page, visit
from miqps.observation import Document
from miqps.origin import url as url_of

_LONGEST_FLOW = 32 * 1_024 * 1_024
_LONGEST_PREFIX = len("999999999999:")


def entries(source: Source) -> Iterator[Entry | BadLine]:
    """What each flow gives; numbers count flows."""
    for number in itertools.count(1):
        try:
            frame = _frame(source.file)
        except _TooLongError:
            yield BadLine(number, TOO_LONG)
            continue
        if not frame:
            return
        try:
            (flow,) = FlowReader(BytesIO(frame)).stream()
            entry = _entry(number, flow)
        except Exception:
            # A damaged flow passes mitmproxy's reader with any type in any place.
            entry = BadLine(number, BROKEN)
        yield entry


class _TooLongError(Exception):
    """A flow that is too big to be held; the file stands after it."""


def _frame(file: BinaryIO) -> bytes:
    """The bytes of the next flow, `LENGTH:CONTENT` and a mark for its type; empty at the end.

    Cut out here, not in mitmproxy's reader, because that one asks for whatever length it reads, and
    cannot go on after a flow that is damaged.
    """
    prefix = b""
    while not prefix.endswith(b":"):
        piece = file.read(1)
        if not piece and not prefix:
            return b""
        if not piece:
            raise DamagedError(ENDS_EARLY)
        prefix += piece
        if not piece.isdigit() and (piece != b":" or len(prefix) == 1):
            raise DamagedError("no flow where one should begin")
        if len(prefix) > _LONGEST_PREFIX:
            raise DamagedError("no flow where one should begin")
    size = int(prefix[:-1]) + 1
    is_too_long = size > _LONGEST_FLOW
    pieces = [prefix]
    while size:
        piece = read_some(file, min(size, PIECE))
        if not piece:
            raise DamagedError(ENDS_EARLY)
        size -= len(piece)
        if not is_too_long:
            pieces.append(piece)
    if is_too_long:
        raise _TooLongError
    return b"".join(pieces)


def _entry(number: int, flow: object) -> Entry | BadLine:
    if not isinstance(flow, http.HTTPFlow):
        return BadLine(number, "not HTTP")
    request, response = flow.request, flow.response
    if response is None:
        return BadLine(number, "no answer")
    reason, visited = ("replay", False) if flow.is_replay else visit(request, response)
    if reason:
        return BadLine(number, reason)
    # As the client asked for it, also where this program's addon took something out.
    url = url_of(origin(flow), flow.metadata.get(ORIGINAL_TARGET, request.data.path))
    if url is None:
        return BadLine(number, "odd target")
    seen = times.of_timestamp(request.timestamp_start)
    return page(number, url, _document(flow), visited=visited, seen=seen)


def _document(flow: http.HTTPFlow) -> Document | None:
    response = flow.response
    if response is None or not response.raw_content:
        return None
    encoding = response.headers.get("Content-Encoding", "")
    return document_of(
        response.status_code,
        response.headers.get("Content-Type", ""),
        decoded(response.raw_content[: 2 * LONGEST], encoding),
        cookies_sent="Cookie" in flow.request.headers,
    )
