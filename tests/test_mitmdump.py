"""The script in a real mitmdump: exact bytes go in, and the site's own log says what came out."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from miqps.mapping import ContextVerdicts, Map, SiteMap, Verdict
from miqps.rehearsal import free_port, serving
from miqps.settings import JUDGING, PROBER_TOKEN
from miqps.store import Store
from miqps.store.maps import Edition
from miqps.urls import Context

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "addons" / "miqps.py"


class Upstream(ThreadingHTTPServer):
    """A site of one page, which keeps every request line as it came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.lines: list[bytes] = []
        self.site = f"127.0.0.1:{self.server_port}"


class _Page(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        self.server.lines.append(self.raw_requestline)
        body = b"<title>page</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Proxy:
    """A running mitmdump, and what it said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def port(self) -> int:
        self.wait_for_line(r"miqps: mode")
        line = self.wait_for_line(r"listening at .*:(\d+)")
        return int(line.rpartition(":")[2].rstrip("."))

    def wait_for_line(self, pattern: str, times: int = 1) -> str:
        wait_for(lambda: sum(bool(re.search(pattern, line)) for line in self.said) >= times)
        return [line for line in self.said if re.search(pattern, line)][-1]

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(20)
        self._reader.join(20)
        return code

    def _read(self) -> None:
        assert self.process.stdout
        self.said.extend(line.rstrip() for line in self.process.stdout)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "waited for too long"
        time.sleep(0.05)


@contextmanager
def mitmdump(cwd: Path, *options: str, script: Path | str = SCRIPT) -> Iterator[Proxy]:
    program = Path(sys.executable).with_name("mitmdump")
    home = cwd / "mitmproxy"
    command = [program, "-s", script, "-p", "0", "--set", f"confdir={home}"]
    # Chance stays out of the tests.
    command += ["--set", "miqps_canary=0", *options]
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    proxy = Proxy(process)
    try:
        yield proxy
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        proxy._reader.join(20)
        process.stdout.close()


def ask(proxy_port: int, site: str, target: bytes, accept: bytes = b"text/html") -> None:
    """Load one page through the proxy, with exactly these bytes as its target."""
    # mitmproxy refuses bytes that are no UTF-8 in a request line that names the host.
    origin = b"http://" + site.encode() if _is_text(target) else b""
    with socket.create_connection(("127.0.0.1", proxy_port), timeout=20) as connection:
        connection.sendall(
            b"GET " + origin + target + b" HTTP/1.1\r\nHost: " + site.encode()
            + b"\r\nAccept: " + accept + b"\r\nConnection: close\r\n\r\n"
        )  # fmt: skip
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    assert b" 200 " in answer.partition(b"\r\n")[0], answer


def _is_text(target: bytes) -> bool:
    try:
        target.decode()
    except UnicodeDecodeError:
        return False
    return True


def publish(db: Path, site: str, version: int, *neutral: str) -> None:
    names = ("id", "utm_source")
    verdicts = tuple(
        Verdict(name, "neutral" if name in neutral else "important", "for the test")
        for name in names
    )
    known = SiteMap(site, (ContextVerdicts(Context(site, "/p", names), verdicts),))
    with Store.open(db) as store:
        store.maps.publish(
            Edition(Map(version, "2026-01-01T00:00:00Z", {site: known}), "for the test")
        )


def urls_in(db: Path) -> set[str]:
    with closing(sqlite3.connect(db)) as file, suppress(sqlite3.OperationalError):
        return {url for (url,) in file.execute("SELECT url FROM urls")}
    return set()


TARGETS = [
    b"/p?id=7&utm_source=mail",
    b"/p?%75tm_source=a+b%20c&id=%7E~%e9",
    b"//p//x?id=1&utm_source=2",
    b"/p?id=a;b=2&utm_source",
    b"/p?&&id&utm_source==&",
    b"/p?id=\xff\xfe&utm_source=\xe9",
    "/p?id=é€&utm_source=ü".encode(),
    b"/p?utm_source=a%zz%",
]


def test_a_map_published_while_it_runs_and_a_clean_end(tmp_path: Path, upstream: Upstream) -> None:
    db = tmp_path / "miqps.db"
    with mitmdump(tmp_path, "--set", f"miqps_db={db}") as proxy:
        port = proxy.port()
        for target in TARGETS:
            ask(port, upstream.site, target)
        assert upstream.lines == [b"GET " + target + b" HTTP/1.1\r\n" for target in TARGETS]

        upstream.lines.clear()
        publish(db, upstream.site, 1, "utm_source")
        proxy.wait_for_line("miqps: map version 1")
        for target in TARGETS:
            ask(port, upstream.site, target)
        ask(port, upstream.site, b"/p?id=9&utm_source=script", accept=b"*/*")
        assert upstream.lines == [
            b"GET " + target + b" HTTP/1.1\r\n"
            for target in (
                b"/p?id=7",
                b"/p?id=%7E~%e9",
                b"//p//x?id=1&utm_source=2",
                b"/p?id=a;b=2",
                b"/p?&&id&",
                b"/p?id=\xff\xfe",
                "/p?id=é€".encode(),
                b"/p?utm_source=a%zz%",
                b"/p?id=9&utm_source=script",
            )
        ]
        assert proxy.end(signal.SIGTERM) == 0
    recorded = {f"http://{upstream.site}{t.decode()}" for t in TARGETS if _is_text(t)}
    assert urls_in(db) == recorded
    done = proxy.wait_for_line("miqps: done")
    assert "miqps/recorded 14" in done
    assert "miqps/rewritten 6" in done
    assert "miqps/not_recorded/odd_target 2" in done
    assert not any("Traceback" in line for line in proxy.said)


def test_kill_9_loses_no_more_than_the_last_second(tmp_path: Path, upstream: Upstream) -> None:
    db = tmp_path / "miqps.db"
    with mitmdump(tmp_path, "--set", f"miqps_db={db}") as proxy:
        port = proxy.port()
        for number in range(40):
            ask(port, upstream.site, b"/p?id=%d" % number)
        time.sleep(1)
        ask(port, upstream.site, b"/p?id=last")
        assert proxy.end(signal.SIGKILL) == -signal.SIGKILL
    # What was handed over is written by a process that outlives the proxy.
    wait_for(lambda: len(urls_in(db)) >= 40)
    with Store.open(db) as store:
        assert store.corpus.sites() == [upstream.site]


TEN_PAGES = [
    "/",
    "/shop/",
    "/shop/?page=2",
    "/shop/product?id=1044",
    "/shop/search?q=oak",
    "/news/",
    "/news/story?story=12&slug=the-last-rope-maker-of-the-old-port",
    "/news/wire?source=courier",
    "/forum/",
    "/forum/thread?t=8107",
]


def test_ten_pages_give_enough_to_probe(tmp_path: Path) -> None:
    db, port = tmp_path / "miqps.db", free_port()
    site = [sys.executable, str(ROOT / "data" / "sample_site"), "--port", str(port)]
    with (
        serving(site, port, tmp_path / "site.log"),
        mitmdump(tmp_path, "--set", f"miqps_db={db}") as proxy,
    ):
        for page in TEN_PAGES:
            ask(proxy.port(), f"127.0.0.1:{port}", page.encode())
        assert proxy.end(signal.SIGTERM) == 0
    listing = [sys.executable, str(ROOT / "scripts" / "corpus.py"), "list", "--json", "--db", db]
    done = subprocess.run(listing, capture_output=True, check=True)
    (found,) = json.loads(done.stdout)["sites"]
    ready = [c for c in found["contexts"] if min(c["values"].values()) >= JUDGING.min_values]
    assert len(ready) >= 5
    # None of them leads to a deed.
    assert not any("cart" in c["path"] for c in found["contexts"])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of its own, whose script may be touched."""
    root = tmp_path / "checkout"
    for folder in ("addons", "miqps", "data"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("*.db*"))
    return root


def test_a_touched_script_reloads_from_a_checkout_that_is_not_installed(
    checkout: Path, upstream: Upstream
) -> None:
    # A relative path, and from the package's own folder: there every import has the most to miss.
    script = "../addons/miqps.py"
    with mitmdump(checkout / "miqps", "--set", "miqps_db=../x.db", script=script) as proxy:
        port = proxy.port()
        ask(port, upstream.site, b"/p?id=1")
        for times in (2, 3):
            later = time.time() + times
            os.utime(checkout / "addons" / "miqps.py", (later, later))
            proxy.wait_for_line("miqps: mode rewrite", times)
        ask(port, upstream.site, b"/p?id=2")
        assert proxy.end(signal.SIGINT) == 0
    assert urls_in(checkout / "x.db") == {f"http://{upstream.site}/p?id={n}" for n in (1, 2)}
    assert sum("miqps: done" in line for line in proxy.said) == 3
    assert not any("rror" in line for line in proxy.said)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "miqps_mode=rewrit",
            "miqps_mode must be one of observe, dry-run, rewrite, redirect, not 'rewrit'",
        ),
        ("miqps_db=/", "miqps_db: /: not a file; choose another miqps_db"),
    ],
)
def test_a_bad_option_ends_it_at_the_start(tmp_path: Path, option: str, message: str) -> None:
    with mitmdump(tmp_path, "--set", option) as proxy:
        assert proxy.process.wait(30) == 1
        proxy._reader.join(20)
    assert any(message in line for line in proxy.said)


def test_the_prober_is_left_alone(tmp_path: Path, upstream: Upstream) -> None:
    db = tmp_path / "miqps.db"
    publish(db, upstream.site, 1, "utm_source")
    with mitmdump(tmp_path, "--set", f"miqps_db={db}") as proxy:
        target = b"/p?id=7&utm_source=mail"
        prober = b"text/html\r\nUser-Agent: Chromium " + PROBER_TOKEN.encode()
        ask(proxy.port(), upstream.site, target, accept=prober)
        assert proxy.end(signal.SIGTERM) == 0
    assert upstream.lines == [b"GET " + target + b" HTTP/1.1\r\n"]
    assert urls_in(db) == set()
