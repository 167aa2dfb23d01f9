"""The origin of a request, and the URL that it makes with a raw request target."""

from __future__ import annotations

from typing import NamedTuple

DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """Where a request goes, the way a browser would say it."""

    scheme: str
    host: str
    port: int


def url(where: Origin, target: bytes) -> str | None:
    """The URL of a raw request target; None when it is no UTF-8, or no path as browsers send."""
    if not target.startswith(b"/") or b"#" in target:
        return None
    try:
        text = target.decode()
    except UnicodeDecodeError:
        return None
    host = f"[{where.host}]" if ":" in where.host else where.host
    port = "" if where.port == DEFAULT_PORTS.get(where.scheme) else f":{where.port}"
    return f"{where.scheme}://{host}{port}{text}"
