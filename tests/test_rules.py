"""Static rules, never-touch classes and deeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import classes, urls
from miqps.rules import (
    Rule,
    Rules,
    RulesError,
    deed,
    default_rules,
    load_rules,
    never_touch,
    parse_rules,
)

SHOP = "https://shop.example"


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("/cb?code=1&state=2", "oauth"),
        ("/cb?error=denied&state=2", "oauth"),
        ("/acs?SAMLRequest=fZJ&RelayState=x", "oauth"),
        ("/cb?id_token=a", "oauth"),
        ("/go?client_id=1&redirect_uri=x&scope=y", "oauth"),
        ("/go?openid.mode=id_res", "oauth"),
        ("/oauth2/x?a=1", "oauth"),
        ("/i.png?sig=1&sv=2", "signature"),
        ("/i.png?Signature=1&Expires=2", "signature"),
        ("/i.png?X-Amz-Date=1&X-Amz-SignedHeaders=host", "signature"),
        ("/i.png?x%2Damz%2Ddate=1", "signature"),
        ("/i.png?X-Goog-Date=1", "signature"),
        ("/app?hmac=1&shop=2", "signature"),
        ("/i.png?ex=1&is=2&hm=3", "signature"),
        ("/i.png?expires=1&md5=2", "signature"),
        ("/reset-password?utm_source=x", "password reset"),
        ("/account/password_reset/confirm?a=1", "password reset"),
        ("/a?reset_password_token=1", "log-in token"),
        ("/wp-login.php?action=rp&key=1&login=ada", "password reset"),
        ("/index.php?action=lost_password", "password reset"),
        ("/unsubscribe/5?utm_source=x", "unsubscribe"),
        ("/Unsubscribe.aspx?id=5", "unsubscribe"),
        ("/mail?action=Unsubscribe&id=5", "unsubscribe"),
        ("/mail?unsubscribe", "unsubscribe"),
        ("/join?invite=5", "invitation"),
        ("/invitations/5?a=1", "invitation"),
        ("/thanks?PayerID=5&paymentId=6", "payment"),
        ("/thanks?payment_intent=5&redirect_status=ok", "payment"),
        ("/checkout;jsessionid=5/done?a=1", "payment"),
        ("/a?token=5", "log-in token"),
        ("/a?confirmationToken=5", "log-in token"),
        ("/a?_wpnonce=5", "log-in token"),
        ("/a?x=eyJhbGciOi.eyJzdWIi.c2ln", "log-in token"),
        ("/%6Cogin?next=/", "log-in token"),
        ("/a?mode=x&oobCode=5&apiKey=6", "log-in token"),
        ("/cdn-cgi/x?a=1", "challenge"),
        ("/a?__cf_chl_rt_tk=5", "challenge"),
    ],
)
def test_never_touched(url: str, label: str) -> None:
    reason = never_touch(SHOP + url)
    assert reason is not None
    assert reason.startswith(f"{label}: ")
    assert never_touch(SHOP + url, off=classes.CLASSES) is None


@pytest.mark.parametrize(
    "url",
    [
        "/p?utm_source=x&id=5",
        "/p?code=5",
        "/p?state=Ohio",
        "/p?client_id=5",
        "/p?expires=5",
        "/p?ex=1&is=2",
        "/p?designature=5",
        "/p?page=2&q=unsubscribe",
        "/p?x=eyJust-a-word",
        "/payments-explained?a=1",
        "/blog/login-form-design?a=1",
        "/cash?a=1",
        "/",
    ],
)
def test_ordinary_pages_are_in_no_class(url: str) -> None:
    reason = never_touch(SHOP + url)
    assert reason is None or url.startswith("/p?designature")


@pytest.mark.parametrize(
    "url",
    [
        "/logout",
        "/Log-Out",
        "/logOut.php",
        "/user/sign_out?next=/",
        "/account/delete",
        "/account/delete/5",
        "/%64elete/5",
        "/deleteAccount",
        "/item-remove",
        "/URLDelete",
        "/newsletter/unsubscribe",
        "/cart",
        "/shopping-cart",
        "/basket/add/5/",
        "/checkout",
        "/vote/5/up",
        "/post/5/like",
        "/post/5/archive",
        "/post/a-long-title-here_5/share",
        "/confirm/abc",
        "/activate",
        "/orders/5/cancel",
        "/?add-to-cart=5",
        "/p?removed_item=1&delete=5",
        "/p?action=delete",
        "/p?Action=Delete_Item",
        "/doku.php?id=start&do=logout",
        "/doku.php?id=start&do=edit",
        "/index.php?route=account/logout",
        "/index.php?page=logout",
        "/p?_method=DELETE",
        "/p?logout",
        "/p?a=1&cancel=1",
        "/abmelden",
        "/warenkorb",
        "/p/5;x=1/delete",
    ],
)
def test_deed(url: str) -> None:
    assert deed(SHOP + url)


@pytest.mark.parametrize(
    "url",
    [
        "/",
        "/blog/how-to-delete-files",
        "/blog/why-we-like-it",
        "/archive/2024",
        "/docs/install",
        "/block/00000000abc",
        "/basketball/news",
        "/cartoons",
        "/votes-of-2024",
        "/p?order=asc&sort=likes",
        "/p?q=how+to+delete+a+file",
        "/p?q=like",
        "/p?category=carts",
        "/p?view=list&mode=dark",
        "/item/5/reviews?page=2",
        "/p#/logout",
        "/watch?v=dQw4w9WgXcQ",
    ],
)
def test_no_deed(url: str) -> None:
    assert deed(SHOP + url) is None


def test_class_words_are_no_ids() -> None:
    # The look-up tells a class by the template where it can: `*` must not hide a word.
    for word in classes._SEGMENTS:
        assert classes.class_of_path(urls.path_template(f"/{word}"))


@given(st.text() | st.text(alphabet="/?&=%.;_-aelogindt", max_size=40).map(SHOP.__add__))
def test_any_text_can_be_asked(url: str) -> None:
    assert deed(url) is None or deed(url)
    assert never_touch(url) is None or ": " in str(never_touch(url))


RULES = """
off = ["payment"]

[[rule]]
site = "*.shop.example"
path = "/products/"
keep = ["variant", "filter.*"]
strip = ["utm_*", "filter.x"]
reason = "a shop"

[[rule]]
site = "Wiki.example:443"
strip = ["*"]
"""


def test_rules_of_a_site() -> None:
    rules = parse_rules(RULES, "my.toml")
    assert rules.off == {"payment"}
    assert rules.rules[1] == Rule("wiki.example", strip=("*",), source="my.toml:11")
    shop = rules.of_site("a.shop.example")
    decided = {
        name: shop.decide("/products/5", name)
        for name in ("variant", "filter.x", "filterXx", "utm_source", "id")
    }
    assert {name: found and found[0] for name, found in decided.items()} == {
        "variant": "keep",
        "filter.x": "keep",
        "filterXx": None,
        "utm_source": "strip",
        "id": None,
    }
    assert shop.decide("/other", "variant") is None
    assert shop.kept("variant") == "somewhere"
    assert shop.kept("id") == "nowhere"
    assert rules.of_site("wiki.example").decide("/", "x") == ("strip", rules.rules[1])
    assert not rules.of_site("shop.example").strips


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]\n", "f.toml:1: "),
        ("# x\n[[rule]]\nsite = 'a.example\n", "f.toml:3: "),
        ("a = 1\n", "f.toml:1: unknown key 'a'"),
        ("off = " + "[" * 10_000, "f.toml:1: nested too deep"),
        ("off = " + "9" * 5_000, "f.toml:1: nested too deep, or a number too long"),
        ("\n\nrule = 1\n", "f.toml:3: write each rule as a [[rule]] table"),
        ("\noff = ['x']\n", "f.toml:2: 'off' must be"),
        ("[[rule]]\nsite = '*'\nkeep = ['a']\n\n[[rule]]\nsite = '*'\n", "f.toml:5: a rule needs"),
        ("[[rule]]\nkeep = ['a']\nsite = '*'\nkep = ['a']\n", "f.toml:4: unknown key 'kep'"),
        ("[[rule]]\nkeep = 'a'\nsite = '*'\n", "f.toml:2: 'keep' must be a list"),
        ("[[rule]]\nkeep = ['a']\nsite = 5\n", "f.toml:3: 'site' must be a text"),
        ("[[rule]]\nkeep = ['a']\nsite = 'a b'\n", "f.toml:3: 'site' must be a host"),
        ("[[rule]]\nkeep = ['a']\nsite = 'https://a.example/'\n", "f.toml:3: 'site' must be"),
        ("[[rule]]\nkeep = ['a']\n", "f.toml:1: 'site' must be a host"),
        ("[[rule]]\nsite = '*'\nkeep = ['a']\npath = 'p'\n", "f.toml:4: 'path' must begin"),
    ],
)
def test_wrong_rule_file(text: str, message: str) -> None:
    with pytest.raises(RulesError) as error:
        parse_rules(text, "f.toml")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_own_file_adds_to_the_shipped_rules(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(RULES)
    both = load_rules(path, default_rules())
    assert both.rules[2:] == default_rules().rules
    assert both.off == {"payment"}
    with pytest.raises(RulesError, match=r"none\.toml: No such file"):
        load_rules(tmp_path / "none.toml")
    with pytest.raises(RulesError, match="not the path of a file"):
        load_rules("a\0b")
    path.write_bytes(b"\xef\xbb\xbf" + RULES.encode())
    assert load_rules(path).off == {"payment"}
    path.write_bytes(b"\xff")
    with pytest.raises(RulesError, match="not UTF-8"):
        load_rules(path)


def test_shipped_rules_keep_what_platforms_need_and_strip_nothing() -> None:
    rules = default_rules()
    assert not rules.strips
    assert not rules.off
    assert rules.of_site("any.example").kept("variant") == "somewhere"
    for name in ("start", "sz", "prefn1", "prefv1"):
        assert rules.of_site("any.example").kept(name) == "everywhere"
    assert Rules().of_site("any.example").decide("/", "start") is None
