"""When a site is asked again, with a clock that the test turns."""

from __future__ import annotations

import pytest

from miqps.politeness import Turnstile, on_loopback
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
    gate = Turnstile(delay=1)
    gate.enter(NEAR)
    gate.enter(NEAR)
    gate.leave(NEAR, now=10)
    opens_at = gate.opens_at(NEAR)
    assert opens_at is not None
    assert opens_at <= 10


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
