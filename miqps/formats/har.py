"""HAR files, as browsers, Playwright and mitmproxy (`save.har`, `hardump`) write them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from mitmproxy import http

from miqps.bodies import is_html
from miqps.formats import times
from miqps.formats.entry import BROKEN, NO_DOCUMENT, TOO_LONG, BadLine, Entry, Source
from miqps.formats.har_elements import elements
from miqps.formats.visits import document_of, page, visit
from miqps.observation import Document

_ANY = "http://a.example/"


def entries(source: Source) -> Iterator[Entry | BadLine]:
    """What each entry of a HAR gives; numbers count entries."""
    for number, text in enumerate(elements(source.file), start=1):
        if text is None:
            yield BadLine(number, TOO_LONG)
            continue
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):
            yield BadLine(number, BROKEN)
            continue
        yield _entry(number, entry)


def _entry(number: int, entry: Any) -> Entry | BadLine:
    url = _at(entry, "request", "url")
    status = _at(entry, "response", "status")
    if not isinstance(url, str) or not isinstance(status, int):
        return BadLine(number, BROKEN)
    if _at(entry, "request", "method") != "GET":
        return BadLine(number, "method")
    if not 200 <= status < 300:
        return BadLine(number, "status")
    content_type = _text(entry, "response", "content", "mimeType")
    response_headers = _headers(entry, "response")
    content_type = response_headers.get("Content-Type") or content_type
    if not is_html(content_type):
        return BadLine(number, NO_DOCUMENT)
    response_headers["Content-Type"] = content_type
    reason, visited = visit(
        http.Request.make("GET", _ANY, headers=_headers(entry, "request")),
        http.Response.make(status, b"", response_headers),
        _text(entry, "_resourceType"),
    )
    if reason:
        return BadLine(number, reason)
    document = _document(entry, status, content_type)
    seen = times.of_iso(_at(entry, "startedDateTime"))
    return page(number, url, document, visited=visited, seen=seen)


def _document(entry: Any, status: int, content_type: str) -> Document | None:
    text = _text(entry, "response", "content", "text")
    if _at(entry, "response", "content", "encoding") == "base64":
        try:
            # An overlong text was cut, perhaps in the middle of a group of four.
            body = base64.b64decode(text[: len(text) // 4 * 4])
        except ValueError:
            return None
    else:
        # It was decoded already, whatever the header says.
        body = text.encode(errors="replace")
        content_type = f"{content_type.partition(';')[0].strip()}; charset=utf-8"
    cookies_sent = "Cookie" in _headers(entry, "request") or bool(_at(entry, "request", "cookies"))
    return document_of(status, content_type, body, cookies_sent=cookies_sent)


def _headers(entry: Any, side: str) -> http.Headers:
    """The headers of one side, in the two shapes that are met: objects, and pairs."""
    found = _at(entry, side, "headers")
    fields: list[tuple[bytes, bytes]] = []
    for field in found if isinstance(found, list) else ():
        if isinstance(field, dict):
            name, value = field.get("name"), field.get("value")
        elif isinstance(field, list) and len(field) == 2:
            name, value = field
        else:
            continue
        if isinstance(name, str) and isinstance(value, str):
            fields.append((name.encode(errors="replace"), value.encode(errors="replace")))
    return http.Headers(fields)


def _text(entry: Any, *keys: str) -> str:
    value = _at(entry, *keys)
    return value if isinstance(value, str) else ""


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
