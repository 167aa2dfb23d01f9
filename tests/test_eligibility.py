"""What may become a sample: a table of cases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import settings, urls
from miqps.eligibility import unfit

TOO_LONG = "https://shop.example/p?q=" + "a" * settings.CORPUS.url_length
TOO_LONG_IN_BYTES = "https://shop.example/p?q=" + "é" * (settings.CORPUS.url_length // 2)


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/p?id=7",
        "http://shop.example/p?id=7",
        "HTTP://SHOP.EXAMPLE/p?id=7",
        "https://shop.example:8443/?a",
        "https://shop.example?a=1",
        "http://[2001:db8::1]:8080/p?a=1",
        "http://127.0.0.1:5000/p?a=1",
        "https://münchen.example/p?a=1",
        "https://shop.example/p?q=é€&b=%zz",
        "https://shop.example/p?=5",
        "https://shop.example/p?a=1#part",
        "https://shop.example/p?to=me@mail.example",
    ],
)
def test_fit(url: str) -> None:
    assert unfit(url) is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "not http or https"),
        ("shop.example/p?a=1", "not http or https"),
        ("//shop.example/p?a=1", "not http or https"),
        ("ftp://shop.example/p?a=1", "not http or https"),
        ("javascript:alert(1)?a=1", "not http or https"),
        ("file:///etc/passwd?a=1", "not http or https"),
        ("https://?a=1", "no valid host"),
        ("https://shop.example:99999/p?a=1", "no valid host"),
        ("https://sh\\op.example/p?a=1", "no valid host"),
        ("https://me:secret@shop.example/p?a=1", "password in the address"),
        ("https://me@shop.example?a=1", "password in the address"),
        ("https://shop.example/p", "no named parameter"),
        ("https://shop.example/p?", "no named parameter"),
        ("https://shop.example/p?&&", "no named parameter"),
        ("https://shop.example/p#?a=1", "no named parameter"),
        ("https://shop.example/p?a=\udce9", "not text"),
        ("https://shop.example/p?a=b c", "control character or space"),
        ("https://shop.example/p?a=\x00", "control character or space"),
        ("https://shop.example/p?a=\x7f", "control character or space"),
        ("https://shop.example/p?a=\x85", "control character or space"),
        ("https://shop.example/p?a=\u2028", "control character or space"),
        ("https://shop.example/p\t?a=1", "control character or space"),
        (" https://shop.example/p?a=1", "control character or space"),
        (TOO_LONG, "too long"),
        (TOO_LONG_IN_BYTES, "too long"),
        ("https://id.example/authorize?client_id=a&redirect_uri=b&response_type=code", "oauth"),
        ("https://cdn.example/f?X-Amz-Signature=ab%2Fcd", "signature"),
        ("https://shop.example/password-reset?id=5", "password reset"),
        ("https://shop.example/logout?back=home", "deed"),
        ("https://shop.example/cart?action=delete&item=5", "deed"),
    ],
    ids=lambda value: value[:40].encode("unicode_escape").decode(),
)
def test_unfit(url: str, reason: str) -> None:
    assert unfit(url) == reason


def test_a_url_of_just_the_longest_length_is_fit() -> None:
    longest = TOO_LONG[: settings.CORPUS.url_length]
    assert unfit(longest) is None
    assert unfit(longest + "a") == "too long"


@given(st.text() | st.text().map("https://shop.example/p?".__add__))
def test_what_is_fit_has_a_context_and_can_be_stored(url: str) -> None:
    if unfit(url) is None:
        assert urls.context_of(url) is not None
        assert url.encode().decode() == url
