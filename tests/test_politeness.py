"""When a site is asked again, with a clock that the test turns."""

from __future__ import annotations

import pytest

from miqps.politeness import Turnstile, on_loopback, turn_of
from miqps.settings import Politeness

FAR, NEAR = "shop.example", "127.0.0.1:8000"


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("127.0.0.1:8000", True),
        ("127.8.8.8", True),
        ("[::1]:8000", True),
        ("[::1]", True),
        ("localhost", True),
        ("shop.localhost:80", True),
        ("10.0.0.1", False),
        ("127.0.0.1.example", False),
        ("localhost.example:80", False),
    ],
)
def test_loopback(site: str, expected: bool) -> None:
    assert on_loopback(site) is expected


def test_one_at_a_time_and_a_pause_between() -> None:
    gate = Turnstile(delay=1)
    assert gate.opens_at(FAR) == 0
    gate.enter(FAR)
    assert gate.opens_at(FAR) is None
    gate.leave(FAR, now=10)
    assert gate.opens_at(FAR) == 11


def test_loopback_is_asked_as_fast_as_it_answers() -> None:
    gate = Turnstile()
    gate.enter(NEAR)
    gate.enter(NEAR)
    gate.leave(NEAR, now=10)
    opens_at = gate.opens_at(NEAR)
    assert opens_at is not None
    assert opens_at <= 10


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("shop.example", "shop.example"),
        ("www.shop.example:8443", "shop.example"),
        ("a.b.c.shop.co.uk", "shop.co.uk"),
        ("shop.example.", "shop.example"),
        ("www.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("ann.github.io", "ann.github.io"),
        ("deep.ann.github.io", "ann.github.io"),
        ("co.uk", "co.uk"),
        ("intranet:8000", "intranet"),
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1:8000", "10.0.0.1"),
        ("[2001:db8::1]:8000", "[2001:db8::1]"),
        ("localhost:8000", "localhost"),
    ],
)
def test_whose_turn_it_is(site: str, expected: str) -> None:
    assert turn_of(site) == expected


def test_hosts_of_a_domain_and_ports_of_a_host_take_turns() -> None:
    gate = Turnstile(delay=1)
    for one, other in ((FAR, "www.shop.example:8443"), ("10.0.0.1", "10.0.0.1:8000")):
        gate.enter(one)
        assert gate.opens_at(other) is None
        gate.leave(one, now=10)
        assert gate.opens_at(other) == 11
    assert gate.opens_at("10.0.0.2") == 0


def test_a_delay_that_is_wanted_holds_on_loopback_too() -> None:
    gate = Turnstile(delay=2)
    gate.enter(NEAR)
    assert gate.opens_at(NEAR) is None
    gate.leave(NEAR, now=10)
    assert gate.opens_at(NEAR) == 12


@pytest.mark.parametrize(
    ("delay", "site", "wanted", "expected"),
    [(None, FAR, 0, 1), (None, FAR, 5, 5), (7, FAR, 5, 7), (0, FAR, 0, 0), (None, NEAR, 0, 0),
     (None, NEAR, 5, 5), (None, FAR, 86_400, 60), (90, FAR, 86_400, 90)],
)  # fmt: skip
def test_the_longer_pause_is_kept_within_reason(
    delay: float | None, site: str, wanted: float, expected: float
) -> None:
    gate = Turnstile(delay)
    gate.slow_down(site, wanted)
    gate.slow_down(site, 0)
    assert gate.pause(site) == expected


def test_a_site_that_answers_again_is_not_held_to_what_it_refused() -> None:
    gate = Turnstile(rules=Politeness(backoff=60, max_backoffs=1))
    assert gate.refused(FAR, 100, None)
    gate.answered(FAR)
    assert gate.refused(FAR, 300, None)
    assert gate.opens_at(FAR) == 360


def test_an_impatient_retry_after_does_not_shorten_the_pause() -> None:
    gate = Turnstile(delay=5)
    assert gate.refused(FAR, 100, 0)
    assert gate.opens_at(FAR) == 105


@pytest.mark.parametrize("site", [FAR, NEAR])
def test_a_site_that_refuses_is_left_alone_for_as_long_as_it_asks(site: str) -> None:
    gate = Turnstile(rules=Politeness(backoff=60, max_backoffs=3))
    opened = []
    for retry_after in (None, None, 7.0):
        assert gate.refused(site, 100, retry_after)
        opened.append(gate.opens_at(site))
    assert opened == [160, 220, 107]
    assert not gate.refused(site, 100, None)


def test_a_site_that_asks_for_hours_is_given_up_for_this_run() -> None:
    gate = Turnstile()
    assert not gate.refused(FAR, 100, 7_200)
    assert gate.opens_at(FAR) == 0
