"""What the addon records: bodies for their links, API calls apart, and the user's wishes."""

# ruff: noqa: F811  # fixtures of another file are arguments here

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.exceptions import OptionsError
from mitmproxy.flow import Error
from mitmproxy.test import taddons

from miqps.addon import Miqps
from miqps.addon.navigation import not_an_api_call
from tests.test_addon import (  # noqa: F401  # fixtures among them
    HTML,
    PAGE,
    a_flow,
    answered,
    context,
    db,
    fast,
    start,
    urls_in,
    wait_for,
)

SHOP = "https://shop.example"
LISTING = b'<title>Shelf</title><a href="/p?id=1">1</a><a href="/p?id=2">2</a>'
JSON = {"Content-Type": "application/json"}
FETCHING = {"Accept": "*/*", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors"}


def passed(addon: Miqps, flow: http.HTTPFlow, body: bytes = b"") -> http.HTTPFlow:
    """Send a flow through all hooks."""
    flow.metadata["body"] = body
    addon.request(flow)
    addon.responseheaders(answered(flow))
    addon.response(flow)
    return flow


def kinds(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute(
            "SELECT u.url, c.kind FROM urls u JOIN contexts c ON c.id = u.context_id"
        )
        return dict(rows.fetchall())


def test_a_page_gives_its_links(start: Callable[..., Miqps], db: Path) -> None:
    addon = start()
    passed(addon, a_flow(b"/shelf"), LISTING)
    passed(addon, a_flow(b"/shelf?page=2"), LISTING)
    addon.done()
    assert urls_in(db) == {f"{SHOP}/p?id=1": 0, f"{SHOP}/p?id=2": 0, f"{SHOP}/shelf?page=2": 1}


def test_a_compressed_page_gives_its_links(start: Callable[..., Miqps], db: Path) -> None:
    addon = start()
    flow = a_flow(b"/shelf", answer=HTML)
    addon.request(flow)
    answered(flow)
    flow.response.content = LISTING
    flow.response.encode("gzip")
    addon.responseheaders(flow)
    addon.response(flow)
    addon.done()
    assert set(urls_in(db)) == {f"{SHOP}/p?id=1", f"{SHOP}/p?id=2"}


def test_a_streamed_page_and_one_that_breaks_off_count_without_links(
    start: Callable[..., Miqps],
    db: Path,
) -> None:
    addon = start()
    streamed = answered(a_flow(b"/p?id=1"))
    streamed.response.stream = True
    addon.responseheaders(streamed)
    wait_for(lambda: db.exists() and urls_in(db))
    addon.response(streamed)
    broken = answered(a_flow(b"/p?id=2"))
    addon.responseheaders(broken)
    broken.error = Error("connection lost")
    addon.error(broken)
    addon.done()
    assert urls_in(db) == {f"{SHOP}/p?id=1": 1, f"{SHOP}/p?id=2": 1}
    assert broken.metadata.keys() <= {"answer", "body"}


@pytest.mark.parametrize(
    ("headers", "method", "status", "answer", "reason"),
    [
        (FETCHING, b"GET", 200, JSON, None),
        ({"Accept": "*/*"}, b"GET", 200, JSON, None),
        (FETCHING, b"GET", 200, {"Content-Type": "application/ld+json; charset=utf-8"}, None),
        (FETCHING, b"POST", 200, JSON, "method"),
        (FETCHING, b"GET", 404, JSON, "status"),
        (FETCHING, b"GET", 200, HTML, "no json"),
        (FETCHING | {"Authorization": "Bearer x"}, b"GET", 200, JSON, "authorization"),
        (FETCHING | {"Sec-Fetch-Dest": "image"}, b"GET", 200, JSON, "no call"),
        (FETCHING | {"User-Agent": "miqps-prober/1"}, b"GET", 200, JSON, "prober"),
    ],
)
def test_which_api_calls(
    headers: dict[str, str], method: bytes, status: int, answer: dict[str, str], reason: str | None
) -> None:
    flow = answered(a_flow(b"/api?id=1", headers, method=method, status=status, answer=answer))
    assert not_an_api_call(flow.request, flow.response) == reason


def test_api_calls_are_recorded_apart_when_asked_for(
    start: Callable[..., Miqps],
    context: taddons.context,
    db: Path,
) -> None:
    addon = start()
    passed(addon, a_flow(b"/api?id=1", FETCHING, answer=JSON))
    context.configure(addon, miqps_record_api=True)
    passed(addon, a_flow(b"/api?id=2", FETCHING, answer=JSON))
    passed(addon, a_flow(b"/api", FETCHING, answer=JSON))
    passed(addon, a_flow(b"/p?id=3"))
    addon.done()
    assert kinds(db) == {f"{SHOP}/api?id=2": "api", f"{SHOP}/p?id=3": "page"}


@pytest.mark.parametrize(
    ("options", "recorded"),
    [
        ({}, {"shop.example"}),
        ({"miqps_record": "off"}, set()),
        ({"miqps_record": "counts"}, set()),
        ({"miqps_allow_hosts": ["*.example"]}, {"shop.example"}),
        ({"miqps_allow_hosts": ["other.example", "SHOP.example"]}, {"shop.example"}),
        ({"miqps_allow_hosts": ["other.example"]}, set()),
        ({"miqps_ignore_hosts": ["shop.*"]}, set()),
        ({"miqps_allow_hosts": ["*"], "miqps_ignore_hosts": ["*.example"]}, set()),
    ],
)
def test_wishes(
    start: Callable[..., Miqps],
    db: Path,
    options: dict[str, object],
    recorded: set[str],
) -> None:
    addon = start(**options)
    passed(addon, a_flow(b"/p?id=1"), LISTING)
    addon.done()
    assert {url.split("/")[2] for url in (urls_in(db) if db.exists() else ())} == recorded


def test_wishes_may_change_at_run_time(
    start: Callable[..., Miqps],
    context: taddons.context,
    db: Path,
) -> None:
    addon = start(miqps_ignore_hosts=["*"])
    passed(addon, a_flow(b"/p?id=1"))
    wait_for(lambda: addon._counters["not_recorded/ignored_host"])
    context.configure(addon, miqps_ignore_hosts=[])
    passed(addon, a_flow(b"/p?id=2"))
    addon.done()
    assert list(urls_in(db)) == [f"{SHOP}/p?id=2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"miqps_allow_hosts": ["https://shop.example"]}, "is no host"),
        ({"miqps_ignore_hosts": [""]}, "is no host"),
        ({"miqps_retention": -1}, "miqps_retention must be"),
        ({"miqps_record": "all"}, "miqps_record must be one of"),
        ({"miqps_harvest": "none"}, "miqps_harvest must be one of"),
    ],
)
def test_wrong_wishes_are_refused_in_one_line(
    start: Callable[..., Miqps],
    context: taddons.context,
    options: dict[str, object],
    message: str,
) -> None:
    addon = start()
    with pytest.raises(OptionsError, match=message) as raised:
        context.configure(addon, **options)
    assert "\n" not in str(raised.value)
    addon.done()


def test_what_others_send_is_not_changed(start: Callable[..., Miqps], db: Path) -> None:
    addon = start()
    flow = answered(a_flow(b"/p?id=1", PAGE))
    before = flow.get_state()
    addon.responseheaders(flow)
    addon.response(flow)
    addon.error(flow)
    assert flow.get_state() == before
