"""The writing process: what it stores of a page, and what happens when it or the proxy dies."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from miqps.addon.counters import Counters
from miqps.addon.remote_scribe import RemoteScribe, ScribeDiedError
from miqps.addon.writer import Writer
from miqps.formats.listed import priors_of
from miqps.loads import Load, Report
from miqps.origin import Origin
from miqps.planning import tasks
from miqps.privacy import Privacy
from miqps.scribe import Scribe
from miqps.settings import Recording
from miqps.store import Store, StoreError
from miqps.store.lists import SeenHeader

WHERE = Origin("https", "shop.example", 443)
SITE = "https://shop.example"
LISTING = b"""<title>Shelf</title>
<a href="/p?id=1&amp;ref=list">1</a> <a href="/p?id=2&amp;ref=list">2</a>
<a href="https://other.example/x?id=3">3</a> <a href="/logout?id=4">4</a>
<a href="/p?id=5&amp;mail=ada@mail.example">5</a>"""
LINKS = {"/shelf?page=1", "/p?id=1&ref=list", "/p?id=2&ref=list"}
PAGE = {"content_type": "text/html; charset=utf-8"}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


@pytest.fixture
def scribe(db: Path) -> Iterator[Scribe]:
    scribe = Scribe(str(db))
    yield scribe
    scribe.close()


def rows(db: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(db)) as file:
        return file.execute(sql).fetchall()


def urls_in(db: Path) -> dict[str, int]:
    return dict(rows(db, "SELECT url, hits FROM urls"))  # type: ignore[arg-type]


def listing(**more: object) -> Load:
    return Load(WHERE, b"/shelf?page=1", body=LISTING, **PAGE, **more)  # type: ignore[arg-type]


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "waited for too long"
        time.sleep(0.02)


# What is stored


def test_a_page_gives_itself_what_it_showed_and_its_links(scribe: Scribe, db: Path) -> None:
    report = scribe.write([listing(hits=3, cookies_sent=True)], Privacy())
    assert (dict(report.sites), report.links) == ({"shop.example": 3}, 3)
    assert urls_in(db) == {
        f"{SITE}/shelf?page=1": 3,
        f"{SITE}/p?id=1&ref=list": 0,
        f"{SITE}/p?id=2&ref=list": 0,
        f"{SITE}/p?id=5&mail=redacted-0": 0,
    }
    (answer,) = rows(db, "SELECT status, title, canonical, cookies_sent FROM answers")
    assert answer == (200, "Shelf", "", 1)
    assert rows(db, "SELECT url FROM urls WHERE redacted") == [(f"{SITE}/p?id=5&mail=redacted-0",)]


def test_links_of_a_page_without_a_query_count_too(scribe: Scribe, db: Path) -> None:
    report = scribe.write([Load(WHERE, b"/", body=LISTING, **PAGE)], Privacy())
    assert report.passed_over == {"no named parameter": 1}
    assert f"{SITE}/p?id=1&ref=list" in urls_in(db)


@pytest.mark.parametrize(
    ("privacy", "expected"),
    [
        (Privacy(harvest="all"), {*LINKS, "other"}),
        (Privacy(harvest="off"), {"/shelf?page=1"}),
        (Privacy(allow_hosts=("*.example",)), LINKS),
        (Privacy(allow_hosts=("other.example",)), set()),
        (Privacy(ignore_hosts=("shop.*",)), set()),
        (Privacy(ignore_hosts=("other.example",), harvest="all"), LINKS),
        (Privacy(keeps_urls=False), set()),
    ],
)
def test_wishes_are_followed(
    scribe: Scribe, db: Path, privacy: Privacy, expected: set[str]
) -> None:
    scribe.write([listing()], privacy)
    found = {
        "other" if "other.example" in url else url.removeprefix(SITE)
        for url in urls_in(db)
        if "redacted" not in url
    }
    assert found == expected


def test_counts_alone_hold_no_url_and_no_title(scribe: Scribe, db: Path) -> None:
    scribe.write([listing(hits=2)], Privacy(keeps_urls=False))
    assert rows(db, "SELECT path, names, hits FROM contexts") == [("/shelf", '["page"]', 2)]
    assert rows(db, "SELECT count(*) FROM urls, answers") == [(0,)]


def test_secrets_never_reach_the_disk(scribe: Scribe, db: Path) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2VjcmV0c2VjcmV0"
    body = f"""<title>ada@mail.example: mail</title>
    <link rel="canonical" href="/p?u=ada@mail.example">
    <a href="/p?id=1&amp;t={token}">x</a><a href="/u/ada@mail.example/p?id=7">y</a>"""
    scribe.write(
        [
            Load(WHERE, b"/p?id=1&u=ada%40mail.example", body=body.encode(), **PAGE),
            Load(WHERE, b"/p?ada@mail.example&id=1"),
            Load(WHERE, f"/x?a={token}".encode()),
            Load(WHERE, b"/p?id=2&password=hunter2hunter2"),
        ],
        Privacy(),
    )
    assert f"{SITE}/p?id=1&u=redacted-0" in urls_in(db)
    raw = b"".join(file.read_bytes() for file in db.parent.glob("x.db*"))
    for secret in ("ada@mail", "ada%40mail", token[:20], "hunter2"):
        assert secret.encode() not in raw
    with Store.open(db) as store:
        for context in store.corpus.contexts("shop.example"):
            assert not any("redacted" in url for url in store.corpus.urls_of(context.id))


def test_api_calls_are_kept_apart(scribe: Scribe, db: Path) -> None:
    scribe.write([Load(WHERE, b"/p?id=1"), Load(WHERE, b"/p?id=1", "api")], Privacy())
    assert rows(db, "SELECT kind, hits FROM contexts ORDER BY kind") == [("api", 1), ("page", 1)]
    with Store.open(db) as store:
        assert [c.urls for c in store.corpus.contexts("shop.example")] == [1]
        assert [c.urls for c in store.corpus.contexts("shop.example", "api")] == [1]


def test_a_page_that_did_not_change_is_read_once(scribe: Scribe) -> None:
    assert scribe.write([listing()], Privacy()).links == 3
    assert scribe.write([listing()], Privacy()).links == 0
    assert scribe.write([listing()._replace(body=LISTING + b" ")], Privacy()).links == 3


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "frob", "gzip, br"])
def test_bodies_that_are_no_what_they_say_cost_nothing_but_links(
    scribe: Scribe, db: Path, encoding: str
) -> None:
    scribe.write([listing(encoding=encoding)], Privacy())
    assert urls_in(db) == {f"{SITE}/shelf?page=1": 1}


def test_what_is_too_old_is_forgotten(scribe: Scribe, db: Path) -> None:
    scribe.write([Load(WHERE, b"/old?id=1")], Privacy())
    with closing(sqlite3.connect(db)) as file, file:
        file.execute("UPDATE contexts SET last_seen = '2001-01-01T00:00:00Z'")
    scribe.write([Load(WHERE, b"/new?id=1")], Privacy(retention=180))
    assert urls_in(db) == {f"{SITE}/new?id=1": 1}


# The process


@pytest.fixture
def remote(db: Path) -> Iterator[RemoteScribe]:
    remote = RemoteScribe(str(db))
    yield remote
    remote.close()


def test_the_process_writes_and_reports(remote: RemoteScribe, db: Path) -> None:
    report = remote.write([listing(), Load(WHERE, b"/p?q=\xe9")], Privacy())
    assert report == Report({"shop.example": 1}, {"odd target": 1}, 0, 3)  # type: ignore[arg-type]
    assert db.stat().st_mode & 0o777 == 0o600
    process = remote._process
    # The terminal tells all processes that were started from it.
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGHUP)
    remote.write([Load(WHERE, b"/p?id=9")], Privacy())
    assert remote._process is process
    remote.close()
    assert process.returncode == 0
    assert f"{SITE}/p?id=9" in urls_in(db)


def test_a_file_that_refuses_is_said_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_bytes(b"nonsense" * 999)
    remote = RemoteScribe(str(tmp_path / "bad.db"))
    with pytest.raises(StoreError, match="not a SQLite database"):
        remote.write([listing()], Privacy())
    remote.close()


def test_a_process_that_died_is_started_anew(remote: RemoteScribe, db: Path) -> None:
    remote.write([Load(WHERE, b"/p?id=1")], Privacy())
    os.kill(remote._process.pid, signal.SIGKILL)
    with pytest.raises(ScribeDiedError):
        remote.write([Load(WHERE, b"/p?id=2")], Privacy())
    remote.write([Load(WHERE, b"/p?id=3")], Privacy())
    assert set(urls_in(db)) == {f"{SITE}/p?id=1", f"{SITE}/p?id=3"}


_KILLED = """
import os, pickle, signal, sys
from miqps.addon.remote_scribe import RemoteScribe
from miqps.formats.listed import priors_of
from miqps.loads import Load, Report
from miqps.origin import Origin
from miqps.planning import tasks
from miqps.privacy import Privacy
from miqps.loads import Load

remote = RemoteScribe(sys.argv[1])
batch = [Load(Origin("https", "shop.example", 443), b"/p?id=%d" % n) for n in range(500)]
process = remote._running()
pickle.dump((batch, Privacy()), process.stdin)
process.stdin.flush()
print(process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_handed_over_is_written_though_the_proxy_is_killed(db: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, db], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    wait_for(lambda: db.exists() and _hits(db) == 500)
    pid = int(done.stdout)
    wait_for(lambda: _is_gone(pid))


def _hits(db: Path) -> int:
    try:
        return rows(db, "SELECT coalesce(sum(hits), 0) FROM contexts")[0][0]  # type: ignore[return-value]
    except sqlite3.OperationalError:
        return 0


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # Nobody may be there to reap it.
    return " Z " in subprocess.run(
        ["ps", "-o", "stat= ", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.join("  ")


class Mortal:
    """A scribe that dies of pages, or of everything."""

    def __init__(self, scribe: Scribe, *, of_everything: bool = False) -> None:
        self._scribe, self._of_everything = scribe, of_everything

    def write(self, batch: list[Load], privacy: Privacy) -> Report:
        if self._of_everything or any(load.body for load in batch):
            raise ScribeDiedError("killed")
        return self._scribe.write(batch, privacy)

    def close(self) -> None:
        self._scribe.close()


@pytest.mark.parametrize(("of_everything", "recorded", "lost"), [(False, 1, 0), (True, 0, 1)])
def test_a_page_that_kills_the_process_is_recorded_without_its_links(
    db: Path, of_everything: bool, recorded: int, lost: int
) -> None:
    counters = Counters()
    writer = Writer(str(db), counters, Mortal(Scribe(str(db)), of_everything=of_everything))
    writer.put(listing())
    writer.start()
    writer.stop()
    writer.join(20)
    assert (counters["recorded"], counters["lost_disk"]) == (recorded, lost)


def test_bodies_that_wait_are_bounded_and_loads_still_count(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miqps.addon.writer.RECORDING", Recording(body_bytes=1_000))
    counters = Counters()
    writer = Writer(str(db), counters, Scribe(str(db)))
    for number in range(10):
        writer.put(Load(WHERE, b"/p?id=%d" % number, body=b"x" * 300, **PAGE))
    assert counters["not_read"] == 7
    writer.start()
    writer.stop()
    writer.join(20)
    assert counters["recorded"] == 10
    assert writer._bytes_put == writer._bytes_taken == 900


def test_a_batch_survives_the_pipe(db: Path) -> None:
    assert pickle.loads(pickle.dumps((listing(), Privacy(("a",), ("b",))))) == (
        listing(),
        Privacy(("a",), ("b",)),
    )


# What others say of parameters


def test_a_no_vary_search_is_kept_by_path_and_becomes_a_prior(scribe: Scribe, db: Path) -> None:
    header = 'params=("ref")'
    scribe.write(
        [
            Load(WHERE, b"/p/1?id=1&ref=a", no_vary_search=header, body=LISTING, **PAGE),  # type: ignore[arg-type]
            Load(WHERE, b"/p/2?id=2&ref=b", no_vary_search="key-order"),
            Load(WHERE, b"/p/3?id=3&ref=c", no_vary_search=header),
            Load(WHERE, b"/logout?id=3", no_vary_search=header),
        ],
        Privacy(),
    )
    with Store.open(db) as store:
        assert store.lists.headers() == [SeenHeader("shop.example", "/p/*", header)]
        (stored,) = [c for c in store.corpus.contexts("shop.example") if c.context.path == "/p/*"]
        priors = priors_of(store)
        ((_, task),) = tasks(store, [stored], [stored], priors=priors)
    assert task.listed == {"ref"}
    assert priors.says(f"{SITE}/p/9", "ref") == "No-Vary-Search of shop.example"
