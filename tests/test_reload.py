"""Maps that are published while a real mitmdump is busy: no request fails, waits or is half one."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from miqps.mapping import ContextVerdicts, Map, SiteMap, Verdict, to_json
from miqps.store import Store
from miqps.store.maps import Edition
from miqps.urls import Context
from tests.test_following import MapServer, server
from tests.test_mitmdump import Upstream, ask, mitmdump, upstream, wait_for

__all__ = ["server", "upstream"]

CLIENTS = 4
EDITIONS = 6


def a_map(site: str, version: int) -> Map:
    """One of two maps that take out one name each, by turns."""
    neutral, important = ("a", "b") if version % 2 else ("b", "a")
    verdicts = (Verdict(neutral, "neutral", "t"), Verdict(important, "important", "t"))
    # So many sites beside it that reading takes a while.
    others = {
        f"{n}.example": SiteMap(
            f"{n}.example", (ContextVerdicts(Context(f"{n}.example", "/p", ("a", "b")), verdicts),)
        )
        for n in range(2_000)
    }
    known = SiteMap(site, (ContextVerdicts(Context(site, "/p", ("a", "b")), verdicts),))
    return Map(version, f"2026-01-01T00:00:{version:02}Z", {site: known, **others})


class Visitors:
    """Clients that load pages one after the other, and what went wrong."""

    def __init__(self, port: int, site: str) -> None:
        self.loads = Counter[int]()
        self.failures: list[BaseException] = []
        self._done = threading.Event()
        arguments = [(port, site, number) for number in range(CLIENTS)]
        self._threads = [threading.Thread(target=self._visit, args=a) for a in arguments]

    def _visit(self, port: int, site: str, number: int) -> None:
        while not self._done.is_set():
            try:
                ask(port, site, b"/p?a=%d&b=%d" % (number, self.loads[number]))
            except BaseException as error:
                self.failures.append(error)
                return
            self.loads[number] += 1

    def __enter__(self) -> Visitors:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()


def shapes(lines: list[bytes]) -> Counter[str]:
    """How often which names came through."""
    targets = (line.split(b" ")[1].partition(b"?")[2].split(b"&") for line in list(lines))
    return Counter("".join(item.decode().partition("=")[0] for item in items) for items in targets)


@pytest.mark.parametrize("kind", ["store", "file", "address"])
def test_maps_under_load(
    tmp_path: Path,
    upstream: Upstream,
    server: MapServer,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    db, file = tmp_path / "miqps.db", tmp_path / "map.json"
    place = {"store": "", "file": str(file), "address": server.address}[kind]
    server.status = 404

    def publish(version: int) -> None:
        new = a_map(upstream.site, version)
        if kind == "store":
            with Store.open(db) as store:
                store.maps.publish(Edition(new, "for the test"))
        elif kind == "file":
            # In place, so that it may be read when half of it is written.
            file.write_text(to_json(new))
        else:
            server.body, server.headers["ETag"] = to_json(new).encode(), f'"{version}"'
            server.status = 200

    with mitmdump(tmp_path, "--set", f"miqps_db={db}", "--set", f"miqps_map={place}") as proxy:
        with Visitors(proxy.port(), upstream.site) as visitors:
            wait_for(lambda: sum(visitors.loads.values()) > 20)
            for version in range(1, EDITIONS + 1):
                publish(version)
                proxy.wait_for_line(f"miqps: map version {version},")
                seen = len(upstream.lines)
                wait_for(lambda seen=seen: len(upstream.lines) > seen + 20)
        assert visitors.failures == []
        found = shapes(upstream.lines)
        assert found.keys() == {"ab", "a", "b"}
        # From the first map on, each request lost the one name or the other.
        first = next(n for n, line in enumerate(upstream.lines) if b"a=" not in line)
        assert "ab" not in shapes(upstream.lines[first + CLIENTS :])
        assert sum(found.values()) == sum(visitors.loads.values())
        assert proxy.end(signal.SIGTERM) == 0
    assert not any("Traceback" in line for line in proxy.said)
