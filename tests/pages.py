"""A small web site on loopback whose pages do what each test wants, also what no page should."""

from __future__ import annotations

import http.server
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus


class Request(http.server.BaseHTTPRequestHandler):
    """One request; pages answer through `html` and `answer`, or do their worst to the socket."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.log.append(self.path)
        self.server.agents.append(self.headers.get("User-Agent", ""))
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            self.answer(404, "text/html", b"<title>Not found</title><h1>Not found</h1>")
        elif isinstance(page, str):
            self.html(page)
        else:
            page(self)

    def html(self, text: str, status: int = 200, **headers: str) -> None:
        whole = text if text.lstrip().lower().startswith("<!doctype") else f"<!doctype html>{text}"
        self.answer(status, "text/html; charset=utf-8", whole.encode(), **headers)

    def answer(self, status: int, kind: str, body: bytes, **headers: str) -> None:
        self.send_response_only(status, HTTPStatus(status).phrase)
        if status not in (204, 304):
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def reset(self) -> None:
        """Ends the connection with a TCP reset."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Tests look at `Server.log`; nobody reads the terminal."""

    def finish(self) -> None:
        try:
            super().finish()
        except OSError:
            # The browser left, or the page reset the connection.
            self.close_connection = True


Page = str | Callable[[Request], None]


class Server(http.server.ThreadingHTTPServer):
    """The site: `pages` by path, `log` of the request targets that came."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.pages: dict[str, Page] = {}
        self.log: list[str] = []
        self.agents: list[str] = []
        self.ended = threading.Event()
        """Set when the site goes down: pages that never answer wait for it."""

    def handle_error(self, *_: object) -> None:
        """Browsers that leave early are what these tests are about."""

    def url(self, target: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_port}{target}"


@contextmanager
def site() -> Iterator[Server]:
    """A running site; it is gone when the block ends."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
