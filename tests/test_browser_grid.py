"""Browsers of a remote WebDriver: a driver that serves as one, and grids that do not deliver."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from miqps.browser import Browser, BrowserError
from miqps.browser.driver import Kind
from miqps.browser.limits import Limits
from tests.pages import Request, Server, site

LIGHT = "<title>Light</title><h1>A light page</h1><p>with a line of text</p>"
SHORT = Limits(load=2.5, answer=2.5, idle=2.0, render=20.0)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with site() as running:
        yield running


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def remote(kind: Kind) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A driver that serves on loopback, as on another host."""
    port = free_port()
    arguments = {
        "chromium": ["chromedriver", f"--port={port}"],
        "firefox": ["geckodriver", "--port", str(port)],
    }[kind]
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{url}/status", timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        yield url, process
    finally:
        # A browser outlives a driver that was killed.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def sessions(url: str, kind: Kind) -> int:
    """How many a driver has under way. Geckodriver has one at most, and says whether it is free."""
    place = "sessions" if kind == "chromium" else "status"
    with urllib.request.urlopen(f"{url}/{place}", timeout=10) as answer:
        value = json.load(answer)["value"]
    return len(value) if kind == "chromium" else int(not value["ready"])


no_geckodriver = pytest.mark.skipif(
    not (shutil.which("geckodriver") and (shutil.which("firefox-esr") or shutil.which("firefox"))),
    reason="no geckodriver, which only a remote Firefox needs",
)


@pytest.mark.parametrize("kind", ["chromium", pytest.param("firefox", marks=no_geckodriver)])
def test_remote_browser(server: Server, kind: Kind) -> None:
    cookies: list[str | None] = []

    def page(request: Request) -> None:
        cookies.append(request.headers.get("Cookie"))
        request.html(LIGHT, Set_Cookie="a=1")

    server.pages = {
        "/light": page,
        "/endless": "<script>setTimeout(() => { for (;;); }, 5)</script>",
        "/tall": "<div style='height:9000px'>top</div><p>bottom</p>",
    }
    server.agents.clear()
    with remote(kind) as (url, _), Browser(limits=SHORT, kind=kind, grid=url) as browser:
        for _ in range(2):
            seen = browser.render(server.url("/light"))
            assert (seen.outcome, seen.title) == ("seen", "Light")
            assert seen.cookies == {"a@127.0.0.1": "1"}
        assert cookies == [None, None], "each in a clean profile"
        assert all(" miqps-prober/" in agent for agent in server.agents)
        tall = browser.render(server.url("/tall"))
        assert tall.pixels is not None
        assert tall.pixels.shape == (-(-tall.height // 4), 320, 3)
        assert browser.render(server.url("/endless")).outcome == "timeout"
        assert browser.render(server.url("/light")).outcome == "seen", "another session was made"
        assert sessions(url, kind) == 1
        browser.close()
        assert sessions(url, kind) == 0


def test_grid_that_goes_away(server: Server) -> None:
    server.pages = {"/light": LIGHT}
    with remote("chromium") as (url, process), Browser(limits=SHORT, grid=url) as browser:
        assert browser.render(server.url("/light")).outcome == "seen"
        process.kill()
        process.wait()
        assert browser.render(server.url("/light")).outcome == "crashed"
        with pytest.raises(BrowserError, match=f"no chromium from the grid at {url}: "):
            browser.render(server.url("/light"))


class Grid(http.server.ThreadingHTTPServer):
    """A remote end that answers as it is told, and writes down what it was asked."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, status: int, value: object) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        body = value if isinstance(value, bytes) else json.dumps({"value": value}).encode()
        self.answer = status, body
        self.log: list[str] = []
        self.credentials: list[str | None] = []
        self.ended = threading.Event()


class _Answer(http.server.BaseHTTPRequestHandler):
    server: Grid

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.log.append(f"{self.command} {self.path}")
        self.server.credentials.append(self.headers.get("Authorization"))
        status, body = self.server.answer
        if not status:
            self.server.ended.wait(10)
            self.close_connection = True
            return
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def grid(status: int, value: object) -> Iterator[Grid]:
    running = Grid(status, value)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield running
    finally:
        running.ended.set()
        running.shutdown()
        thread.join()
        running.server_close()


FULL = {
    "error": "session not created",
    "message": "Could not start a new session. No node has a free slot.\nBuild info: version 4",
    "stacktrace": "",
}
NO_BIDI = {"sessionId": "abc", "capabilities": {"browserName": "chrome"}}
LOST_BIDI = {"sessionId": "abc", "capabilities": {"webSocketUrl": "ws://127.0.0.1:4/session/abc"}}


@pytest.mark.parametrize(
    ("status", "value", "words", "asked"),
    [
        (500, FULL, "Could not start a new session. No node has a free slot.", ["POST /session"]),
        (404, "nothing", "it does not answer as a WebDriver does", ["POST /session"]),
        (404, b"<html>\nno", "it does not answer as a WebDriver does", ["POST /session"]),
        (200, b"welcome", "it does not answer as a WebDriver does", ["POST /session"]),
        (0, None, "none within 1 s, it may be full", ["POST /session"]),
        (
            200,
            NO_BIDI,
            "cannot be spoken to at any address",
            ["POST /session", "DELETE /session/abc"],
        ),
        (
            200,
            LOST_BIDI,
            "cannot be spoken to at ws://127.0.0.1:4/session/abc: ",
            ["POST /session", "DELETE /session/abc"],
        ),
    ],
    ids=["full", "no grid", "a site", "a greeting", "silent", "no bidi", "another address"],
)
def test_grid_without_a_browser(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    status: int,
    value: object,
    words: str,
    asked: list[str],
) -> None:
    monkeypatch.setattr("miqps.browser.grid._NEW", 1.0)
    with grid(status, value) as running:
        place = f"127.0.0.1:{running.server_port}"
        with pytest.raises(BrowserError, match=f"grid at http://{re.escape(place)}") as caught:
            Browser(grid=f"http://me:se%40cret@{place}")
        assert running.log == asked
        assert set(running.credentials) == {"Basic bWU6c2VAY3JldA=="}
    assert words in str(caught.value)
    assert "cret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
