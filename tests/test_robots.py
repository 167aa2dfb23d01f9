"""robots.txt from real servers on loopback: what it allows, and what happens when there is none."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from miqps.robots import Robots, RobotsFile, origin, read
from miqps.settings import POLITENESS, PROBER_TOKEN

QUICK = replace(POLITENESS, robots_seconds=0.3, robots_bytes=2_000)
ALL = "User-agent: *\nDisallow: /\n"

Answer = Callable[[BaseHTTPRequestHandler], None]


def says(status: int = 200, body: bytes | str = b"", **headers: str) -> Answer:
    """An answer with this status, these headers and this body."""
    body = body.encode() if isinstance(body, str) else body

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@contextmanager
def server(answers: dict[str, Answer]) -> Iterator[tuple[str, list[str]]]:
    """A server that answers by path; gives its origin and the agents that asked."""
    agents: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            agents.append(self.headers.get("User-Agent", ""))
            answers.get(self.path, says(404))(self)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}", agents
        finally:
            listening.shutdown()
            thread.join()


def robots_of(answer: Answer, **others: Answer) -> RobotsFile:
    paths = {f"/{name}": other for name, other in others.items()}
    with server({"/robots.txt": answer, **paths}) as (of, _):
        return read(of, "me", QUICK)


def allows(file: RobotsFile, target: str) -> bool:
    return file.allows(f"http://127.0.0.1{target}")


def test_path_and_query_of_a_url_are_looked_at() -> None:
    file = robots_of(
        says(body="User-agent: *\nDisallow: /forum/\nDisallow: /*?*sid=\nAllow: /forum/a\n")
    )
    assert allows(file, "/shop?id=1")
    assert not allows(file, "/forum/thread?t=1")
    assert allows(file, "/forum/a?t=1")
    assert not allows(file, "/shop?id=1&sid=2")


def test_the_own_name_goes_before_everybody() -> None:
    mine = f"User-agent: {PROBER_TOKEN.upper()}\nDisallow: /mine\n"
    file = robots_of(says(body=ALL + mine))
    assert allows(file, "/p?id=1")
    assert not allows(file, "/mine?id=1")


@pytest.mark.parametrize(
    ("status", "allowed"),
    [(200, True), (204, True), (401, True), (403, True), (404, True), (410, True), (304, True),
     (429, False), (500, False), (503, False)],
)  # fmt: skip
def test_a_missing_file_allows_and_a_broken_server_forbids(status: int, allowed: bool) -> None:
    file = robots_of(says(status))
    assert allows(file, "/p?id=1") is allowed
    assert file.unreadable == ("" if allowed else f"status {status}")


def test_nobody_there_forbids() -> None:
    with server({}) as (of, _):
        pass
    file = read(of, "me", QUICK)
    assert not allows(file, "/p?id=1")
    assert file.unreadable == "connection refused"


@pytest.mark.parametrize("length", [1, 5, 6, 20])
def test_five_redirects_are_followed(length: int) -> None:
    chain = {f"r{n}": says(302, Location=f"/r{n + 1}") for n in range(1, length)}
    file = robots_of(says(302, Location="/r1"), **chain, **{f"r{length}": says(body=ALL)})
    assert allows(file, "/p?id=1") is (length > 5)


def test_a_redirect_leads_to_no_other_scheme(tmp_path) -> None:
    (tmp_path / "robots.txt").write_text(ALL)
    file = robots_of(says(302, Location=f"file://{tmp_path}/robots.txt"))
    assert file.parsed.can_fetch("http://127.0.0.1/p", PROBER_TOKEN)


def test_a_long_file_is_read_to_its_last_whole_line() -> None:
    lines = "".join(f"Disallow: /{n:04}\n" for n in range(1_000))
    file = robots_of(says(body="User-agent: *\n" + lines))
    read_ones = [n for n in range(1_000) if not allows(file, f"/{n:04}?id=1")]
    assert read_ones == list(range(len(read_ones)))
    assert 100 < len(read_ones) < 150


@pytest.mark.parametrize(
    ("coding", "body", "allowed"),
    [
        ("gzip", gzip.compress(ALL.encode(), mtime=0), False),
        ("gzip", gzip.compress(b"User-agent: *\nDisallow: /x\n" + b"#" * 1_000_000, mtime=0), True),
        ("gzip", b"no gzip", False),
        ("br", b"whatever", False),
    ],
)
def test_a_file_that_comes_packed_is_understood_or_forbids(
    coding: str, body: bytes, allowed: bool
) -> None:
    assert allows(robots_of(says(body=body, Content_Encoding=coding)), "/p?id=1") is allowed


@pytest.mark.parametrize("body", [b"\xef\xbb\xbf" + ALL.encode(), b"\xff\n" + ALL.encode()])
def test_bytes_that_are_no_text_hide_nothing(body: bytes) -> None:
    assert not allows(robots_of(says(body=body)), "/p?id=1")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Crawl-delay: 2.5", 2.5),
        ("Request-rate: 1/10s", 10),
        ("Crawl-delay: 3\nRequest-rate: 1/2s", 3),
        ("Crawl-delay: soon", 0),
        ("Crawl-delay: -1", 0),
        ("Crawl-delay: inf", 0),
        ("Disallow:", 0),
    ],
)
def test_the_pause_that_is_wanted(line: str, expected: float) -> None:
    assert robots_of(says(body=f"User-agent: *\n{line}\n")).delay == expected


def test_what_drips_in_is_given_up() -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        says()(handler)
        with suppress(OSError):
            for _ in range(1_000):
                handler.wfile.write(b"#\n")
                time.sleep(0.02)

    assert robots_of(drip).unreadable == "no answer in time"


def waited_for(robots: Robots) -> dict[str, RobotsFile]:
    found: dict[str, RobotsFile] = {}
    until = time.monotonic() + 30
    while robots.awaits() and time.monotonic() < until:
        found |= robots.finished(time.monotonic())
        time.sleep(0.01)
    return found


def test_files_are_read_beside_the_caller_and_kept() -> None:
    with server({"/robots.txt": says(body=ALL)}) as (of, agents):
        robots = Robots("miqps-prober/1 (+me@shop.example)")
        assert robots.file(of) is None
        robots.begin(of, time.monotonic())
        assert robots.awaits(of)
        assert list(waited_for(robots)) == [of]
    assert agents == ["miqps-prober/1 (+me@shop.example)"]
    file = robots.file(of)
    assert file is not None
    assert not file.allows(f"{of}/p?id=1")


def test_one_that_never_ends_is_not_waited_for() -> None:
    release = threading.Event()

    def never(of: str, agent: str, rules: object) -> RobotsFile:
        release.wait(30)
        return RobotsFile()

    robots = Robots("me", QUICK, never)
    robots.begin("http://shop.example", 100)
    assert robots.finished(100.1) == []
    ((of, file),) = robots.finished(101)
    assert (of, file.unreadable) == ("http://shop.example", "no answer in time")
    release.set()
    time.sleep(0.1)
    assert robots.finished(102) == []
    assert robots.file(of) is file


def test_a_fault_of_the_reader_forbids() -> None:
    def faulty(of: str, agent: str, rules: object) -> RobotsFile:
        raise RecursionError("too deep")

    robots = Robots("me", QUICK, faulty)
    robots.begin("http://shop.example", 100)
    assert waited_for(robots)["http://shop.example"].unreadable == "too deep"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://Shop.Example:80/p?id=1", "http://shop.example"),
        ("https://shop.example:8443?x", "https://shop.example:8443"),
        ("http://me:secret@shop.example/p", "http://shop.example"),
        ("ftp://shop.example/p", None),
        ("file:///etc/passwd", None),
        ("javascript:alert(1)", None),
    ],
)
def test_origins(url: str, expected: str | None) -> None:
    assert origin(url) == expected
