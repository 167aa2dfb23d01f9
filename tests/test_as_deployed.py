"""What a proxy takes out below the page: in real browsers, in the judge and in the map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from miqps import query, urls
from miqps.browser import Browser
from miqps.browser.driver import Kind
from miqps.mapping import ContextVerdicts, Map, SiteMap
from miqps.normalizer import Normalizer
from miqps.page import Page
from miqps.settings import JUDGING
from miqps.trial import CONTENT_CHANGED, Trial
from miqps.urls import Context
from miqps.weighing import weigh
from tests.imagined import World, judged, page, reads
from tests.pages import Request, Server, site
from tests.test_browser import kinds

WIRE_ONLY = replace(JUDGING, wire_only=True)
VISITS = [f"/p?id={n}&tab=t{n}&ref=r{n}" for n in range(6)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with site() as running:
        yield running


# --- the browser --------------------------------------------------------------------------------


@kinds
def test_the_server_is_asked_for_less_than_the_page_sees(server: Server, kind: Kind) -> None:
    asked: list[str] = []

    def shown(request: Request) -> None:
        asked.append(request.path)
        request.html(
            "<h1></h1><script>document.querySelector('h1').textContent = location.search;"
            "fetch('/rows?tag=1')</script>",
            Set_Cookie="a=1",
        )

    server.pages = {
        "/p": shown,
        "/rows": lambda r: (asked.append(r.path), r.html("rows"))[1],
        "/old": lambda r: r.html("", 302, Location="/p?tag=back"),
        "/gone": lambda r: r.html("gone", 404),
    }
    with Browser(kind=kind) as browser:
        full = server.url("/p?id=1&tag=2#part")
        seen = browser.render(full, server.url("/p?id=1#part"))
        assert asked == ["/p?id=1", "/rows?tag=1"]
        assert (seen.outcome, seen.final_url, seen.text) == ("seen", full, "?id=1&tag=2")
        assert seen.cookies == {"a@127.0.0.1": "1"}

        asked.clear()
        assert browser.render(full).text == "?id=1&tag=2", "the next visit is as it was"
        assert asked == ["/p?id=1&tag=2", "/rows?tag=1"]

        moved = browser.render(server.url("/old?id=1&tag=2"), server.url("/old?id=1"))
        assert [hop.url for hop in moved.hops][1:] == [server.url("/p?tag=back")]
        gone = browser.render(server.url("/gone?tag=1"), server.url("/gone"))
        assert (gone.outcome, gone.status) == ("status", 404)


# --- the judge ----------------------------------------------------------------------------------


def verdicts(world: World, visits: list[str] = VISITS) -> dict[str, tuple[str, str]]:
    """Name -> what holds on the wire, what holds in a key."""
    found = judged(world, visits, rules=WIRE_ONLY).verdicts
    return {v.name: (v.decision, v.in_key) for v in found}


def test_what_holds_for_the_address_mostly_holds_on_the_wire() -> None:
    assert verdicts(World(reads("id"))) == {
        "id": ("important", "important"),
        "ref": ("neutral", "neutral"),
        "tab": ("neutral", "neutral"),
    }


def test_a_name_that_only_scripts_read_may_go_on_the_wire() -> None:
    def scripts(url: str, shown: Page) -> Page:
        return replace(shown, title=f"{shown.title} tab {query.values(url, 'tab')}")

    world = World(lambda url, visit: f"{urls.path(url)} hello", scripts)
    found = verdicts(world, [f"/p?tab=t{n}&ref=r{n}" for n in range(6)])
    assert found["tab"] == ("neutral", "important")
    assert found["ref"][1] == "neutral"


def test_what_only_scripts_read_stays_where_nobody_asked_for_it_to_go() -> None:
    def scripts(url: str, shown: Page) -> Page:
        return replace(shown, title=f"{shown.title} tab {query.values(url, 'tab')}")

    world = World(lambda url, visit: f"{urls.path(url)} hello", scripts)
    found = {v.name: v for v in judged(world, [f"/p?tab=t{n}" for n in range(6)]).verdicts}
    assert (found["tab"].decision, found["tab"].key) == ("important", None)


def test_a_name_that_server_and_scripts_must_agree_on_stays_on_the_wire() -> None:
    """Without it the shorter address is fine; with it only in the address the page complains."""

    def served(url: str, visit: int) -> str:
        return f"{urls.path(url)} {query.values(url, 'id')} served-{query.values(url, 'tab')}"

    def scripts(url: str, shown: Page) -> Page:
        text, _, tab = shown.title.rpartition(" served-")
        agrees = tab == str(query.values(url, "tab"))
        return replace(shown, title=text if agrees else f"{text} please reload")

    found = verdicts(World(served, scripts))
    assert found["tab"] == ("important", "neutral")
    assert found["ref"] == ("neutral", "neutral")
    assert found["id"] == ("important", "important")


def test_a_name_that_the_server_puts_back_is_not_taken_for_one_of_the_scripts() -> None:
    def back(url: str, visit: int) -> Page:
        final = url
        if "/p" in url and not query.values(url, "tab"):
            final = f"{url}{'&' if '?' in url else '?'}tab=new"
        return page(url, f"{urls.path(url)} same", final_url=final)

    assert verdicts(World(back))["tab"] == ("important", "important")


def test_few_values_on_the_wire_are_no_proof() -> None:
    def trials(count: int) -> list[Trial]:
        url = "http://a/p?tab={}"
        changed = Trial(url.format(0), frozenset({"tab"}), "different", CONTENT_CHANGED, "tab")
        wire = [
            Trial(url.format(n), frozenset({"tab"}), "same", on_wire=True) for n in range(count)
        ]
        return [changed, *wire]

    for count, decision in ((2, "important"), (3, "neutral")):
        (verdict,) = weigh(("tab",), trials(count), JUDGING)
        assert (verdict.decision, verdict.in_key) == (decision, "important")


# --- the map ------------------------------------------------------------------------------------


def test_the_proxy_and_a_key_use_what_is_theirs() -> None:
    def scripts(url: str, shown: Page) -> Page:
        return replace(shown, title=f"{shown.title} tab {query.values(url, 'tab')}")

    world = World(lambda url, visit: f"{urls.path(url)} hello", scripts)
    found = judged(world, [f"/p?tab=t{n}&gclid=r{n}" for n in range(6)], rules=WIRE_ONLY)
    context = Context("shop.example", "/p", ("gclid", "tab"))
    map_ = Map(1, "", {"shop.example": SiteMap("shop.example", (
        ContextVerdicts(context, found.verdicts),))})  # fmt: skip
    url = "http://shop.example/p?tab=1&gclid=2"
    assert Normalizer(map_, on_wire=True).clean(url) == "http://shop.example/p"
    assert Normalizer(map_).clean(url) == "http://shop.example/p?tab=1"
    assert Normalizer(map_).key(url) == "http://shop.example/p?tab=1"
