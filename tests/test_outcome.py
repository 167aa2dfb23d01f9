"""The name of an outcome follows from what was seen; ordinary pages are never swallowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from miqps.browser.outcome import Sight, name, retry_after, same_place
from tests.looks import leaf

ASKED = "https://site.test/p/17?a=1"
LONG = "An ordinary sentence about nothing in particular. " * 40


def sight(title: str = "", heading: str = "", text: str = "", **more: object) -> Sight:
    leaves = [leaf("/html/body[1]/p[1]/#text[1]", text)]
    if heading:
        leaves.insert(0, leaf("/html/body[1]/h1[1]/#text[1]", heading))
    plain = Sight(ASKED, ASKED, 200, "text/html", title=title, leaves=tuple(leaves))
    return replace(plain, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (sight(text="hello"), "seen"),
        (sight(dialog="alert"), "dialog"),
        (sight(download=True), "download"),
        (sight(failure="net::ERR_ABORTED"), "download"),
        (sight(type="application/pdf"), "download"),
        (sight(status=None), "unreachable"),
        (sight(status=None, failure="net::ERR_NAME_NOT_RESOLVED"), "unreachable"),
        (sight(failure="net::ERR_CONNECTION_RESET"), "unreachable"),
        (sight(status=302, failure="net::ERR_TOO_MANY_REDIRECTS"), "unreachable"),
        (sight(status=204, failure="net::ERR_ABORTED"), "status"),
        (sight(status=404), "status"),
        (sight(status=500, failure="net::ERR_HTTP_RESPONSE_CODE_FAILURE"), "status"),
        (sight(status=429, title="Just a moment..."), "throttled"),
        (sight(status=503), "throttled"),
        (sight(status=503, title="Just a moment..."), "challenge"),
        (sight(status=403, title="Attention Required! | Cloudflare"), "challenge"),
        (sight(text="Checking your browser before accessing site.test"), "challenge"),
        (sight(heading="Verify you are human", text="by completing the action below"), "challenge"),
        (sight(title="Access denied"), "challenge"),
        (sight(title="Sign in - Site", passwords=1), "login"),
        (sight(heading="Anmeldung", passwords=1), "login"),
        (sight(passwords=1, final_url="https://site.test/login?next=/p/17"), "login"),
        (sight(title="Before you continue", text="cookies. Accept all / Reject all"), "consent"),
        (sight(text="I agree", final_url="https://consent.site.test/x?to=p"), "consent"),
        (sight(title="Page not found"), "not-found"),
        (sight(heading="Sorry, this product is no longer available"), "not-found"),
        (sight(heading="Seite nicht gefunden"), "not-found"),
        (sight(final_url="https://site.test/"), "redirected"),
        (sight(final_url="https://other.test/p/17"), "redirected"),
        (sight(final_url="https://site.test/p/17?b=2#top"), "seen"),
        (sight(uniform=True), "blank"),
    ],
)
def test_named(seen: Sight, outcome: str) -> None:
    named, reason = name(seen)
    assert named == outcome
    assert (reason == "") == (outcome == "seen")
    assert "\n" not in reason


@pytest.mark.parametrize(
    "seen",
    [
        sight(title="How captchas work", heading="Verify you are human: a history", text=LONG),
        sight(title="A lamp", text="A lamp. 19.99. Log in Password Forgot?", passwords=1),
        sight(title="A lamp", heading="A lamp", text="This site uses cookies. Accept. 19.99"),
        sight(title="Route 404 to Nowhere", text=LONG),
        sight(title="Log in to win: a novel", text=LONG, passwords=1),
        sight(title="Search", text="Your search gave no results"),
        sight(title="A moment of peace", heading="Just music"),
    ],
)
def test_ordinary_pages_are_seen(seen: Sight) -> None:
    assert name(seen) == ("seen", "")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("http://a.test/x", "https://a.test/x", True),
        ("https://a.test/x", "https://www.a.test/x/", True),
        ("https://a.test", "https://a.test/", True),
        ("https://a.test:443/x", "https://a.test/x", True),
        ("https://A.test/%7Ex%2f", "https://a.test/~x%2F", True),
        ("https://a.test/x?a=1", "https://a.test/x?b=2#c", True),
        ("https://a.test:8080/x", "https://a.test/x", False),
        ("https://a.test/x", "https://a.test/X", False),
        ("https://a.test/x", "https://a.test/x/y", False),
        ("https://a.test/x", "https://a.test/x//", False),
        ("https://a.test/x", "https://b.a.test/x", False),
        ("https://a.test/x", "about:blank", False),
        ("https://a.test/x", "http://[", False),
    ],
)
def test_same_place(a: str, b: str, same: bool) -> None:
    assert same_place(a, b) is same
    assert same_place(b, a) is same


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("120", 120.0),
        (" 0 ", 0.0),
        ("-5", None),
        ("soon", None),
        ("99999999999", None),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, now=100.0) == seconds
