"""The addon's modes in a real mitmdump, by the site's own log."""

from __future__ import annotations

import http.client
import shutil
import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.test_mitmdump import mitmdump, publish

PAGE = b"<!doctype html><title>page</title>"


class Site(ThreadingHTTPServer):
    """A site that keeps what it was asked for. With `stubborn` it wants its tag back."""

    daemon_threads = True

    def __init__(self, *, stubborn: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.asked: list[str] = []
        self.stubborn = stubborn
        self.name = f"127.0.0.1:{self.server_port}"


class _Page(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.server.stubborn and "utm_source" not in self.path:
            self.send_response(302)
            self.send_header("Location", f"{self.path}&utm_source=mail")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    with site:
        thread = threading.Thread(target=site.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()


def browse(proxy: int, site: str, target: str) -> list[tuple[int, str]]:
    """Load a page as a browser does, redirects and all: status and target of each step."""
    steps = []
    for _ in range(12):
        connection = http.client.HTTPConnection("127.0.0.1", proxy, timeout=20)
        connection.request("GET", f"http://{site}{target}", headers={"Accept": "text/html"})
        answer = connection.getresponse()
        answer.read()
        steps.append((answer.status, target))
        connection.close()
        to = answer.headers["Location"]
        if to is None:
            break
        target = to.removeprefix(f"http://{site}")
    return steps


TAGGED, CLEAN = "/p?id=7&utm_source=mail", "/p?id=7"


def test_redirect_makes_the_address_clean(tmp_path: Path) -> None:
    db = tmp_path / "miqps.db"
    with serving(Site()) as site:
        publish(db, site.name, 1, "utm_source")
        options = ("--set", f"miqps_db={db}", "--set", "miqps_mode=redirect")
        with mitmdump(tmp_path, *options) as proxy:
            port = proxy.port()
            assert browse(port, site.name, TAGGED) == [(307, TAGGED), (200, CLEAN)]
            assert site.asked == [CLEAN]
            assert proxy.end(signal.SIGTERM) == 0


def test_redirect_against_a_site_that_wants_its_tag_back(tmp_path: Path) -> None:
    """One request more than without us, the first time; none later."""
    db = tmp_path / "miqps.db"
    with serving(Site(stubborn=True)) as site:
        publish(db, site.name, 1, "utm_source")
        options = ("--set", f"miqps_db={db}", "--set", "miqps_mode=redirect")
        with mitmdump(tmp_path, *options) as proxy:
            port = proxy.port()
            assert browse(port, site.name, TAGGED)[-1] == (200, TAGGED)
            assert site.asked == [CLEAN, TAGGED]
            site.asked.clear()
            other = TAGGED.replace("7", "8")
            assert browse(port, site.name, other) == [(200, other)]
            assert site.asked == [other]
            proxy.wait_for_line("puts a parameter back")
            assert proxy.end(signal.SIGTERM) == 0
        site.asked.clear()
        # The next proxy knows.
        with mitmdump(tmp_path, *options) as proxy:
            port = proxy.port()
            proxy.wait_for_line("1 patterns are left alone")
            assert browse(port, site.name, TAGGED) == [(200, TAGGED)]
            assert proxy.end(signal.SIGTERM) == 0


def test_dry_run_changes_nothing(tmp_path: Path) -> None:
    db = tmp_path / "miqps.db"
    with serving(Site()) as site:
        publish(db, site.name, 1, "utm_source")
        options = ("--set", f"miqps_db={db}", "--set", "miqps_mode=dry-run")
        with mitmdump(tmp_path, *options) as proxy:
            assert browse(proxy.port(), site.name, TAGGED) == [(200, TAGGED)]
            assert proxy.end(signal.SIGTERM) == 0
        assert site.asked == [TAGGED]
        assert "miqps/would_rewrite 1" in proxy.wait_for_line("miqps: done")


@pytest.mark.parametrize("mode", ["rewrite", "redirect"])
def test_behind_a_reverse_proxy(tmp_path: Path, mode: str) -> None:
    db = tmp_path / "miqps.db"
    with serving(Site()) as site:
        publish(db, site.name, 1, "utm_source")
        options = ("--mode", f"reverse:http://{site.name}", "--set", f"miqps_db={db}")
        with mitmdump(tmp_path, *options, "--set", f"miqps_mode={mode}") as proxy:
            port = proxy.port()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", TAGGED, headers={"Accept": "text/html"})
            answer = connection.getresponse()
            answer.read()
            connection.close()
            expected = (307, CLEAN) if mode == "redirect" else (200, None)
            assert (answer.status, answer.headers["Location"]) == expected
            assert proxy.end(signal.SIGTERM) == 0
        assert site.asked == ([] if mode == "redirect" else [CLEAN])


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl")
def test_as_a_socks_proxy(tmp_path: Path) -> None:
    db = tmp_path / "miqps.db"
    with serving(Site()) as site:
        publish(db, site.name, 1, "utm_source")
        options = ("--mode", "socks5", "--set", f"miqps_db={db}")
        with mitmdump(tmp_path, *options) as proxy:
            through = f"socks5://127.0.0.1:{proxy.port()}"
            subprocess.run(
                ["curl", "-s", "-x", through, "-H", "Accept: text/html",
                 f"http://{site.name}{TAGGED}"],
                check=True, capture_output=True, timeout=60,
            )  # fmt: skip
            assert proxy.end(signal.SIGTERM) == 0
        assert site.asked == [CLEAN]


def test_before_another_proxy(tmp_path: Path) -> None:
    db = tmp_path / "miqps.db"
    other = tmp_path / "other"
    other.mkdir()
    with serving(Site()) as site:
        publish(db, site.name, 1, "utm_source")
        with mitmdump(other, "--set", "miqps_mode=observe") as upstream:
            mode = f"upstream:http://127.0.0.1:{upstream.port()}"
            with mitmdump(tmp_path, "--mode", mode, "--set", f"miqps_db={db}") as proxy:
                assert browse(proxy.port(), site.name, TAGGED) == [(200, TAGGED)]
                assert proxy.end(signal.SIGTERM) == 0
            assert upstream.end(signal.SIGTERM) == 0
        assert site.asked == [CLEAN]


def _speaks_http2() -> bool:
    curl = shutil.which("curl")
    said = subprocess.run([curl, "--version"], capture_output=True, text=True) if curl else None
    return said is not None and "HTTP2" in said.stdout


@pytest.mark.skipif(not _speaks_http2(), reason="no curl with HTTP/2")
@pytest.mark.parametrize("mode", ["rewrite", "redirect"])
def test_http2(tmp_path: Path, mode: str) -> None:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )
    from mitmproxy.certs import CertStore

    certs = CertStore.from_store(tmp_path / "certs", "mitmproxy", 2048)
    entry = certs.get_cert("127.0.0.1", [], None)
    pem = tmp_path / "site.pem"
    key = entry.privatekey.private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    )
    pem.write_bytes(entry.cert.to_pem() + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    db = tmp_path / "miqps.db"
    site = Site()
    site.socket = context.wrap_socket(site.socket, server_side=True)
    with serving(site):
        publish(db, site.name, 1, "utm_source")
        # Lazy: else the client is offered no more than the site speaks.
        options = ("--ssl-insecure", "--set", "connection_strategy=lazy")
        options += ("--set", f"miqps_db={db}", "--set", f"miqps_mode={mode}")
        with mitmdump(tmp_path, *options) as proxy:
            said = subprocess.run(
                ["curl", "-sk", "--http2", "-L", "-x", f"http://127.0.0.1:{proxy.port()}",
                 "-H", "Accept: text/html", "-o", "-", "-w",
                 "\n%{http_version} %{response_code} %{url_effective}",
                 f"https://{site.name}{TAGGED}"],
                capture_output=True, text=True, timeout=60,
            )  # fmt: skip
            page, _, shown = said.stdout.rpartition("\n")
            address = CLEAN if mode == "redirect" else TAGGED
            assert shown == f"2 200 https://{site.name}{address}"
            assert page.encode() == PAGE
            assert proxy.end(signal.SIGTERM) == 0
        assert site.asked == [CLEAN]
