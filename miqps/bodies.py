"""Bodies of answers: what is HTML, and its bytes without content encoding, never too many."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import brotli  # type: ignore[import-untyped]
import zstandard

LONGEST = 2 * 1_024 * 1_024
"""Bytes of a body that are looked at. Pages with more are rare, and their links begin early."""

_HTML = frozenset(("text/html", "application/xhtml+xml"))
# So small that what one piece of input may stand for fits into memory.
_SMALL = 32


def is_html(content_type: str) -> bool:
    """Whether a Content-Type, with or without parameters, is one of a page."""
    return content_type.partition(";")[0].strip().lower() in _HTML


def decoded(body: bytes, content_encoding: str) -> bytes | None:
    """The first bytes of a body as a browser reads it; None when the encoding is not known.

    What cannot be decoded, and all after it, is left out.
    """
    for name in reversed(content_encoding.lower().split(",")):
        name = name.strip()
        if name in ("", "identity"):
            continue
        decoder = _DECODERS.get(name)
        if decoder is None:
            return None
        body = _run(decoder(body), body)
    return body[:LONGEST]


def _run(decode: Callable[[bytes], bytes], body: bytes) -> bytes:
    result = bytearray()
    try:
        for start in range(0, len(body), _SMALL):
            result += decode(body[start : start + _SMALL])
            if len(result) >= LONGEST:
                break
    # EOFError: there are bytes after the end of the last frame.
    except (zlib.error, zstandard.ZstdError, brotli.error, EOFError):
        pass
    return bytes(result[:LONGEST])


def _gzip(_: bytes) -> Callable[[bytes], bytes]:
    return zlib.decompressobj(wbits=32 + 15).decompress


def _deflate(body: bytes) -> Callable[[bytes], bytes]:
    # The standard says zlib; some servers send what the name says.
    has_header = len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2]) % 31 == 0
    return zlib.decompressobj(wbits=15 if has_header else -15).decompress


def _brotli(_: bytes) -> Callable[[bytes], bytes]:
    decompressor: Any = brotli.Decompressor()
    process: Callable[[bytes], bytes] = decompressor.process
    return process


def _zstd(_: bytes) -> Callable[[bytes], bytes]:
    return zstandard.ZstdDecompressor().decompressobj().decompress


_DECODERS = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
