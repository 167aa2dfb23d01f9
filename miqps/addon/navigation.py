"""Which flows are a person's page loads: pure functions over a request and its answer."""

from __future__ import annotations

from mitmproxy import http

from miqps.settings import PROBER_TOKEN

_PROBER = PROBER_TOKEN.encode()
_HTML = (b"text/html", b"application/xhtml+xml")
_JSON = (b"application/json", b"text/json")
_READ = frozenset(
    (
        b"accept",
        b"authorization",
        b"purpose",
        b"sec-fetch-dest",
        b"sec-fetch-mode",
        b"sec-purpose",
        b"upgrade",
        b"user-agent",
        b"x-moz",
        b"x-requested-with",
    )
)


def not_rewritten(request: http.Request) -> str | None:
    """Why a request is left as it is; None: it asks for a page, and may be rewritten.

    Only top-level documents are: a script or a frame may share path and names with a document and
    read a parameter that no picture of the page shows. Browsers say which is which by
    `Sec-Fetch-Dest` and `-Mode`, but only to trustworthy origins; without these, asking for HTML
    counts, which over plain http lets frames through.
    """
    if request.data.method not in (b"GET", b"HEAD"):
        return "method"
    return _not_a_page_load(_headers(request))


def not_a_read(request: http.Request) -> str | None:
    """Why a request is none that only reads; None: a GET of a person's program, or a HEAD."""
    if request.data.method not in (b"GET", b"HEAD"):
        return "method"
    headers = _headers(request)
    if b"websocket" in headers.get(b"upgrade", b"").lower():
        return "upgrade"
    return "prober" if _is_prober(headers) else None


def not_recorded(request: http.Request, response: http.Response) -> str | None:
    """Why a flow is not recorded; None: it is a page that a browser can load again by its URL."""
    if request.data.method not in (b"GET", b"HEAD"):
        return "method"
    # The answer first: most flows are pictures and scripts, and answers have fewer headers.
    reason = _not_answered_with(_HTML, response)
    if reason:
        return reason
    headers = _headers(request)
    return _not_repeatable(headers) or _not_a_page_load(headers)


def not_an_api_call(request: http.Request, response: http.Response) -> str | None:
    """Why a flow is no API call that may be recorded; None: a script asked, and got JSON."""
    if request.data.method not in (b"GET", b"HEAD"):
        return "method"
    reason = _not_answered_with(_JSON, response)
    if reason:
        return reason
    headers = _headers(request)
    dest = headers.get(b"sec-fetch-dest", b"empty")
    return (
        _not_repeatable(headers)
        or ("prober" if _is_prober(headers) else None)
        or ("no call" if dest != b"empty" else None)
    )


def _not_repeatable(headers: dict[bytes, bytes]) -> str | None:
    if b"prefetch" in headers.get(b"sec-purpose", headers.get(b"purpose", b"")).lower():
        return "prefetch"
    if headers.get(b"x-moz", b"").lower() == b"prefetch":
        return "prefetch"
    return "authorization" if b"authorization" in headers else None


def _not_a_page_load(headers: dict[bytes, bytes]) -> str | None:
    if _is_prober(headers):
        return "prober"
    if b"websocket" in headers.get(b"upgrade", b"").lower():
        return "upgrade"
    dest = headers.get(b"sec-fetch-dest")
    mode = headers.get(b"sec-fetch-mode")
    if dest is not None or mode is not None:
        is_document = dest in (b"document", None) and mode in (b"navigate", None)
    else:
        accept = headers.get(b"accept", b"").lower()
        is_document = any(kind in accept for kind in _HTML) and b"x-requested-with" not in headers
    return None if is_document else "no document"


def _is_prober(headers: dict[bytes, bytes]) -> bool:
    return _PROBER in headers.get(b"user-agent", b"")


def _not_answered_with(kinds: tuple[bytes, ...], response: http.Response) -> str | None:
    if response.status_code == 101:
        return "upgrade"
    if not 200 <= response.status_code < 300:
        return "status"
    kind, disposition = b"", b""
    for name, value in response.headers.fields:
        lower = name.lower()
        if lower == b"content-type":
            kind = value
        elif lower == b"content-disposition":
            disposition = value
    kind = kind.partition(b";")[0].strip().lower()
    if kind not in kinds and not (kinds is _JSON and kind.endswith(b"+json")):
        return "no html" if kinds is _HTML else "no json"
    if disposition.lstrip().lower().startswith(b"attachment"):
        return "download"
    return None


def _headers(request: http.Request) -> dict[bytes, bytes]:
    # One pass over the raw fields: each look-up in mitmproxy's own mapping is such a pass.
    return {
        lower: value for name, value in request.headers.fields if (lower := name.lower()) in _READ
    }
