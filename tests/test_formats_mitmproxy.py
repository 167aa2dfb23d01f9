"""Flow files and HAR files of a real mitmdump, from requests of many kinds through it."""

from __future__ import annotations

import gzip
import http.client
import io
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import brotli
import pytest
import zstandard
from mitmproxy import tcp
from mitmproxy.io import FlowReader, FlowWriter
from mitmproxy.test import tflow

from miqps.formats import flows
from miqps.formats.entry import BadLine, Entry
from miqps.settings import PROBER_TOKEN
from tests.test_formats import given, reasons

PAGE = "<title>é</title><a href='/p?id=9'>next</a>".encode()
BODIES = {
    "gzip": gzip.compress(PAGE),
    "br": brotli.compress(PAGE),
    "zstd": zstandard.compress(PAGE),
    "gzip, br": brotli.compress(gzip.compress(PAGE)),
    "of-tomorrow": b"??",
}
# Of two encodings, mitmproxy takes none off; a HAR should have no encoded bodies.
MITMPROXY_LEAVES = ("har", "/coded?as=gzip-br")
BROWSER = {"Accept": "text/html,*/*;q=0.8", "User-Agent": "Mozilla/5.0"}


class Asked(NamedTuple):
    """A request, and what becomes of it."""

    target: str
    reason: str | None = None
    visited: bool = True
    method: str = "GET"
    headers: dict[str, str] = BROWSER


ASKED = [
    Asked("/p?id=1&utm_source=mail"),
    Asked("/p?q=a+b%20c&%75tm=%7E~&&x"),
    Asked("/p?id=2", headers={"Accept": "*/*"}, visited=False),
    Asked("/p?id=3", "no document", headers={"Accept": "*/*", "Sec-Fetch-Dest": "iframe"}),
    Asked("/p?id=3", "no document", headers={"Accept": "*/*", "X-Requested-With": "x"}),
    Asked("/p?id=4", "authorization", headers={**BROWSER, "Authorization": "Basic c2VjcmV0"}),
    Asked("/p?id=4", "prefetch", headers={**BROWSER, "Sec-Purpose": "prefetch"}),
    Asked("/p?id=4", "prober", headers={**BROWSER, "User-Agent": PROBER_TOKEN}),
    Asked("/p?id=5", "method", method="POST"),
    Asked("/p?id=5", "method", method="HEAD"),
    Asked("/none?id=6", "status"),
    Asked("/to?id=6", "status"),
    Asked("/image?id=7", "no document"),
    Asked("/json?id=7", "no document"),
    Asked("/file?id=7", "download"),
    Asked("/logout?id=8", "deed"),
    # Its links are worth reading, though it has no parameter.
    Asked("/p"),
    *(Asked(f"/coded?as={coding.replace(', ', '-')}") for coding in BODIES),
    Asked("/p?id=9", headers={**BROWSER, "Cookie": "sid=secret"}),
]


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        body, headers = PAGE, {"Content-Type": "text/html; charset=utf-8"}
        status = {"/none": 404, "/to": 302}.get(path, 200)
        if path == "/image":
            headers["Content-Type"] = "image/png"
        elif path == "/json":
            headers["Content-Type"] = "application/json"
        elif path == "/file":
            headers["Content-Disposition"] = "attachment"
        elif path == "/coded":
            headers["Content-Encoding"] = query.partition("=")[2].replace("-b", ", b")
            body = BODIES[headers["Content-Encoding"]]
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_POST = do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


class Recorded(NamedTuple):
    """The two files of one run of mitmdump."""

    base: str
    flows: bytes
    har: bytes


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("mitmproxy")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.01,))
        thread.start()
        command = [
            str(Path(sys.executable).with_name("mitmdump")),
            "-p", "0", "--set", f"confdir={folder}", "--set", "hardump=x.har", "-w", "x.flows",
        ]  # fmt: skip
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, encoding="utf-8", errors="replace",
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        ) as process:  # fmt: skip
            try:
                assert process.stdout
                for line in process.stdout:
                    if match := re.search(r"listening at .*:(\d+)", line):
                        _ask(int(match[1]), site.server_port)
                        break
                process.send_signal(signal.SIGINT)
                assert process.wait(60) == 0
            finally:
                process.kill()
        site.shutdown()
        thread.join()
    base = f"http://127.0.0.1:{site.server_port}"
    return Recorded(base, (folder / "x.flows").read_bytes(), (folder / "x.har").read_bytes())


def _ask(proxy: int, site: int) -> None:
    for asked in ASKED:
        connection = http.client.HTTPConnection("127.0.0.1", proxy, timeout=30)
        connection.request(
            asked.method,
            f"http://127.0.0.1:{site}{asked.target}",
            body="a=1" if asked.method == "POST" else None,
            headers=asked.headers,
        )
        connection.getresponse().read()
        connection.close()


@pytest.mark.parametrize("kind", ["flows", "har"])
def test_what_becomes_of_each_request(recorded: Recorded, kind: str) -> None:
    found = given(getattr(recorded, kind))
    assert [entry.number for entry in found] == [*range(1, len(ASKED) + 1)]
    for asked, entry in zip(ASKED, found, strict=True):
        if asked.reason:
            assert entry == BadLine(entry.number, asked.reason), asked
            continue
        assert isinstance(entry, Entry), asked
        assert (entry.url, entry.visited) == (recorded.base + asked.target, asked.visited)
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry.seen)
        if "tomorrow" in asked.target and kind == "flows":
            assert entry.document is None
        elif "tomorrow" not in asked.target and (kind, asked.target) != MITMPROXY_LEAVES:
            assert entry.document
            assert entry.document.body == PAGE
            assert entry.document.status == 200
            assert entry.document.content_type == "text/html; charset=utf-8"
            assert entry.document.cookies_sent == ("Cookie" in asked.headers)


@pytest.mark.parametrize("kind", ["flows", "har"])
def test_reasons_hold_nothing_of_the_file(recorded: Recorded, kind: str) -> None:
    said = " ".join(reasons(given(getattr(recorded, kind))))
    for secret in ("secret", "c2VjcmV0", "id=", "127.0.0.1"):
        assert secret not in said


def test_a_zhar_is_a_har(recorded: Recorded) -> None:
    assert given(zlib.compress(recorded.har, 9)) == given(recorded.har)


def test_a_flow_file_cut_anywhere_gives_what_was_whole(recorded: Recorded) -> None:
    whole = given(recorded.flows)
    ends = [0, *_ends(recorded.flows)]
    for index, (start, end) in enumerate(itertools.pairwise(ends)):
        for cut in (start + 1, (start + end) // 2, end - 1):
            found = given(recorded.flows[:cut], format="flows")
            assert found == [*whole[:index], BadLine(index + 1, "the file ends in the middle")]
        assert given(recorded.flows[:end], format="flows") == whole[: index + 1]


def test_a_damaged_flow_costs_only_itself(recorded: Recorded) -> None:
    whole = given(recorded.flows)
    ends = [0, *_ends(recorded.flows)]
    damaged = bytearray(recorded.flows)
    second = slice(ends[1] + 10, ends[2] - 1)
    damaged[second] = b"x" * (second.stop - second.start)
    assert given(bytes(damaged)) == [whole[0], BadLine(2, "broken record"), *whole[2:]]


def test_a_flow_that_is_too_big_costs_only_itself(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = b"2000000:" + b"x" * 2_000_000 + b"}"
    monkeypatch.setattr(flows, "_LONGEST_FLOW", 1_000_000)
    (end, *_) = _ends(recorded.flows)
    content = recorded.flows[:end] + big + recorded.flows[:end]
    whole = given(recorded.flows)
    assert given(content) == [
        whole[0],
        BadLine(2, "too long"),
        Entry(3, *[getattr(whole[0], name) for name in ("url", "visited", "seen", "document")]),
    ]


@pytest.mark.parametrize("length", [b"999999999999:", b"9" * 99 + b":", b":", b"x", b"5x:"])
def test_a_length_that_lies_is_no_flow(length: bytes) -> None:
    (found,) = given(length + b"0:}", format="flows")
    assert isinstance(found, BadLine)


def test_other_kinds_of_flows(tmp_path: Path) -> None:
    path = tmp_path / "x.flows"
    replayed, unanswered = tflow.tflow(resp=True), tflow.tflow()
    replayed.is_replay = "request"
    made = [tflow.ttcpflow(), tflow.tdnsflow(), unanswered, tflow.twebsocketflow(), replayed]
    with path.open("wb") as file:
        writer = FlowWriter(file)
        for flow in made:
            writer.add(flow)
    assert isinstance(made[0], tcp.TCPFlow)
    assert reasons(given(path.read_bytes())) == [
        "not HTTP", "not HTTP", "no answer", "upgrade", "replay",
    ]  # fmt: skip


def test_a_rewritten_flow_is_the_url_that_was_asked_for(tmp_path: Path) -> None:
    flow = tflow.tflow(resp=True)
    flow.request.headers["Accept"] = "text/html"
    flow.response.headers["Content-Type"] = "text/html"
    flow.request.path = "/p?id=1"
    flow.metadata["miqps_original_target"] = b"/p?id=1&utm_source=mail"
    path = tmp_path / "x.flows"
    with path.open("wb") as file:
        FlowWriter(file).add(flow)
    (entry,) = given(path.read_bytes())
    assert isinstance(entry, Entry)
    assert entry.url == "http://address:22/p?id=1&utm_source=mail"


def _ends(content: bytes) -> list[int]:
    """Where each flow ends."""
    file = io.BytesIO(content)
    return [file.tell() for _ in FlowReader(file).stream()]
