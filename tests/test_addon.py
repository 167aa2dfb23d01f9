"""The addon inside mitmproxy's own test context: what is recorded, rewritten, and survived."""

from __future__ import annotations

import io
import logging
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import http
from mitmproxy import io as flow_io
from mitmproxy.addons.script import Script
from mitmproxy.exceptions import OptionsError
from mitmproxy.flow import Error
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import taddons, tflow

from miqps.addon import Miqps, writer
from miqps.addon.counters import Counters
from miqps.addon.loops import Loops
from miqps.addon.navigation import not_recorded, not_rewritten
from miqps.addon.origin import origin
from miqps.addon.rewriter import Rewriter
from miqps.addon.watcher import Watcher
from miqps.addon.writer import Writer
from miqps.loads import Load
from miqps.mapping import ContextVerdicts, Map, SiteMap, Verdict
from miqps.normalizer import Normalizer
from miqps.origin import Origin, url
from miqps.scribe import Scribe
from miqps.settings import PROBER_TOKEN, Recording
from miqps.store import Store, StoreError
from miqps.store import file as store_file
from miqps.store.lists import StoredList
from miqps.store.maps import Edition
from miqps.urls import Context

SITE = "shop.example"
MODES = "observe, dry-run, rewrite, redirect"
PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FETCHED = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Accept": "*/*"}
HTML = {"Content-Type": "text/html; charset=utf-8"}


def a_map(version: int, *neutral: str, site: str = SITE, day: int = 1) -> Map:
    context = Context(site, "/p", ("id", "utm_source"))
    verdicts = tuple(
        Verdict(name, "neutral" if name in neutral else "important", "for the test")
        for name in context.names
    )
    known = SiteMap(site, (ContextVerdicts(context, verdicts),))
    return Map(version, f"2026-01-0{day}T00:00:00Z", {site: known})


def publish(path: Path, new: Map) -> None:
    with Store.open(path) as store:
        store.maps.publish(Edition(new, "for the test"))


def a_flow(
    target: bytes = b"/p?id=7&utm_source=mail",
    headers: dict[str, str] = PAGE,
    *,
    method: bytes = b"GET",
    status: int = 200,
    answer: dict[str, str] = HTML,
) -> http.HTTPFlow:
    """A flow whose request was read and whose answer has not come yet; `answered` brings it."""
    flow = tflow.tflow(live=True)
    flow.request = http.Request(
        SITE, 443, method, b"https", b"", target, b"HTTP/1.1",
        http.Headers([(k.encode(), v.encode()) for k, v in headers.items()]),
        b"", None, 0, 0,
    )  # fmt: skip
    flow.response = None
    flow.metadata["status"] = status
    flow.metadata["answer"] = dict(answer)
    return flow


def answered(flow: http.HTTPFlow) -> http.HTTPFlow:
    flow.response = http.Response.make(
        flow.metadata.pop("status"), flow.metadata.pop("body", b""), flow.metadata.pop("answer")
    )
    return flow


def load(addon: Miqps, flow: http.HTTPFlow) -> http.HTTPFlow:
    addon.request(flow)
    addon.responseheaders(answered(flow))
    addon.response(flow)
    return flow


def urls_in(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT url, hits FROM urls").fetchall())


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited for too long"
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    recording = Recording(flush_seconds=0.02, reload_seconds=0.02)
    monkeypatch.setattr("miqps.addon.writer.RECORDING", recording)
    monkeypatch.setattr("miqps.addon.watcher.RECORDING", recording)
    monkeypatch.setattr(writer, "_LONGEST_PAUSE", 0.05)
    # In this process, so that its file can be made to fail; `test_scribe.py` has the real one.
    monkeypatch.setattr(writer, "RemoteScribe", Scribe)
    monkeypatch.setattr(store_file, "_BUSY_SECONDS", 0.05)
    caplog.set_level(logging.DEBUG)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "miqps.db"


@contextmanager
def mitmproxy_context() -> Iterator[taddons.context]:
    with taddons.context() as context:
        yield context
    context.master.event_loop.close()


@pytest.fixture
def context() -> Iterator[taddons.context]:
    with mitmproxy_context() as context:
        yield context


@pytest.fixture
def start(context: taddons.context, db: Path) -> Iterator[Callable[..., Miqps]]:
    """Give the function that makes an addon with these options, and runs it."""
    addon = Miqps()
    context.master.addons.add(addon)

    def started(**options: str) -> Miqps:
        # Chance stays out of the tests: what goes through as it came is tested on its own.
        context.configure(addon, **{"miqps_db": str(db), "miqps_canary": 0, **options})
        addon.running()
        return addon

    yield started
    addon.done()


@pytest.fixture
def addon(start: Callable[..., Miqps]) -> Miqps:
    return start()


# What is recorded and rewritten


@pytest.mark.parametrize(
    ("target", "headers", "method", "rewritten", "recorded"),
    [
        (b"/p?a=1", PAGE, b"GET", None, None),
        (b"/p?a=1", FETCHED, b"GET", None, None),
        (b"/p?a=1", PAGE, b"HEAD", None, None),
        (b"/p?a=1", PAGE, b"POST", "method", "method"),
        (b"/p", PAGE, b"GET", None, None),
        (b"/p?a=1", {}, b"GET", "no document", "no document"),
        (b"/p?a=1", {"Accept": "*/*"}, b"GET", "no document", "no document"),
        (b"/p?a=1", {"Accept": "image/avif,*/*"}, b"GET", "no document", "no document"),
        (b"/p?a=1", {"ACCEPT": "Text/HTML"}, b"GET", None, None),
        (b"/p?a=1", PAGE | {"X-Requested-With": "XMLHttpRequest"}, b"GET", *["no document"] * 2),
        (b"/p?a=1", PAGE | {"Sec-Fetch-Dest": "iframe"}, b"GET", *["no document"] * 2),
        (b"/p?a=1", PAGE | {"Sec-Fetch-Dest": "empty"}, b"GET", *["no document"] * 2),
        (b"/p?a=1", FETCHED | {"Sec-Fetch-Mode": "cors"}, b"GET", *["no document"] * 2),
        (b"/p?a=1", PAGE | {"User-Agent": f"X {PROBER_TOKEN}/1"}, b"GET", *["prober"] * 2),
        (b"/p?a=1", PAGE | {"Upgrade": "WebSocket"}, b"GET", "upgrade", "upgrade"),
        (b"/p?a=1", FETCHED | {"Sec-Purpose": "prefetch;prerender"}, b"GET", None, "prefetch"),
        (b"/p?a=1", PAGE | {"Purpose": "prefetch"}, b"GET", None, "prefetch"),
        (b"/p?a=1", PAGE | {"X-Moz": "prefetch"}, b"GET", None, "prefetch"),
        (b"/p?a=1", PAGE | {"Authorization": "Basic eA=="}, b"GET", None, "authorization"),
    ],
)
def test_which_requests(
    target: bytes, headers: dict[str, str], method: bytes, rewritten: str | None, recorded: str
) -> None:
    flow = answered(a_flow(target, headers, method=method))
    assert not_rewritten(flow.request) == rewritten
    assert not_recorded(flow.request, flow.response) == recorded


@pytest.mark.parametrize(
    ("status", "answer", "reason"),
    [
        (200, HTML, None),
        (203, {"content-TYPE": "application/xhtml+xml"}, None),
        (200, {"Content-Type": "TEXT/HTML ;charset=x"}, None),
        (101, {}, "upgrade"),
        (302, HTML, "status"),
        (304, HTML, "status"),
        (404, HTML, "status"),
        (500, HTML, "status"),
        (200, {}, "no html"),
        (200, {"Content-Type": "application/json"}, "no html"),
        (200, {"Content-Type": "text/htmlx"}, "no html"),
        (200, HTML | {"Content-Disposition": "attachment; filename=a.html"}, "download"),
        (200, HTML | {"Content-Disposition": "inline"}, None),
    ],
)
def test_which_answers(status: int, answer: dict[str, str], reason: str | None) -> None:
    flow = answered(a_flow(status=status, answer=answer))
    assert not_recorded(flow.request, flow.response) == reason


@pytest.mark.parametrize(
    ("mode", "host", "header", "keep", "expected"),
    [
        ("regular", SITE, "Other.Example:1", False, Origin("https", SITE, 8443)),
        ("upstream:http://up.example:3128", SITE, "", False, Origin("https", SITE, 8443)),
        ("regular", "192.0.2.1", SITE, False, Origin("https", "192.0.2.1", 8443)),
        ("transparent", "192.0.2.1", SITE, False, Origin("https", SITE, 443)),
        ("transparent", "2001:db8::1", f"{SITE}:99", False, Origin("https", SITE, 99)),
        ("transparent", "192.0.2.1", "", False, Origin("https", "192.0.2.1", 8443)),
        ("transparent", "192.0.2.1", "a b:c", False, Origin("https", "192.0.2.1", 8443)),
        ("socks5", "192.0.2.1", SITE, False, Origin("https", SITE, 443)),
        ("socks5", SITE, "other.example", False, Origin("https", SITE, 8443)),
        (
            "reverse:https://up.example",
            "up.example",
            SITE,
            False,
            Origin("https", "up.example", 8443),
        ),
        ("reverse:https://up.example", "up.example", f"{SITE}:80", True, Origin("http", SITE, 80)),
        ("reverse:https://up.example", "up.example", SITE, True, Origin("http", SITE, 80)),
    ],
)
def test_origin(mode: str, host: str, header: str, keep: bool, expected: Origin) -> None:
    flow = a_flow(headers={"Host": header} if header else {})
    flow.request.data.host, flow.request.data.port = host, 8443
    flow.client_conn.proxy_mode = ProxyMode.parse(mode)
    flow.client_conn.tls = False
    assert origin(flow, keep_host_header=keep) == expected


def test_origin_over_http2_reads_the_authority() -> None:
    flow = a_flow(headers={})
    flow.request.data.host, flow.request.data.http_version = "192.0.2.1", b"HTTP/2.0"
    flow.request.data.authority = b"shop.example"
    flow.client_conn.proxy_mode = ProxyMode.parse("transparent")
    assert origin(flow) == Origin("https", SITE, 443)


@pytest.mark.parametrize(
    ("where", "target", "expected"),
    [
        (Origin("https", SITE, 443), b"/p?a=%7E~", "https://shop.example/p?a=%7E~"),
        (Origin("http", SITE, 443), b"/?a", "http://shop.example:443/?a"),
        (Origin("http", "2001:db8::1", 8080), b"//x?a", "http://[2001:db8::1]:8080//x?a"),
        (Origin("https", SITE, 443), "/p?a=é".encode(), "https://shop.example/p?a=é"),
        (Origin("https", SITE, 443), b"/p?a=\xe9", None),
        (Origin("https", SITE, 443), b"/p?a#b", None),
        (Origin("https", SITE, 443), b"*", None),
        (Origin("https", SITE, 443), b"", None),
    ],
)
def test_url(where: Origin, target: bytes, expected: str | None) -> None:
    assert url(where, target) == expected


# Rewriting


def test_neutral_parameters_go_and_the_url_before_is_recorded(
    start: Callable[..., Miqps], db: Path
) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start()
    flow = load(addon, a_flow(b"/p?%75tm_source=a+b&id=%7e"))
    addon.done()
    assert flow.request.data.path == b"/p?id=%7e"
    assert urls_in(db) == {"https://shop.example/p?%75tm_source=a+b&id=%7e": 1}
    flow_io.FlowWriter(io.BytesIO()).add(flow)


@pytest.mark.parametrize(
    ("target", "headers", "method"),
    [
        (b"/p?id=7&utm_source=mail", {"Accept": "*/*"}, b"GET"),
        (b"/p?id=7&utm_source=mail", PAGE, b"POST"),
        (b"/p?id=7&utm_source=mail&other=1", PAGE, b"GET"),
        (b"/other?id=7&utm_source=mail", PAGE, b"GET"),
        (b"/p?id=7&utm_source=mail", PAGE | {"User-Agent": PROBER_TOKEN}, b"GET"),
    ],
)
def test_what_is_not_a_known_page_load_stays(
    start: Callable[..., Miqps], db: Path, target: bytes, headers: dict[str, str], method: bytes
) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start()
    flow = a_flow(target, headers, method=method)
    before = flow.get_state()
    addon.request(flow)
    assert flow.get_state() == before


def _handled(flow: http.HTTPFlow) -> None:
    flow.response = http.Response.make(200)


def _failed(flow: http.HTTPFlow) -> None:
    flow.error = Error("connection lost")


def _loaded_from_a_file(flow: http.HTTPFlow) -> None:
    flow.live = False


def _replayed(flow: http.HTTPFlow) -> None:
    flow.is_replay = "request"


@pytest.mark.parametrize(
    "spoil", [_handled, http.HTTPFlow.kill, _failed, _loaded_from_a_file, _replayed]
)
def test_a_flow_that_is_not_ours_is_left_alone(
    start: Callable[..., Miqps], db: Path, spoil: Callable[[http.HTTPFlow], None]
) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start()
    flow = a_flow()
    spoil(flow)
    addon.request(flow)
    assert flow.request.data.path == b"/p?id=7&utm_source=mail"
    if spoil is not _handled:
        addon.responseheaders(answered(flow))
        addon.response(flow)
    addon.done()
    assert urls_in(db) == {}


def test_observing_changes_nothing(start: Callable[..., Miqps], db: Path) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start(miqps_mode="observe")
    flow = load(addon, a_flow())
    assert flow.request.data.path == b"/p?id=7&utm_source=mail"
    addon.done()
    assert urls_in(db) == {"https://shop.example/p?id=7&utm_source=mail": 1}


@given(st.binary().map(b"/p?".__add__) | st.binary())
def test_every_byte_stays_where_nothing_is_known(target: bytes) -> None:
    rewriter = Rewriter(Counters())
    rewriter.normalizer = _KNOWS_ANOTHER_SITE
    flow = a_flow(target)
    before = flow.get_state()
    rewriter.request(flow)
    assert flow.get_state() == before
    assert flow.request.data.path is target


_KNOWS_ANOTHER_SITE = Normalizer(a_map(1, "utm_source", site="other.example"))


def test_an_error_in_the_hook_leaves_the_flow_alone_and_is_said_once(
    addon: Miqps, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> bytes:
        raise RuntimeError("secret")

    monkeypatch.setattr(Normalizer, "clean_target", broken)
    flows = [a_flow(), a_flow()]
    for flow in flows:
        addon.request(flow)
        assert flow.request.data.path == b"/p?id=7&utm_source=mail"
    said = [r for r in caplog.records if r.levelno >= logging.INFO and "hook" in r.message]
    assert [r.message for r in said] == ["miqps: RuntimeError in a hook; flows are left alone"]
    addon.done()
    assert "miqps/errors 2" in caplog.text


# Loops


def test_a_client_that_goes_in_circles_is_let_out(
    start: Callable[..., Miqps], db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start()
    assert {load(addon, a_flow()).request.data.path for _ in range(9)} == {b"/p?id=7"}
    moved = {**HTML, "Location": "/other"}
    targets = [load(addon, a_flow(status=302, answer=moved)).request.data.path for _ in range(4)]
    assert targets == [b"/p?id=7"] * 3 + [b"/p?id=7&utm_source=mail"]
    other = load(addon, a_flow(b"/p?id=8&utm_source=x"))
    assert other.request.data.path == b"/p?id=8&utm_source=x"
    said = "miqps: shop.example puts a parameter back, leaving its like alone"
    assert caplog.messages.count(said) == 1


def test_a_redirect_that_has_what_was_removed_is_a_circle_at_once(
    start: Callable[..., Miqps], db: Path
) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start()
    load(addon, a_flow(b"/p?id=1&utm_source=rec"))
    back = {**HTML, "Location": f"https://{SITE}/p?id=7&utm_source=mail"}
    assert load(addon, a_flow(status=302, answer=back)).request.data.path == b"/p?id=7"
    assert load(addon, a_flow()).request.data.path == b"/p?id=7&utm_source=mail"
    addon.done()
    # It is known at the next start, until the context was judged again.
    with Store.open(db) as store:
        (stored,) = store.corpus.contexts(SITE)
        assert stored.drifted
        assert store.signs.circling() == {(SITE, ("id", "utm_source"))}
        store.evidence.save(store.journal.begin("{}"), stored, [], [])


@pytest.mark.parametrize(
    ("asked", "closes"),
    [
        ([("a", 0), ("a", 1), ("a", 2)], [False, False, True]),
        ([("a", 0), ("b", 1), ("a", 2), ("b", 3)], [False] * 4),
        ([("a", 0), ("a", 4), ("a", 9)], [False] * 3),
        ([("a", 0), ("a", 6), ("a", 7), ("a", 8)], [False, False, False, True]),
    ],
)
def test_what_is_a_circle(asked: list[tuple[str, float]], closes: list[bool]) -> None:
    time_now = 0.0
    loops = Loops(lambda: time_now)
    found = []
    for client, time_now in asked:  # noqa: B007  # read by the clock
        where = Origin("https", SITE, 443)
        found.append(loops.closes(client, where, b"/p?a=1", b"/p", b"/elsewhere"))
    assert found == closes


# Options


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (
            "miqps_mode",
            "rewrit",
            "miqps_mode must be one of observe, dry-run, rewrite, redirect, not 'rewrit'",
        ),
        ("miqps_mode", "", "miqps_mode must be one of observe, dry-run, rewrite, redirect, not ''"),
        ("miqps_scope", "none", "miqps_scope must be one of documents, all, not 'none'"),
        ("miqps_db", "", "miqps_db must be the path of a file"),
        ("miqps_canary", 101, "miqps_canary must be a percentage from 0 to 100, not 101"),
        ("miqps_canary", -1, "miqps_canary must be a percentage from 0 to 100, not -1"),
        ("miqps_map", "a\0b", "miqps_map must be a file or an http(s) address"),
        ("miqps_map", "http:///x", "'http:///x' is no address of a map"),
        ("miqps_db", "a\0b", "miqps_db must be the path of a file"),
        ("miqps_db", "{tmp}", "miqps_db: {tmp}: not a file; choose another miqps_db"),
        ("miqps_db", "{tmp}/text", "miqps_db: {tmp}/text: file is not a database"),
        ("miqps_db", "{tmp}/text/x.db", "miqps_db: {tmp}/text/x.db: {tmp}/text is not a directory"),
    ],
)
def test_a_bad_option_is_refused_in_one_line_and_the_old_state_goes_on(
    context: taddons.context, addon: Miqps, db: Path, option: str, value: str | int, message: str
) -> None:
    (db.parent / "text").write_text("This is no database, but it is long enough to be one.\n" * 99)
    given = value.format(tmp=db.parent) if isinstance(value, str) else value
    with pytest.raises(OptionsError) as raised:
        context.configure(addon, **{option: given})
    assert str(raised.value).startswith(message.format(tmp=db.parent))
    assert "\n" not in str(raised.value)
    publish(db, a_map(1, "utm_source"))
    wait_for(lambda: addon._session.rewriter.normalizer.version == 1)
    assert load(addon, a_flow()).request.data.path == b"/p?id=7"
    addon.done()
    assert len(urls_in(db)) == 1


def test_a_missing_database_is_made_for_its_owner_only(
    context: taddons.context, addon: Miqps, tmp_path: Path
) -> None:
    other = tmp_path / "new" / "folder" / "x.db"
    context.configure(addon, miqps_db=str(other))
    load(addon, a_flow())
    addon.done()
    assert other.stat().st_mode & 0o777 == 0o600
    assert len(urls_in(other)) == 1


def test_another_database_at_run_time(
    context: taddons.context, addon: Miqps, db: Path, tmp_path: Path
) -> None:
    load(addon, a_flow(b"/p?id=1"))
    publish(tmp_path / "b.db", a_map(4, "utm_source"))
    context.configure(addon, miqps_db=str(tmp_path / "b.db"))
    assert load(addon, a_flow(b"/p?id=2&utm_source=x")).request.data.path == b"/p?id=2"
    addon.done()
    assert list(urls_in(db)) == ["https://shop.example/p?id=1"]
    assert list(urls_in(tmp_path / "b.db")) == ["https://shop.example/p?id=2&utm_source=x"]


def test_one_line_says_what_is_in_force(
    start: Callable[..., Miqps], db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publish(db, a_map(3, "utm_source"))
    addon = start()
    addon.done()
    assert f"miqps: mode rewrite, database {db}, map version 3, 1 contexts" in caplog.messages


# Counting and logging


def test_loads_are_added_up_counted_and_logged_once_a_site(
    addon: Miqps, db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        load(addon, a_flow(b"/p?id=1&q=private"))
    load(addon, a_flow(b"/p?id=2&q=private"))
    load(addon, a_flow(b"/logout?back=private"))
    load(addon, a_flow(b"/p?q=private\xe9"))
    load(addon, a_flow(status=404))
    addon.done()
    assert urls_in(db) == {
        "https://shop.example/p?id=1&q=private": 3,
        "https://shop.example/p?id=2&q=private": 1,
    }
    assert caplog.messages[-1] == (
        "miqps: done; miqps/not_recorded/deed 1, miqps/not_recorded/odd_target 1,"
        " miqps/not_recorded/status 1, miqps/recorded 4"
    )
    assert caplog.messages.count("miqps: recording shop.example") == 1
    assert not any("private" in r.message for r in caplog.records if r.levelno > logging.DEBUG)


# What the disk may do


@pytest.fixture
def a_writer(db: Path) -> Iterator[Writer]:
    Store.open(db).close()
    writer = Writer(str(db), Counters())
    writer.start()
    yield writer
    writer.stop()
    writer.join(10)


def put(writer: Writer, *targets: bytes) -> None:
    for target in targets:
        writer.put(Load(Origin("https", SITE, 443), target))


def test_a_locked_database_is_waited_for(
    a_writer: Writer, db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        put(a_writer, b"/p?id=1")
        wait_for(lambda: a_writer._failures > 2)
        put(a_writer, b"/p?id=2")
        other.execute("ROLLBACK")
    wait_for(lambda: len(urls_in(db)) == 2)
    assert sum("nothing can be recorded for now" in m for m in caplog.messages) == 1
    wait_for(lambda: f"miqps: {db}: recording again, 0 observations were lost" in caplog.messages)


def test_a_database_that_is_locked_at_the_start_does_not_stop_the_proxy(
    start: Callable[..., Miqps], db: Path
) -> None:
    publish(db, a_map(1, "utm_source"))
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        # Even readers are locked out.
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        addon = start()
        assert load(addon, a_flow()).request.data.path == b"/p?id=7&utm_source=mail"
        other.execute("ROLLBACK")
    wait_for(lambda: addon._counters["recorded"])
    wait_for(lambda: addon._session.rewriter.normalizer.version == 1)
    assert load(addon, a_flow()).request.data.path == b"/p?id=7"
    addon.done()
    assert len(urls_in(db)) == 1


def test_a_damaged_database_is_replaced_by_hand_while_running(
    a_writer: Writer, db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(a_writer, b"/p?id=1")
    wait_for(lambda: len(urls_in(db)) == 1)
    # Renamed over it: SQLite never looks again at what it has read of a file that it holds open.
    (db.parent / "nonsense").write_bytes(b"nonsense" * 4096)
    (db.parent / "nonsense").rename(db)
    put(a_writer, b"/p?id=2")
    wait_for(lambda: a_writer._failures)
    for name in db.parent.glob("miqps.db*"):
        name.rename(db.parent / f"bad-{name.name}")
    wait_for(lambda: a_writer._counters["recorded"] == 2)
    assert list(urls_in(db)) == ["https://shop.example/p?id=2"]
    assert sum("nothing can be recorded for now" in m for m in caplog.messages) == 1


def test_a_deleted_database_is_made_again(a_writer: Writer, db: Path) -> None:
    put(a_writer, b"/p?id=1")
    wait_for(lambda: len(urls_in(db)) == 1)
    for name in db.parent.glob("miqps.db*"):
        name.unlink()
    put(a_writer, b"/p?id=2")
    wait_for(lambda: a_writer._counters["recorded"] == 2)
    assert list(urls_in(db)) == ["https://shop.example/p?id=2"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1024k", "tmpfs", place], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("needs the right to mount a small file system")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_waited_for(small_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    db = small_disk / "miqps.db"
    Store.open(db).close()
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (1024 * 1024 - sum(f.stat().st_size for f in small_disk.iterdir())))
    counters = Counters()
    writer = Writer(str(db), counters)
    writer.start()
    put(writer, b"/p?id=1")
    wait_for(lambda: writer._failures > 2)
    filler.unlink()
    wait_for(lambda: counters["recorded"])
    writer.stop()
    writer.join(10)
    assert list(urls_in(db)) == ["https://shop.example/p?id=1"]
    assert "disk" in next(m for m in caplog.messages if "nothing can be recorded" in m)


def test_a_read_only_database_still_rewrites(
    start: Callable[..., Miqps], db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(db, a_map(1, "utm_source"))

    def refused(*_: object, **__: object) -> Store:
        raise StoreError("cannot be written") from sqlite3.OperationalError("readonly")

    monkeypatch.setattr(Store, "open", refused)
    addon = start()
    assert load(addon, a_flow()).request.data.path == b"/p?id=7"
    addon.done()
    assert addon._counters["lost_disk"] == 1


def test_a_full_queue_loses_the_newest_counts_them_and_says_it_once(
    db: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("miqps.addon.writer.RECORDING", Recording(queue=2, flush_seconds=0.02))
    counters = Counters()
    writer = Writer(str(db), counters)
    put(writer, *(b"/p?id=%d" % n for n in range(5)))
    assert counters["lost_queue_full"] == 3
    assert sum("are being lost" in m for m in caplog.messages) == 1
    writer.start()
    wait_for(lambda: counters["recorded"] == 2)
    writer.stop()
    writer.join(10)
    assert sorted(urls_in(db)) == ["https://shop.example/p?id=0", "https://shop.example/p?id=1"]


def test_one_observation_that_cannot_be_stored_goes_alone(db: Path) -> None:
    Store.open(db).close()
    with closing(sqlite3.connect(db)) as other:
        other.execute(
            "CREATE TRIGGER poison BEFORE INSERT ON urls WHEN new.url LIKE '%id=2'"
            " BEGIN SELECT raise(ABORT, 'poisoned'); END"
        )
    counters = Counters()
    writer = Writer(str(db), counters)
    put(writer, *(b"/p?id=%d" % n for n in range(5)), b"/p?id=2")
    writer.start()
    writer.stop()
    writer.join(10)
    assert sorted(url[-1] for url in urls_in(db)) == ["0", "1", "3", "4"]
    assert (counters["recorded"], counters["lost_unstorable"]) == (4, 2)


def test_the_end_is_not_held_up_by_a_disk_that_hangs(
    addon: Miqps, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    release, hanging = _hang(monkeypatch)
    load(addon, a_flow())
    hanging.wait(20)
    load(addon, a_flow(b"/p?id=8"))
    monkeypatch.setattr("miqps.addon.addon._DONE_SECONDS", 0.05)
    addon.done()
    assert addon._counters["lost_disk"] == 2
    assert any("2 observations may be lost" in m for m in caplog.messages)
    release.set()


def _hang(monkeypatch: pytest.MonkeyPatch) -> tuple[Event, Event]:
    release, hanging = Event(), Event()

    def hang(*_: object, **__: object) -> Store:
        hanging.set()
        release.wait(20)
        raise StoreError("gave up") from sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Store, "open", hang)
    return release, hanging


# New maps


def test_a_new_map_is_in_force_without_a_restart(
    addon: Miqps, db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert load(addon, a_flow()).request.data.path == b"/p?id=7&utm_source=mail"
    publish(db, a_map(1, "utm_source"))
    wait_for(lambda: addon._session.rewriter.normalizer.version == 1)
    assert load(addon, a_flow()).request.data.path == b"/p?id=7"
    publish(db, a_map(2))
    wait_for(lambda: addon._session.rewriter.normalizer.version == 2)
    assert load(addon, a_flow()).request.data.path == b"/p?id=7&utm_source=mail"
    assert caplog.messages.count(f"miqps: map version 2, 1 contexts, from {db}") == 1


def put_body(db: Path, version: int, body: str) -> None:
    with closing(sqlite3.connect(db)) as other, other:
        other.execute("INSERT INTO maps VALUES (?, 'now', '', ?)", [version, body])


def test_canaries_go_through_as_they_came(start: Callable[..., Miqps], db: Path) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start(miqps_canary=100)
    assert load(addon, a_flow()).request.data.path == b"/p?id=7&utm_source=mail"
    assert addon._counters["canaries"] == 1
    assert addon._counters["rewritten"] == 0
    addon.done()
    assert list(urls_in(db)) == ["https://shop.example/p?id=7&utm_source=mail"]


# Modes


def test_dry_run_changes_nothing_and_shows_what_would_go(
    start: Callable[..., Miqps], db: Path
) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start(miqps_mode="dry-run")
    flow = load(addon, a_flow())
    assert flow.request.data.path == b"/p?id=7&utm_source=mail"
    assert (flow.comment, flow.marked) == ("miqps: would remove utm_source", ":eyes:")
    assert (addon._counters["would_rewrite"], addon._counters["rewritten"]) == (1, 0)
    addon.done()
    assert "https://shop.example/p?id=7&utm_source=mail" in urls_in(db)


def test_what_was_removed_is_in_the_comment_of_the_flow(
    start: Callable[..., Miqps], db: Path
) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start()
    flow = load(addon, a_flow())
    assert (flow.comment, flow.marked) == ("miqps: removed utm_source", ":broom:")
    assert load(addon, a_flow(b"/p?id=7")).comment == ""
    mine = a_flow()
    mine.comment, mine.marked = "my own", ":heart_eyes:"
    addon.request(mine)
    assert (mine.comment, mine.marked) == ("my own", ":heart_eyes:")


def test_redirect_sends_page_loads_to_the_clean_url(start: Callable[..., Miqps], db: Path) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start(miqps_mode="redirect")

    def asked(**more: object) -> http.HTTPFlow:
        flow = a_flow(**more)  # type: ignore[arg-type]
        addon.request(flow)
        return flow

    flow = asked()
    assert flow.response
    assert flow.response.status_code == 307
    assert flow.response.headers.fields == (
        (b"Location", b"/p?id=7"), (b"Cache-Control", b"no-store"), (b"content-length", b"0")
    )  # fmt: skip
    assert flow.request.data.path == b"/p?id=7&utm_source=mail"
    assert asked(target=b"/p?id=7").response is None
    # A HEAD, and a target that a Location cannot name, are cleaned on the wire.
    for more in ({"method": b"HEAD"}, {"target": b"//p?id=7&utm_source=x"}):
        other = asked(**more)
        assert other.response is None
    assert asked(headers={"Accept": "*/*"}).response is None


def test_redirect_lets_go_only_what_may_go_from_an_address(
    start: Callable[..., Miqps], db: Path
) -> None:
    """What only page scripts read stays in the address."""
    context = Context(SITE, "/p", ("id", "utm_source"))
    verdicts = (
        Verdict("id", "important", "t"),
        Verdict("utm_source", "neutral", "t", key="important"),
    )
    site = SiteMap(SITE, (ContextVerdicts(context, verdicts),))
    publish(db, Map(1, "2026-01-01T00:00:00Z", {SITE: site}))
    addon = start(miqps_mode="redirect")
    flow = a_flow()
    addon.request(flow)
    assert flow.response is None
    assert flow.request.data.path == b"/p?id=7&utm_source=mail"


@pytest.mark.parametrize("by", ["redirect", "script"])
def test_redirect_meets_a_site_that_puts_it_back(
    start: Callable[..., Miqps], db: Path, by: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One extra request at the most, and then the site has its way."""
    publish(db, a_map(1, "utm_source"))
    addon = start(miqps_mode="redirect")
    first = a_flow()
    addon.request(first)
    assert first.response
    back = {**HTML, "Location": f"https://{SITE}/p?id=7&utm_source=mail"}
    clean = a_flow(b"/p?id=7", **({"status": 302, "answer": back} if by == "redirect" else {}))
    assert load(addon, clean).request.data.path == b"/p?id=7"
    again = a_flow()
    addon.request(again)
    assert again.response is None
    assert again.request.data.path == b"/p?id=7&utm_source=mail"
    other = a_flow(b"/p?id=8&utm_source=x")
    addon.request(other)
    assert other.response is None
    assert addon._counters["loops"] == 1
    assert caplog.text.count("puts a parameter back") == 1


def test_all_reads_of_a_site_may_be_in_scope(
    start: Callable[..., Miqps], db: Path, context: taddons.context
) -> None:
    publish(db, a_map(1, "utm_source"))
    script = {"Accept": "*/*", "Sec-Fetch-Dest": "script"}
    addon = start()
    assert load(addon, a_flow(headers=script)).request.data.path == b"/p?id=7&utm_source=mail"
    context.configure(addon, miqps_scope="all")
    assert load(addon, a_flow(headers=script)).request.data.path == b"/p?id=7"
    post = a_flow(method=b"POST")
    assert load(addon, post).request.data.path == b"/p?id=7&utm_source=mail"
    upgrade = a_flow(headers={**script, "Upgrade": "websocket"})
    assert load(addon, upgrade).request.data.path == b"/p?id=7&utm_source=mail"


def test_lists_are_trusted_when_asked_to(start: Callable[..., Miqps], db: Path) -> None:
    rules = '{"providers": {"all": {"urlPattern": ".*", "rules": ["utm_source", "id"]}}}'
    publish(db, a_map(1))
    with Store.open(db) as store:
        store.lists.put(StoredList("rules", "clearurls", "", rules))
    addon = start(miqps_trust_lists=True)
    # What was learned to matter stays; of what nobody knows the list decides.
    assert load(addon, a_flow()).request.data.path == b"/p?id=7&utm_source=mail"
    unknown = b"/q?id=7&other=1"
    wait_for(lambda: load(addon, a_flow(unknown)).request.data.path == b"/q?other=1")


def test_a_canary_that_shows_something_else_makes_its_context_due(
    start: Callable[..., Miqps], db: Path, context: taddons.context
) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start()

    def visit(text: str) -> None:
        flow = a_flow()
        flow.metadata["body"] = text.encode()
        load(addon, flow)

    visit("a shop of tea, of coffee and of cups for both, in a quiet street by the river")
    context.configure(addon, miqps_canary=100)
    visit("the winter sale of boots begins on Monday at nine, with coats at half the price")
    addon.done()
    assert addon._counters["drifted"] == 1
    with Store.open(db) as store:
        (stored,) = store.corpus.contexts(SITE)
    assert stored.drifted


@pytest.mark.parametrize("body", ["", "{", "[]", '{"format": "miqps-map/9"}', "\0"])
def test_a_broken_map_never_replaces_a_good_one(
    db: Path, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    publish(db, a_map(1, "utm_source"))
    watcher = Watcher(str(db), lambda normalizer: None)
    assert watcher.look().version == 1
    put_body(db, 2, body)
    assert [watcher.look() for _ in range(9)] == [None] * 9
    assert sum("a map is left out" in m for m in caplog.messages) == 1
    publish(db, a_map(3))
    assert watcher.look().version == 3


def test_a_broken_map_at_the_start_does_not_stop_recording(
    start: Callable[..., Miqps], db: Path
) -> None:
    Store.open(db).close()
    put_body(db, 1, "{")
    addon = start()
    load(addon, a_flow())
    addon.done()
    assert len(urls_in(db)) == 1


def test_files_that_come_go_and_are_replaced(
    db: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watcher = Watcher(str(db), lambda normalizer: None)
    assert watcher.look() is None
    publish(db, a_map(5, "utm_source"))
    assert watcher.look().version == 5
    assert watcher.look() is None
    db.unlink()
    assert watcher.look() is None
    publish(tmp_path / "other.db", a_map(5, day=2))
    (tmp_path / "other.db").rename(db)
    assert watcher.look().version == 5
    db.write_bytes(b"nonsense" * 999)
    assert [watcher.look() for _ in range(3)] == [None] * 3
    assert sum("a map is left out" in m for m in caplog.messages) == 1


# The name clash


def test_the_script_finds_the_package_and_loads_again() -> None:
    path = str(Path(__file__).parent.parent / "addons" / "miqps.py")
    before = list(sys.path)
    with mitmproxy_context():
        script = Script(path, reload=False)
        first = script.ns
        script.loadscript()
    assert [type(module.addons[0]) for module in (first, script.ns)] == [Miqps, Miqps]
    assert script.ns is not first
    assert len(sys.path) <= len(before) + 1
    sys.path[:] = before
