"""Whether and when a URL may be asked for, with a clock that the test turns."""

from __future__ import annotations

import time

from protego import Protego

from miqps.admission import Admission, Refused
from miqps.politeness import Turnstile
from miqps.robots import Robots, RobotsFile

SITE = "shop.example"
URL = "http://shop.example/p?id=1"


def admission(text: str = "", unreadable: str = "", delay: float = 1) -> Admission:
    file = RobotsFile(Protego.parse(text), unreadable)
    return Admission(Turnstile(delay), Robots("me", read=lambda *_: file))


def come(door: Admission, now: float) -> dict[str, str]:
    """Wait until robots.txt has come, which takes no time on the test's clock."""
    unreadable: dict[str, str] = {}
    until = time.monotonic() + 30
    while door.awaits() and time.monotonic() < until:
        unreadable |= door.finished(now)
        time.sleep(0.001)
    return unreadable


def test_robots_txt_is_read_first_and_takes_a_turn() -> None:
    door = admission("User-agent: *\nDisallow: /q\nCrawl-delay: 7\n", delay=3)
    assert door.ask(SITE, URL, 100) is None
    assert door.ask(SITE, URL, 100) is None, "it is asked for once"
    assert come(door, 101) == {}
    assert door.ask(SITE, URL, 101) == 7
    assert door.ask(SITE, URL, 108) == 0
    assert door.ask(SITE, "http://shop.example/q?id=1", 101) == Refused("robots.txt disallows it")


def test_each_scheme_and_port_has_its_own_file() -> None:
    door = admission(delay=0)
    for url in (URL, URL.replace("http:", "https:")):
        assert door.ask(SITE, url, 100) is None
        assert door.awaits()
        come(door, 100)
        assert door.ask(SITE, url, 100) == 0


def test_hosts_of_a_domain_wait_for_each_others_robots_txt() -> None:
    door = admission()
    assert door.ask(SITE, URL, 100) is None
    assert door.ask("www." + SITE, "http://www.shop.example/p?id=1", 100) is None
    come(door, 100)
    assert door.ask("www." + SITE, "http://www.shop.example/p?id=1", 100) == 1


def test_a_site_whose_file_cannot_be_read_is_named() -> None:
    door = admission(unreadable="status 503")
    door.ask(SITE, URL, 100)
    assert come(door, 100) == {SITE: "robots.txt: status 503"}
    assert isinstance(door.ask(SITE, URL, 200), Refused)


def test_what_no_robots_txt_can_be_asked_for_is_the_browsers_to_refuse() -> None:
    door = admission()
    assert door.ask("", "ftp://shop.example/p?id=1", 100) == 0
    assert not door.awaits()


def test_without_robots_only_the_pause_is_kept() -> None:
    turnstile = Turnstile(1)
    door = Admission(turnstile)
    assert door.ask(SITE, URL, 100) == 0
    turnstile.enter(SITE)
    assert door.ask(SITE, URL, 100) is None
    turnstile.leave(SITE, 100)
    assert door.ask(SITE, URL, 100.5) == 0.5
    assert not door.awaits()
    assert door.finished(100) == {}
