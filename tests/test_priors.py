"""What hand-kept lists say: read as those who keep them mean it, and never believed by itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps.formats import adguard, clean_param, clearurls, no_vary_search
from miqps.formats.exporting import export
from miqps.priors import Priors
from tests.exported_map import SHOP, the_map

FILTER = r"""
! Title: a list
||shop.example^$removeparam=ref
$removeparam=fbclid
@@||bank.example^$removeparam=fbclid
||video.example/watch$removeparam=si,domain=~x.example
$removeparam=/^utm_[a-z]+=/
$removeparam=yclid,domain=a.example|b.example
||api.example^$xmlhttprequest,removeparam=t
||all.example^$removeparam
$removeparam=~id
/^https?:\/\/old\.example\/p/$document,removeparam=s
|https://exact.example/|$removeparam=e
||ads.example^
example.com##.ad
"""


@pytest.mark.parametrize(
    ("url", "name", "is_said"),
    [
        ("https://shop.example/p", "ref", True),
        ("https://www.shop.example/p", "ref", True),
        ("https://noshop.example/p", "ref", False),
        ("https://shop.example/p", "REF", False),
        ("https://any.example/", "fbclid", True),
        ("https://bank.example/", "fbclid", False),
        ("https://any.example/", "utm_source", True),
        ("https://any.example/", "utm_Source", False),
        ("https://any.example/", "xutm_source", False),
        ("https://www.a.example/", "yclid", True),
        ("https://c.example/", "yclid", False),
        ("https://video.example/watch", "si", False),
        ("https://api.example/", "t", False),
        ("https://all.example/", "x", False),
        ("https://old.example/p/1", "s", True),
        ("https://exact.example/", "e", True),
        ("https://exact.example/x", "e", False),
    ],
)
def test_filter_lists(url: str, name: str, is_said: bool) -> None:
    listed = adguard.read(FILTER, "a list")
    assert (Priors(listed.priors).says(url, name) is not None) == is_said
    assert listed.passed_over == 4


RULES = {
    "providers": {
        "shop": {
            "urlPattern": r"^https?:\/\/(?:[a-z0-9-]+\.)*?shop\.example",
            "rules": ["ref(?:errer)?", "utm_[a-z]*"],
            "referralMarketing": ["tag"],
            "exceptions": [r"^https?:\/\/shop\.example\/login"],
            "redirections": [r"url=(.*)"],
            "completeProvider": False,
        },
        "javascript": {"urlPattern": r"(?<x>a)(?<x>b)", "rules": ["a"]},
    }
}


@pytest.mark.parametrize(
    ("url", "name", "is_said"),
    [
        ("https://shop.example/p", "ref", True),
        ("https://www.shop.example/p", "referrer", True),
        ("https://shop.example/p", "UTM_Source", True),
        ("https://shop.example/p", "tag", True),
        ("https://shop.example/p", "xref", False),
        ("https://shop.example/login", "ref", False),
        ("https://other.example/p", "ref", False),
    ],
)
def test_clearurls(url: str, name: str, is_said: bool) -> None:
    listed = clearurls.read(json.dumps(RULES), "rules")
    assert (Priors(listed.priors).says(url, name) is not None) == is_said
    assert listed.passed_over == 1


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"providers": [1]}', "\0"])
def test_no_clearurls_rules(text: str) -> None:
    with pytest.raises(ValueError, match="no ClearURLs rules"):
        clearurls.read(text, "rules")


def test_clean_param() -> None:
    text = "User-agent: *\nClean-Param: ref&sid /shop/*.php # why\nclean-param:utm\nDisallow: /x"
    priors = Priors(clean_param.read(text, "robots.txt", SHOP).priors)
    assert priors.says(f"https://{SHOP}/shop/a.php", "sid")
    assert not priors.says(f"https://{SHOP}/x.php", "sid")
    assert priors.says(f"http://{SHOP}/x.php", "utm")
    assert not priors.says("http://other.example/", "utm")


@pytest.mark.parametrize(
    ("header", "said", "not_said"),
    [
        ('params=("a" "b")', "a b", "c"),
        ("params", "a z", ""),
        ('params, except=("x" "y.")', "a yz", "x y."),
        ("key-order", "", "a"),
        ("params=?0", "", "a"),
        ("params=5", "", "a"),
        ("nonsense((", "", "a"),
        ("params=(é)", "", "a"),
    ],
)
def test_no_vary_search(header: str, said: str, not_said: str) -> None:
    priors = Priors(no_vary_search.read(header, "header", SHOP, "/p/*").priors)
    url = f"https://{SHOP}/p/12"
    assert priors.listed(url, (said + " " + not_said).split()) == set(said.split())
    assert not priors.says(f"https://{SHOP}/q", "a")


def test_what_was_written_is_read_again() -> None:
    """For URLs of the map that hold their own names: an export is a list like any other."""
    written = export(the_map(), "clearurls").text
    assert clearurls.read(written, "ours").passed_over == 0
    listed = adguard.read(export(the_map(), "removeparam").text, "ours")
    assert (len(listed.priors), listed.passed_over) == (export(the_map(), "removeparam").said, 0)


lines = st.text(alphabet="|^*$@,=/~\\(.+)[]a-z removeparam!#\n", max_size=40)


@given(lines)
def test_no_list_breaks_the_reader(text: str) -> None:
    rules = {"providers": {"a": {"urlPattern": text, "rules": [text]}}}
    for listed in (
        adguard.read(f"{text}$removeparam={text}", "x"),
        clean_param.read(f"Clean-param: {text}", "x", SHOP),
        no_vary_search.read(text, "x", SHOP, f"/{text}"),
        clearurls.read(json.dumps(rules), "x"),
    ):
        Priors(listed.priors).says("https://shop.example/p?x=1", "name")
