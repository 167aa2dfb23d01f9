"""A new map comes into force by itself, and no broken one ever does."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from miqps.following import Follower
from miqps.live import LiveNormalizer
from miqps.mapping import MapError, to_json
from miqps.normalizer import Normalizer
from miqps.settings import RECORDING
from miqps.sources.address import AddressSource
from tests.known_map import SHOP, a_map, entry, store

URL = f"{SHOP}/p/1?id=7&utm_source=x"
CLEAN = f"{SHOP}/p/1?id=7"


def a_version(version: int, *, strips: bool) -> str:
    decision = "neutral" if strips else "undecided"
    known = a_map([entry("/p/*", "id utm_source", utm_source=decision)])
    return to_json(known).replace('"version": 3', f'"version": {version}')


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited for too long"
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setattr("miqps.sources.address.user_cache_path", lambda name: folder / name)
    return folder / "miqps" / "maps"


class MapServer(ThreadingHTTPServer):
    """Serves one map, with an ETag; what it was asked is kept."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body, self.status, self.headers = b"", 200, dict[str, str]()
        self.answers: list[int] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/map.json"


class _Handler(BaseHTTPRequestHandler):
    server: MapServer

    def do_GET(self) -> None:
        etag = self.server.headers.get("ETag")
        is_known = etag is not None and self.headers.get("If-None-Match") == etag
        status = 304 if is_known else self.server.status
        self.server.answers.append(status)
        self.send_response(status)
        body = b"" if is_known else self.server.body
        for name, value in {**self.server.headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[MapServer]:
    with MapServer() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def serve(server: MapServer, version: int, *, strips: bool) -> None:
    server.body = a_version(version, strips=strips).encode()
    server.headers["ETag"] = f'"{version}"'


# --- an address ---------------------------------------------------------------------------------


def test_an_unchanged_map_is_not_sent_again(server: MapServer) -> None:
    serve(server, 1, strips=True)
    follower = Follower(server.address)
    assert follower.first().version == 1
    assert follower.look() is None
    serve(server, 2, strips=False)
    found = follower.look()
    assert found is not None
    assert found.version == 2
    assert follower.look() is None
    assert server.answers == [200, 304, 200, 304]


def test_without_the_network_the_last_map_is_in_force(server: MapServer, cache: Path) -> None:
    serve(server, 4, strips=True)
    address = server.address
    assert Follower(address).first().version == 4
    server.shutdown()
    server.server_close()
    assert Follower(address).first().version == 4
    assert Normalizer.load(address).clean(URL) == CLEAN
    (kept,) = cache.iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    kept.write_bytes(b"torn")
    with pytest.raises(MapError, match=r"127\.0\.0\.1.*[Rr]efused"):
        Follower(address).first()


def test_a_kept_map_is_asked_about_with_its_validator(server: MapServer) -> None:
    serve(server, 4, strips=True)
    Follower(server.address).first()
    assert Follower(server.address).first().version == 4
    assert server.answers == [200, 304]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda server: setattr(server, "body", b"{"),
        lambda server: setattr(server, "body", server.body[:-20]),
        lambda server: setattr(server, "body", b"<!doctype html><title>Log in</title>"),
        lambda server: setattr(server, "status", 500),
        lambda server: setattr(server, "status", 404),
        lambda server: server.headers.update({"Content-Encoding": "gzip"}),
    ],
    ids=["half a brace", "cut off", "a log-in page", "500", "404", "no gzip"],
)
def test_what_is_no_map_changes_nothing(
    server: MapServer, spoil: Callable[[MapServer], None], caplog: pytest.LogCaptureFixture
) -> None:
    serve(server, 1, strips=True)
    follower = Follower(server.address)
    assert follower.first().version == 1
    serve(server, 2, strips=True)
    spoil(server)
    assert [follower.look() for _ in range(6)] == [None] * 6
    assert len(caplog.messages) == 1
    # And a start in the middle of it goes by the map that was kept.
    assert Normalizer.load(server.address).version == 1
    server.status, server.headers = 200, {}
    serve(server, 3, strips=True)
    found = follower.look()
    assert found is not None
    assert found.version == 3


def test_it_may_come_compressed(server: MapServer) -> None:
    serve(server, 1, strips=True)
    server.body = gzip.compress(server.body)
    server.headers["Content-Encoding"] = "gzip"
    assert Follower(server.address).first().version == 1


def test_it_is_asked_no_sooner_than_the_server_wants(server: MapServer) -> None:
    serve(server, 1, strips=True)
    server.headers["Cache-Control"] = "public, max-age=600"
    follower = Follower(server.address)
    follower.first()
    assert follower.look() is None
    assert server.answers == [200]


def test_secrets_in_an_address_are_not_said(server: MapServer) -> None:
    host = server.address.removeprefix("http://")
    follower = Follower(f"http://me:pass@{host}?token=s3cret")
    server.status = 403
    with pytest.raises(MapError) as error:
        follower.first()
    assert "s3cret" not in str(error.value)
    assert "pass" not in str(error.value)
    assert "answered 403" in str(error.value)


@pytest.mark.parametrize("address", ["http://", "https:///map.json", "http://[::1/map"])
def test_no_address(address: str) -> None:
    with pytest.raises(MapError, match="no address of a map"):
        Normalizer.load(address)


def test_an_endless_map_is_given_up(server: MapServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miqps.sources.address._MOST_BYTES", 1000)
    serve(server, 1, strips=True)
    server.body += b" " * 5000
    with pytest.raises(MapError, match="more than 1,000 bytes"):
        Follower(server.address).first()


def test_the_kept_copy_is_not_needed(server: MapServer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    serve(server, 1, strips=True)
    source = AddressSource(server.address, tmp_path / "file" / "below")
    assert source.edition() is not None
    assert source.read().version == 1


# --- a normalizer that follows ------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setattr("miqps.live.RECORDING", replace(RECORDING, reload_seconds=0.02))


def test_a_file_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text(a_version(1, strips=False))
    normalizer = Normalizer.load(path, watch=True)
    assert isinstance(normalizer, LiveNormalizer)
    with closing(normalizer):
        assert normalizer.clean(URL) == URL
        path.write_text(a_version(2, strips=True))
        wait_for(lambda: normalizer.version == 2)
        assert normalizer.clean(URL) == CLEAN
        assert normalizer.key(URL) == CLEAN
        assert normalizer.clean_target("https", "shop.example", 443, b"/p/1?id=7&utm_source=x") == (
            b"/p/1?id=7"
        )
        assert normalizer.explain(URL).version == 2
        assert normalizer.contexts == 1
        path.write_text("{")
        path.unlink()
        store(tmp_path / "map.db", a_version(1, strips=False)).rename(path)
        wait_for(lambda: normalizer.version == 1)
        assert normalizer.clean(URL) == URL


def test_a_closed_one_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text(a_version(1, strips=False))
    with Normalizer.load(path, watch=True) as normalizer:  # type: ignore[attr-defined]
        pass
    normalizer._thread.join()
    path.write_text(a_version(2, strips=True))
    assert normalizer.clean(URL) == URL


def test_an_address_is_followed(server: MapServer) -> None:
    serve(server, 1, strips=False)
    with Normalizer.load(server.address, watch=True) as normalizer:  # type: ignore[attr-defined]
        assert normalizer.clean(URL) == URL
        serve(server, 2, strips=True)
        wait_for(lambda: normalizer.clean(URL) == CLEAN)


def test_each_call_goes_by_one_map(tmp_path: Path) -> None:
    """Two maps that strip one name each, and never both, however often they take turns."""
    path = tmp_path / "map.json"

    def write(version: int, name: str) -> None:
        other = {"a": "b", "b": "a"}[name]
        verdicts = {name: "neutral", other: "important"}
        known = a_map([entry("/p/*", "a b", **verdicts)])
        text = to_json(known).replace('"version": 3', f'"version": {version}')
        (tmp_path / "new").write_text(text)
        (tmp_path / "new").replace(path)

    write(1, "a")
    seen, done = set[str](), threading.Event()
    with Normalizer.load(path, watch=True) as normalizer:  # type: ignore[attr-defined]

        def ask() -> None:
            number = 0
            while not done.is_set():
                number += 1
                cleaned = normalizer.clean(f"{SHOP}/p/{number}?a=1&b=2")
                seen.add(cleaned.partition("?")[2])

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for version in range(2, 12):
            write(version, "ab"[version % 2])
            wait_for(lambda version=version: normalizer.version == version)
        done.set()
        for thread in threads:
            thread.join()
    assert seen == {"a=1", "b=2"}
