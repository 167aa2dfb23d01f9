"""The record of what reached the server, byte for byte.

Werkzeug's own ``RAW_URI`` is not it: the request line is read as Latin-1 and written again as
UTF-8, and leading slashes are folded. So the handler takes the target from the line itself.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from werkzeug.serving import WSGIRequestHandler

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

TARGET = "sample_site.target"


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request. `target` holds a character per byte: ``target.encode("latin-1")``."""

    time: str
    method: str
    target: str
    user_agent: str


class ExactHandler(WSGIRequestHandler):
    """Hands the request target on as it came, and prints nothing."""

    def make_environ(self) -> WSGIEnvironment:
        environ = super().make_environ()
        environ[TARGET] = self.raw_requestline.split()[1].decode("latin-1")
        return environ

    def log(self, type: str, message: str, *args: Any) -> None:
        pass


class RequestLog:
    """Keeps every request in memory and, with a path, appends it to a file of JSON lines.

    The file is opened anew for each line: nothing is left to close, and a reader sees each line
    as soon as the answer begins.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._requests: list[LoggedRequest] = []
        self._lock = threading.Lock()

    @property
    def requests(self) -> tuple[LoggedRequest, ...]:
        """Gives all requests so far, in the order in which they came."""
        with self._lock:
            return tuple(self._requests)

    def wrap(self, application: WSGIApplication) -> WSGIApplication:
        """Gives the same application, which notes each request before it answers."""

        def noting(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            self._add(
                LoggedRequest(
                    time=datetime.now(UTC).isoformat(timespec="milliseconds"),
                    method=environ["REQUEST_METHOD"],
                    target=environ.get(TARGET) or environ["REQUEST_URI"],
                    user_agent=environ.get("HTTP_USER_AGENT", ""),
                )
            )
            return application(environ, start_response)

        return noting

    def _add(self, request: LoggedRequest) -> None:
        with self._lock:
            self._requests.append(request)
            if self._path is not None:
                with self._path.open("a", encoding="ascii") as lines:
                    lines.write(json.dumps(asdict(request)) + "\n")
