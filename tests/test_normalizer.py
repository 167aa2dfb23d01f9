"""The look-up: what goes, what stays, and why."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import query, urls
from miqps.mapping import (
    ALL_PATHS,
    ContextVerdicts,
    Map,
    MapError,
    Pin,
    SiteMap,
    from_json,
    to_json,
)
from miqps.normalizer import Normalizer
from miqps.priors import Prior, Priors
from miqps.rules import Rule, Rules, parse_rules
from miqps.settings import PATHS
from miqps.urls import Context
from tests.hard_urls import CASES, TRACKERS, target, text
from tests.known_map import KNOWN, SHOP, SITE, a_map, entry, store, verdict

NO_RULES = Rules()
NORMALIZER = Normalizer(KNOWN)


@pytest.mark.parametrize(
    ("rest", "cleaned"),
    [
        ("/p/5?id=1&utm_source=x&ref=y", "/p/5?id=1&ref=y"),
        ("/p/5?ref=y&utm_source=x&id=1&id=2", "/p/5?ref=y&id=1&id=2"),
        ("/p/5?%75tm_source=x&i%64=1&ref", "/p/5?i%64=1&ref"),
        ("/p/5?&id=1&&utm_source=x&ref=", "/p/5?&id=1&&ref="),
        ("/p/5?id=1&utm_source=x&ref=y#utm_source=z", "/p/5?id=1&ref=y#utm_source=z"),
        ("/p/5?utm_source=x", "/p/5"),
        ("/p/5?utm_source=x&utm_source=y#z", "/p/5#z"),
        ("/p/5?utm_source=x&", "/p/5"),
        ("/wiki/Ada?utm_source=x", "/wiki/Ada"),
        ("/a/b/c?gclid=x", "/a/b/c"),
        ("?gclid=x", ""),
        ("/p/5?action=show&utm_source=x", "/p/5?action=show"),
        ("/p/5?%2561=1&utm_source=x", "/p/5?%2561=1"),
        ("/list?start=0&utm_source=x", "/list?start=0"),
        ("/products/5?variant=1&utm_source=x", "/products/5?variant=1"),
    ],
)
def test_neutral_ones_go(rest: str, cleaned: str) -> None:
    assert NORMALIZER.clean(SHOP + rest) == SHOP + cleaned
    assert NORMALIZER.clean(f"HTTPS://me@SHOP.example:443{rest}").endswith(f":443{cleaned}")
    if rest.startswith("/"):
        raw = NORMALIZER.clean_target("https", "Shop.Example", 443, rest.encode())
        assert raw == cleaned.encode()


@pytest.mark.parametrize(
    "url",
    [
        f"{SHOP}/p/5",
        f"{SHOP}/p/5?",
        f"{SHOP}/p/5?&",
        f"{SHOP}/p/5?utm_source=x&id=1",
        f"{SHOP}/p/5?utm_source=x&id=1&ref=y&new=z",
        f"{SHOP}/p/5?UTM_SOURCE=x",
        f"{SHOP}/p/5?utm_source%E9=x",
        f"{SHOP}/p/5?=x&utm_source=y",
        f"{SHOP}/p/5?a=1&utm_source=x",
        f"{SHOP}/p/search?utm_source=x",
        f"{SHOP}/p/5/?utm_source=x",
        f"{SHOP}/p/5.html?utm_source=x",
        f"{SHOP}/p/*?utm_source=x",
        f"{SHOP}/P/5?utm_source=x",
        f"{SHOP}//p/5?utm_source=x",
        f"{SHOP}/wiki/Ada/talk?utm_source=x",
        f"{SHOP}/wiki/?utm_source=x",
        f"{SHOP}/wiki/unsubscribe?utm_source=x",
        f"{SHOP}/gallery?gclid=x",
        f"{SHOP}/hall?gclid=x",
        f"{SHOP}/login?gclid=x",
        f"{SHOP}/login/5?utm_source=x",
        f"{SHOP}/p/5?token=1&utm_source=x",
        f"{SHOP}/p/5?action=unsubscribe&utm_source=x",
        f"{SHOP}/p/5?action=show&action=un%73ubscribe&utm_source=x",
        f"{SHOP}/p/5?utm_source=eyJhbGciOi.eyJzdWIi.c2ln",
        f"{SHOP}/p/5#?utm_source=x",
        f"{SHOP}#/p/5?utm_source=x",
        "https://other.example/p/5?utm_source=x",
        f"https://{SITE}:8443/p/5?utm_source=x",
        f"ftp://{SITE}/p/5?utm_source=x",
        f"//{SITE}/p/5?utm_source=x",
        "/p/5?utm_source=x",
        f"https://{SITE}\\@other.example/p/5?utm_source=x",
        f"https://other.example/{SHOP}/p/5?utm_source=x",
        f"{SHOP}/p/5?utm_source=x&\ud800",
        "?",
        "",
    ],
)
def test_all_else_stays_the_same_object(url: str) -> None:
    assert NORMALIZER.clean(url) is url
    assert all(ruling.kept for ruling in NORMALIZER.explain(url).rulings)


@pytest.mark.parametrize(("kind", "url", "expected"), CASES, ids=[case[0] for case in CASES])
def test_hard_cases_keep_every_other_byte(kind: str, url: str, expected: str) -> None:
    assert Normalizer(None).clean(url) is url
    site, names = urls.site(url), query.names(url)
    if site is None or expected != query.remove(url, TRACKERS) or not names:
        return
    path = urls.path_template(urls.path(url))
    verdicts = tuple(verdict(name, "neutral") for name in names if name in TRACKERS)
    known = SiteMap(site, (ContextVerdicts(Context(site, path, names), verdicts),))
    normalizer = Normalizer(Map(1, "", {site: known}), NO_RULES)
    untouched = all(ruling.layer == "class" for ruling in normalizer.explain(url).rulings)
    assert normalizer.clean(url) == (url if untouched else expected)


@pytest.mark.parametrize(
    ("scheme", "host", "port", "target", "cleaned"),
    [
        ("https", "shop.example", 443, b"/p/5?utm_source=\xff", b"/p/5"),
        (
            "https",
            "shop.example",
            443,
            b"/p/5?id=\xff\xfe&utm_source=x&ref",
            b"/p/5?id=\xff\xfe&ref",
        ),
        ("http", "shop.example", 80, b"/p/5?utm_source=x", b"/p/5"),
        ("http", "shop.example", 8080, b"/p/5?utm_source=x", b"/p/5?utm_source=x"),
        ("https", "shop.example", 443, b"*", b"*"),
        ("https", "shop.example", 443, b"", b""),
        ("https", "shop.example", 443, b"https://shop.example/p/5?utm_source=x", None),
        ("https", "2001:db8::1", 443, b"/p/5?utm_source=x", b"/p/5?utm_source=x"),
        ("https", "not a host", 443, b"/p/5?utm_source=x", b"/p/5?utm_source=x"),
    ],
)
def test_request_targets(
    scheme: str, host: str, port: int, target: bytes, cleaned: bytes | None
) -> None:
    result = NORMALIZER.clean_target(scheme, host, port, target)
    assert result == (target if cleaned is None else cleaned)
    if result == target:
        assert result is target


def test_ipv6_hosts_come_with_and_without_brackets() -> None:
    site = "[2001:db8::1]:8080"
    known = SiteMap(
        site, (ContextVerdicts(Context(site, "/", ("a",)), (verdict("a", "neutral"),)),)
    )
    normalizer = Normalizer(Map(1, "", {site: known}))
    for host in ("2001:db8::1", "[2001:DB8::1]"):
        assert normalizer.clean_target("http", host, 8080, b"/?a=1") == b"/"


def test_the_most_special_knowledge_wins() -> None:
    known = a_map(
        [entry("/a", "x y", x="neutral", y="important"), entry(ALL_PATHS, "x y", y="neutral")],
        [
            ContextVerdicts(Context(SITE, ALL_PATHS, ()), (verdict("x", "neutral"),)),
            ContextVerdicts(Context(SITE, "/c", ()), (verdict("x", "important"),)),
        ],
    )
    normalizer = Normalizer(known, NO_RULES)
    cleaned = {
        rest: normalizer.clean(SHOP + rest).removeprefix(SHOP)
        for rest in ("/a?x&y", "/b?x&y", "/a?x&z", "/c?x&z", "/c?x&y", "/login?x&z")
    }
    assert cleaned == {
        "/a?x&y": "/a?y",
        "/b?x&y": "/b?x",
        "/a?x&z": "/a?z",
        "/c?x&z": "/c?x&z",
        "/c?x&y": "/c?x",
        "/login?x&z": "/login?x&z",
    }
    layers = [ruling.layer for ruling in normalizer.explain(f"{SHOP}/a?x&z").rulings]
    assert layers == ["inferred", "unknown"]


def test_rules_stand_above_verdicts_and_classes_above_rules() -> None:
    rules = parse_rules(
        """
        [[rule]]
        site = "*"
        path = "/p/7"
        keep = ["utm_source"]

        [[rule]]
        site = "*.example"
        strip = ["utm_*", "id"]
        reason = "mine"
        """,
        "my.toml",
    )
    normalizer = Normalizer(KNOWN, rules)
    assert normalizer.clean(f"{SHOP}/p/5?id=1&utm_source=x&ref=y") == f"{SHOP}/p/5?ref=y"
    assert normalizer.clean(f"{SHOP}/p/7?utm_source=x") == f"{SHOP}/p/7?utm_source=x"
    assert normalizer.clean("https://new.example/?utm_x=1&a=2") == "https://new.example/?a=2"
    assert normalizer.clean(f"{SHOP}/p/5?token=1&id=2") == f"{SHOP}/p/5?token=1&id=2"
    found = normalizer.explain(f"{SHOP}/p/7?id=1&utm_source=x&%7a").rulings
    assert [(ruling.name, ruling.layer, ruling.kept) for ruling in found] == [
        ("id", "strip rule", False),
        ("utm_source", "keep rule", True),
        ("z", "unknown", True),
    ]
    assert found[0].reason == "my.toml:7: mine"


def test_classes_can_be_switched_off() -> None:
    normalizer = Normalizer(KNOWN, Rules(off=frozenset({"log-in token"})))
    assert normalizer.clean(f"{SHOP}/p/5?token=1&utm_source=x") == f"{SHOP}/p/5?token=1"
    assert normalizer.clean(f"{SHOP}/login/5?utm_source=x") == f"{SHOP}/login/5"


def test_explanation_carries_the_evidence() -> None:
    found = NORMALIZER.explain(f"{SHOP}/p/5?ref=y&utm_source=x&id=1&id=2")
    assert (found.site, found.path, found.version) == (SITE, "/p/*", 3)
    assert found.cleaned == f"{SHOP}/p/5?ref=y&id=1&id=2"
    assert [ruling.name for ruling in found.rulings] == ["ref", "utm_source", "id"]
    dropped = found.rulings[1]
    assert (dropped.kept, dropped.layer, dropped.reason) == (False, "verdict", "neutral: as tested")
    assert dropped.verdict == verdict("utm_source", "neutral")
    assert NORMALIZER.explain(f"{SHOP}/p/5?token=1").rulings[0].reason == "log-in token: 'token'"
    assert NORMALIZER.explain("/p?a=1").site is None


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("/p/5?utm_source=x&ref=2&id=1", "/p/5?id=1&ref=2"),
        ("/x?b=2&a=2&%61=1&B", "/x?B&a=2&%61=1&b=2"),
        ("/p/5?utm_source=x", "/p/5"),
        ("/p/5?token=2&a=1", "/p/5?a=1&token=2"),
        ("/p/5", "/p/5"),
        ("/p/5?", "/p/5?"),
        ("/x?b&a#c", "/x?a&b#c"),
    ],
)
def test_key(url: str, key: str) -> None:
    assert NORMALIZER.key(SHOP + url) == SHOP + key
    assert NORMALIZER.key(NORMALIZER.key(SHOP + url)) == SHOP + key


def test_keys_may_drop_what_the_wire_needs() -> None:
    verdicts = (verdict("a", "important", key="neutral"), verdict("b", "neutral", key="important"))
    known = a_map([ContextVerdicts(Context(SITE, "/", ("a", "b")), verdicts)])
    normalizer, proxy = Normalizer(known), Normalizer(known, on_wire=True)
    assert proxy.clean(f"{SHOP}/?b&a") == f"{SHOP}/?a"
    assert proxy.explain(f"{SHOP}/?b&a").cleaned == f"{SHOP}/?a"
    assert [r.kept for r in proxy.explain(f"{SHOP}/?b&a").rulings] == [False, True]
    assert normalizer.key(f"{SHOP}/?b&a") == proxy.key(f"{SHOP}/?b&a") == f"{SHOP}/?b"
    # What is cleaned and then fetched has a new address too: both must let it go.
    assert normalizer.clean(f"{SHOP}/?b&a") == f"{SHOP}/?b&a"


name = st.sampled_from(
    ["a", "b", "utm_source", "action", "token", "variant", "start", "é", "%", ""]
)
decided = st.dictionaries(name, st.sampled_from(["neutral", "important", "undecided"]), max_size=3)
scope = st.sampled_from(["/", "/p", "/p/*", "/products/*", "/wiki/*", "/login", ALL_PATHS])
contexts = st.tuples(scope, st.sets(name, min_size=1, max_size=3), decided).map(
    lambda drawn: ContextVerdicts(
        Context(SITE, drawn[0], tuple(sorted(drawn[1]))),
        tuple(verdict(n, d) for n, d in sorted(drawn[2].items()) if n in drawn[1]),
    )
)
item = st.tuples(
    name | st.sampled_from(["%61", "%75tm_source", "%25", "%C3%A9"]),
    st.sampled_from(["", "=", "=1", "=unsubscribe", "=un%73ub", "=eyJh.eyJ.x", "=a%20b", "=é"]),
).map("".join)
made_urls = st.builds(
    lambda path, items, tail: f"{SHOP}{path}?{'&'.join(items)}{tail}",
    st.sampled_from(["", "/", "/p", "/p/5", "/products/5", "/wiki/x", "/wiki/pay", "/login"]),
    st.lists(item | st.just(""), max_size=4),
    st.sampled_from(["", "", "#a"]),
)
rule_sets = st.sampled_from(
    [
        None,
        NO_RULES,
        Rules(off=frozenset({"log-in token"})),
        parse_rules('[[rule]]\nsite = "*"\npath = "/p/"\nkeep = ["a"]\nstrip = ["b", "é"]\n'),
    ]
)


@given(
    st.lists(contexts, max_size=6, unique_by=lambda c: c.context),
    st.lists(contexts, max_size=2),
    rule_sets,
    st.lists(made_urls, max_size=6),
)
def test_look_up_does_what_the_policy_says(
    known: list[ContextVerdicts],
    guessed: list[ContextVerdicts],
    rules: Rules | None,
    given_urls: list[str],
) -> None:
    inferred = [ContextVerdicts(Context(SITE, c.context.path, ()), c.verdicts) for c in guessed]
    normalizer = Normalizer(a_map(known, inferred, ["/wiki"]), rules)
    for url in given_urls:
        found = normalizer.explain(url)
        drop = {ruling.name for ruling in found.rulings if not ruling.kept}
        assert normalizer.clean(url) == query.remove(url, drop)
        raw = url.removeprefix(SHOP).encode()
        if raw.startswith(b"/"):
            cleaned = normalizer.clean_target("https", SITE, 443, raw)
            assert cleaned == query.remove(raw, drop)


rule_names = st.sets(name | st.sampled_from(["*", "utm_*"]), max_size=2)
made_rules = st.builds(
    lambda rules, off: Rules(tuple(rules), frozenset(off)),
    st.lists(
        st.builds(
            lambda path, keep, strip: Rule("*", path, tuple(keep), tuple(strip)),
            st.sampled_from(["/", "/p/", "/wiki"]),
            rule_names,
            rule_names,
        ),
        max_size=3,
    ),
    st.sets(st.sampled_from(["log-in token", "unsubscribe", "payment"])),
)
value = st.sampled_from(["", "=", "=1", "=unsubscribe", "=eyJh.eyJ.x", "=é"])


@given(
    st.lists(contexts, min_size=1, max_size=6, unique_by=lambda c: c.context),
    st.lists(contexts, max_size=2),
    made_rules,
    st.data(),
)
def test_look_up_of_known_contexts_does_what_the_policy_says(
    known: list[ContextVerdicts],
    guessed: list[ContextVerdicts],
    rules: Rules,
    data: st.DataObject,
) -> None:
    inferred = [ContextVerdicts(Context(SITE, c.context.path, ()), c.verdicts) for c in guessed]
    normalizer = Normalizer(a_map(known, inferred, ["/wiki"]), rules)
    for found in known:
        path = found.context.path.replace("*", "7")
        if path == "77":
            path = data.draw(st.sampled_from(["/p/5", "/wiki/x", "/x", "/login"]))
        names = data.draw(st.permutations(found.context.names))
        items = [name.replace("%", "%25") + data.draw(value) for name in names]
        url = f"{SHOP}{path}?{'&'.join(items)}"
        drop = {ruling.name for ruling in normalizer.explain(url).rulings if not ruling.kept}
        assert normalizer.clean(url) == query.remove(url, drop)


@given(target | text.map(f"{SHOP}/p/5?{{}}".format) | st.text())
def test_any_text_can_be_cleaned(url: str) -> None:
    cleaned = NORMALIZER.clean(url)
    assert cleaned is url or len(cleaned) < len(url)
    NORMALIZER.key(url)
    assert NORMALIZER.explain(url).cleaned == cleaned


@given(st.binary() | st.binary().map(b"/p/5?utm_source=x&".__add__), st.text())
def test_any_bytes_can_be_cleaned(raw: bytes, host: str) -> None:
    for where in (SITE, host):
        cleaned = NORMALIZER.clean_target("https", where, 443, raw)
        assert cleaned is raw or len(cleaned) < len(raw)


@pytest.mark.parametrize(
    ("query_text", "cleaned"),
    [
        ("utm_source=x;page=2&id=7", "utm_source=x;page=2&id=7"),
        ("utm_source=x;page&id=7", "id=7"),
        ("utm_source=a;b&id=7", "id=7"),
        ("utm_source=x&id=7;page=2", "id=7;page=2"),
        ("utm_source=;page=2&id=7", "utm_source=;page=2&id=7"),
        ("utm_source=x&utm_source=y;page=2&id=7", "utm_source=x&utm_source=y;page=2&id=7"),
    ],
)
def test_an_item_that_may_hold_another_parameter_stays(query_text: str, cleaned: str) -> None:
    assert NORMALIZER.clean(f"{SHOP}/p/5?ref=1&{query_text}") == f"{SHOP}/p/5?ref=1&{cleaned}"


def test_memory_is_bounded() -> None:
    normalizer = Normalizer(KNOWN)
    for number in range(PATHS.remembered + 100):
        normalizer.clean(f"{SHOP}/p/{number}?utm_source=x")
        normalizer.clean(f"https://host{number}.example/?a")
    assert max(len(normalizer._heads), len(normalizer._origins)) <= PATHS.remembered


def test_load(tmp_path: Path) -> None:
    file = tmp_path / "map.json"
    file.write_text(to_json(KNOWN), encoding="utf-8")
    old = to_json(Map(1, "", {}))
    for path in (file, store(tmp_path / "a # b?.db", old, to_json(KNOWN))):
        normalizer = Normalizer.load(path)
        assert (normalizer.version, normalizer.contexts) == (3, 12)
        assert normalizer.clean(f"{SHOP}/p/5?utm_source=x") == f"{SHOP}/p/5"
    empty = Normalizer.load(str(store(tmp_path / "empty.db")))
    assert (empty.version, empty.contexts) == (0, 0)
    assert empty.clean(f"{SHOP}/p/5?utm_source=x") == f"{SHOP}/p/5?utm_source=x"


def test_load_says_in_one_line_what_is_wrong(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"format": ')
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    other = tmp_path / "other.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE x (a)")
    db.close()
    torn = tmp_path / "torn.db"
    torn.write_bytes(other.read_bytes()[:100] + b"x" * 50)
    bad_body = store(tmp_path / "bad.db", "{}")
    for path, message in [
        (tmp_path / "none.json", "No such file"),
        (tmp_path, "directory"),
        (broken, "broken JSON"),
        (binary, "invalid character"),
        (other, "it has no maps"),
        (torn, "not a store"),
        (bad_body, "missing required field `format`"),
    ]:
        with pytest.raises(MapError, match=message) as error:
            Normalizer.load(path)
        assert str(error.value).startswith(f"{path}: ")
        assert "\n" not in str(error.value)


# --- lists that are trusted -----------------------------------------------------------------------


LISTED = Priors(
    tuple(
        Prior(re.compile(r"^https?://(?:shop|other)\.example"), re.compile(name), "a list")
        for name in ("ref", "id", "utm_source", "token", "variant", "start")
    )
)


@pytest.mark.parametrize(
    ("url", "cleaned"),
    [
        # Undecided, or unknown: the list decides.
        (f"{SHOP}/p/1?id=7&ref=x&utm_source=y", f"{SHOP}/p/1?id=7"),
        (f"{SHOP}/p/1?ref=x&new=1", f"{SHOP}/p/1?new=1"),
        ("https://other.example/a?ref=1", "https://other.example/a"),
        ("http://other.example:80/a?ref=1&x=2#top", "http://other.example:80/a?x=2#top"),
        # What was seen to matter, what a rule keeps and what is never touched stays.
        (f"{SHOP}/gallery?gclid=1", f"{SHOP}/gallery?gclid=1"),
        (f"{SHOP}/products/1?variant=2", f"{SHOP}/products/1?variant=2"),
        (f"{SHOP}/p/1?token=a&ref=b", f"{SHOP}/p/1?token=a&ref=b"),
        (f"{SHOP}/login/1?ref=b", f"{SHOP}/login/1?ref=b"),
        ("https://third.example/?ref=1", "https://third.example/?ref=1"),
    ],
)
def test_trusted_lists_fill_what_was_not_learned(url: str, cleaned: str) -> None:
    assert Normalizer(KNOWN, trusted=LISTED).clean(url) == cleaned
    assert Normalizer(KNOWN, trusted=Priors()).clean(url) == Normalizer(KNOWN).clean(url)


def test_what_a_list_lets_go_is_explained() -> None:
    rulings = Normalizer(KNOWN, trusted=LISTED).explain(f"{SHOP}/p/1?ref=x&new=1").rulings
    assert [(r.name, r.kept, r.layer, r.reason) for r in rulings] == [
        ("ref", False, "list", "a list"),
        ("new", True, "unknown", "no verdict for this site, path and pattern"),
    ]


# --- pins -----------------------------------------------------------------------------------------


def pinned(*pins: Pin) -> Normalizer:
    site = KNOWN.sites[SITE]
    return Normalizer(Map(3, "", {SITE: replace(site, pins=pins)}))


@pytest.mark.parametrize(
    ("pins", "url", "cleaned"),
    [
        ([Pin("utm_source", "keep")], "/p/1?id=7&utm_source=y", "/p/1?id=7&utm_source=y"),
        ([Pin("utm_source", "keep")], "/p/1?utm_source=y", "/p/1?utm_source=y"),
        ([Pin("ref", "strip")], "/p/1?id=7&ref=x&utm_source=y", "/p/1?id=7"),
        ([Pin("ref", "strip")], "/anywhere?ref=x&z=1", "/anywhere?z=1"),
        ([Pin("ref", "strip", "/p/")], "/anywhere?ref=x&z=1", "/anywhere?ref=x&z=1"),
        # The longer path decides, and a pin stands above shipped rules.
        ([Pin("ref", "strip", "/p/"), Pin("ref", "keep")], "/p/1?ref=x", "/p/1"),
        ([Pin("ref", "strip"), Pin("ref", "keep", "/p/")], "/p/1?ref=x", "/p/1?ref=x"),
        ([Pin("variant", "strip")], "/products/1?variant=x", "/products/1"),
        # A name is a name, whatever letters it has.
        ([Pin("*", "strip")], "/p/1?a=1&*=2", "/p/1?a=1"),
        ([Pin("a b", "strip")], "/p/1?a%20b=1&c=2", "/p/1?c=2"),
        # What is never touched stays even so.
        ([Pin("token", "strip")], "/p/1?token=x&utm_source=y", "/p/1?token=x&utm_source=y"),
    ],
)
def test_pins(pins: list[Pin], url: str, cleaned: str) -> None:
    normalizer = pinned(*pins)
    assert normalizer.clean(f"{SHOP}{url}") == f"{SHOP}{cleaned}"
    assert normalizer.clean_target("https", SITE, 443, url.encode()) == cleaned.encode()
    written = to_json(Map(3, "", {SITE: replace(KNOWN.sites[SITE], pins=tuple(pins))}))
    assert from_json(written).sites[SITE].pins == tuple(pins)
