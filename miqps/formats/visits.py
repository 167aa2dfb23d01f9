"""Which recorded requests give an entry: by the rules of the proxy's recorder, as far as known."""

from __future__ import annotations

from mitmproxy import http

from miqps.addon.navigation import not_recorded
from miqps.bodies import LONGEST
from miqps.eligibility import unfit
from miqps.formats.entry import NO_DOCUMENT, BadLine, Entry
from miqps.observation import Document

_SAYS_WHAT_ASKED = ("Sec-Fetch-Dest", "Sec-Fetch-Mode", "X-Requested-With")
_NO_PARAMETER = unfit("https://a.example/")


def visit(
    request: http.Request, response: http.Response, resource_type: str = ""
) -> tuple[str | None, bool]:
    """Why a recorded request gives no URL (None: it gives one), and whether a person loaded it.

    The recorder only takes what surely is a page load. A file may also be used where the request
    does not say: then its URL is taken, but nobody is said to have visited it.

    Args:
        request: the request, with the headers that the file has.
        response: the answer; its body is not looked at.
        resource_type: what a browser says that it asked for ("document", "xhr"), empty if unknown.
    """
    reason, visited = _visit(request, response, resource_type)
    return (NO_DOCUMENT if reason == "no html" else reason), visited


def page(
    number: int, url: str, document: Document | None, *, visited: bool = False, seen: str = ""
) -> Entry | BadLine:
    """The entry of a page, or why its URL cannot become a sample.

    A page whose URL only lacks a parameter is an entry when its document is there: links that have
    one may stand in it.
    """
    reason = unfit(url)
    if reason and (document is None or reason != _NO_PARAMETER):
        return BadLine(number, reason)
    return Entry(number, url, visited, seen, document)


def document_of(
    status: int, content_type: str, body: bytes | None, *, cookies_sent: bool
) -> Document | None:
    """The document of an answer; None when the file does not have its body."""
    if not body:
        return None
    # Files may hold half letters, which nothing that reads a charset expects.
    kind = content_type.encode("ascii", "replace").decode("ascii")
    return Document(status, kind, body[:LONGEST], cookies_sent)


def _visit(
    request: http.Request, response: http.Response, resource_type: str
) -> tuple[str | None, bool]:
    if request.data.method != b"GET":
        return "method", False
    if resource_type not in ("", "document"):
        return NO_DOCUMENT, False
    reason = not_recorded(request, response)
    if reason != NO_DOCUMENT:
        return reason, reason is None
    if any(name in request.headers for name in _SAYS_WHAT_ASKED):
        return NO_DOCUMENT, False
    as_page_load = request.copy()
    as_page_load.headers["Accept"] = "text/html"
    reason = not_recorded(as_page_load, response)
    return reason, reason is None and resource_type == "document"
