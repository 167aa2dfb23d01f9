"""A map with everything that an export may meet, and URLs to try it on."""

from __future__ import annotations

import random
from collections.abc import Iterator

from miqps.mapping import ALL_PATHS, ContextVerdicts, Map, Pin, SiteMap, Verdict
from miqps.urls import Context
from tests.known_map import KNOWN, verdict
from tests.known_map import entry as known_entry

SHOP, PORT = "shop.example", "127.0.0.1:8080"


def entry(site: str, path: str, **decided: str) -> ContextVerdicts:
    verdicts = tuple(
        Verdict(name, decision, "as tested", 9, 9)  # type: ignore[arg-type]
        for name, decision in sorted(decided.items())
    )
    return ContextVerdicts(Context(site, path, tuple(sorted(decided))), verdicts)


def odd(path: str, *names: str, neutral: str) -> ContextVerdicts:
    verdicts = (Verdict(neutral, "neutral", "as tested", 9, 9),)
    return ContextVerdicts(Context(SHOP, path, tuple(sorted(names))), verdicts)


def of_site(site: str) -> list[ContextVerdicts]:
    return [
        entry(site, "/p/*", id="important", ref="undecided", utm_source="neutral"),
        entry(site, "/p/*", id="important", utm_source="neutral", gclid="neutral"),
        entry(site, "/p/*", utm_source="neutral"),
        entry(site, "/list", page="important", gclid="neutral"),
        entry(site, "/list", sort="neutral", page="important"),
        entry(site, "/list", sort="important"),
        entry(site, "/a/b.html", ref="neutral"),
        entry(site, "/doc/*.html", v="neutral", w="important"),
        entry(site, "/", fbclid="neutral"),
    ]


ODD = [
    odd("/p/*", "action", "utm_source", neutral="utm_source"),
    odd("/p/*", "token", "utm_source", neutral="utm_source"),
    odd("/login/*", "utm_source", neutral="utm_source"),
    odd("/p/*", "a b", "utm_source", neutral="utm_source"),
    odd("/p/*", '"};x', "utm_source", neutral='"};x'),
    odd("/p/*", "x$removeparam=id\n||", "y", neutral="y"),
    odd("/p/*", "", "utm_source", neutral="utm_source"),
    odd('/q"/', "x", neutral="x"),
    odd("/sp ace/\nx", "x", neutral="x"),
    odd("/products/*", "variant", "utm_source", neutral="variant"),
    odd("/wiki/Ada", "ref", neutral="ref"),
    odd(ALL_PATHS, "msclkid", neutral="msclkid"),
]


def the_map() -> Map:
    shop = SiteMap(
        SHOP,
        (*of_site(SHOP), *ODD, entry(SHOP, "/wiki/*", ref="neutral", title="important")),
        frozenset({"/wiki"}),
        (ContextVerdicts(Context(SHOP, ALL_PATHS, ()), (Verdict("yclid", "neutral", "i"),)),),
        (Pin("fbclid", "keep", "/"), Pin("promo", "strip", "/")),
    )
    return Map(7, "2026-12-01T00:00:00Z", {SHOP: shop, PORT: SiteMap(PORT, tuple(of_site(PORT)))})


NAMES = ("id", "ref", "utm_source", "gclid", "page", "sort", "v", "w", "fbclid", "title", "promo")
PATHS = ("/p/1", "/p/22", "/p/search", "/p/Ada-Lovelace-7", "/list", "/a/b.html", "/doc/5.html",
         "/doc/5.pdf", "/", "/wiki/7", "/wiki/Ada", "/P/1", "/p/1/", "/login/5", "/p/1;v=2",
         "/products/1")  # fmt: skip
VALUES = ("1", "", "a+b", "%20", "x=y", "eyJhbGciOiJI.eyJzdWIi.sig", "a;b=2", "é", "'", '"', "$1",
          "utm_source", "/a?b", "~", "*", "a,b|c")  # fmt: skip


def plain_urls(site: str, scheme: str) -> list[str]:
    """URLs of known contexts with nothing odd in them."""
    found = []
    for known in of_site(site):
        path = known.context.path.replace("*", "12")
        for turn in range(3):
            names = list(known.context.names)
            random.Random(turn).shuffle(names)
            query = "&".join(f"{name}={turn}7" for name in names)
            found.append(f"{scheme}://{site}{path}?{query}")
    return found


def hard_urls(site: str, scheme: str, number: int = 400) -> list[str]:
    """URLs near known contexts, and far from them."""
    draw = random.Random(7)
    found = []
    for _ in range(number):
        names = draw.choices(NAMES, k=draw.randint(1, 4))
        if draw.random() < 0.6:
            names = list(draw.choice(of_site(site)).context.names)
            draw.shuffle(names)
        items = [f"{name}={draw.choice(VALUES)}" for name in names]
        for index in range(len(items)):
            if draw.random() < 0.05:
                items[index] = draw.choice(("", "id", "%69d=1", "ID=1", "UTM_SOURCE=2", "id=1"))
        tail = draw.choice(("", "", "", "#top", "#a?b=1&utm_source=2"))
        path = draw.choice(PATHS)
        if draw.random() < 0.5:
            path = draw.choice(of_site(site)).context.path.replace("*", "12")
        found.append(f"{scheme}://{site}{path}?{'&'.join(items)}{tail}")
    return found


# --- a map full of traps --------------------------------------------------------------------------


HOSTILE = [
    'a"b', "a'b", "a\\b", "a`b", "a{b}c", "a;b", "a#b", "a b", "a\tb", "a\nb", "a\r\nX-Evil: 1",
    "a|b", "a,b", "a$b", "a/b", "$(id)", "{{x}}", "=cmd", "+1", "-1", "@x", "~a", "*", "a*b", "a(b",
    "a)b", "[a]", "^a$", ".*", "é", "größe", "\u2028", "\ufeff", "\udc80", "\\xff", "", "%", "%41",
    "<!--", "*/", "//x", "!x", '"};', "a&b", "a=b", "a?b", "\x00", "\x7f", "../x", "a" * 300,
]  # fmt: skip

# Beyond the known map: names that need look-ahead, names that need escapes, paths of all shapes.
_SHOP = [
    known_entry("/many/*", "a b c d id", a="neutral", b="neutral", c="important", id="important"),
    known_entry("/filter", "f[color] größe size:x utm", utm="neutral", **{"size:x": "neutral"}),
    known_entry("/twins", "a b", a="neutral", b="neutral"),
    known_entry("/twins", "a b", a="neutral", b="important"),
    # What is left of the first one would lose more: {a, b} -> {b} -> {}.
    known_entry("/chain", "a b", a="neutral", b="important"),
    known_entry("/chain", "b", b="neutral"),
    known_entry("/both", "a b", a="neutral", b="neutral"),
    known_entry("/both", "a", a="neutral"),
    known_entry("/both", "b", b="neutral"),
    known_entry("/both", "b id", b="neutral"),
    known_entry("/apart", "a b", a="neutral", b="neutral"),
    known_entry("/dot.ted/x+y(z)", "utm.x", **{"utm.x": "neutral"}),
    known_entry("/doc/*.html", "ref", ref="neutral"),
    known_entry("/page", "page ref", ref="neutral", page="neutral"),
    known_entry("/7", "ref", ref="neutral"),
    known_entry("/m;v=*", "ref", ref="neutral"),
    known_entry("/caf\u00e9", "ref", ref="neutral"),
    known_entry("/caf%C3%A9", "ref", ref="neutral"),
    known_entry("/keyed", "ref", ref="neutral"),
    known_entry("/wiki/*/talk", "ref", ref="neutral"),
    known_entry("/hall", "gclid id", id="important"),
    *(
        ContextVerdicts(
            Context("shop.example", f"/x{number}", tuple(sorted({name, "z"}))),
            (verdict(name, "neutral" if number % 2 else "important"), verdict("z", "neutral")),
        )
        for number, name in enumerate(HOSTILE)
    ),
]


def _site(site: str, *contexts: ContextVerdicts) -> SiteMap:
    moved = [ContextVerdicts(Context(site, *_rest(c.context)), c.verdicts) for c in contexts]
    return SiteMap(site, tuple(moved))


def _rest(context: Context) -> tuple[str, tuple[str, ...]]:
    return context.path, context.names


def _trapped() -> Map:
    shop = KNOWN.sites["shop.example"]
    contexts = [c for c in (*shop.contexts, *_SHOP) if c.context.path != "/keyed"]
    wire_only = Verdict("ref", "neutral", "", key="important")
    contexts.append(ContextVerdicts(Context("shop.example", "/keyed", ("ref",)), (wire_only,)))
    inferred = ContextVerdicts(Context("shop.example", "/p/*", ()), (verdict("new", "neutral"),))
    plain = known_entry("/p/*", "id utm", id="important", utm="neutral")
    sites = [
        SiteMap("shop.example", tuple(contexts), frozenset({"/wiki"}), (inferred,)),
        _site("shop.example:8080", plain),
        _site("shop.example:443", plain),
        _site("shop.example:80", plain),
        _site("[::1]", plain),
        _site("xn--mnchen-3ya.example", plain),
        _site('evil.example"} x {', plain),
        _site("UPPER.example", plain),
        _site("all.example", known_entry(ALL_PATHS, "utm", utm="neutral")),
    ]
    return Map(5, "2026-12-01\n# evil", {site.site: site for site in sites})


TRAPPED = _trapped()

_IDS = ["5", "123456", "B08N5WRWNW", "the-red-shoe_12", "deadbeef01", "a-b-c-d", "5.html", "12345"]
_NO_IDS = ["search", "login", "Unsubscribe", "pay", "*", "", "5;v=1", "%35", "x.html", "a%2Fb", "é"]
_VALUES = ["=1", "=", "", "=a%20b", "=a+b", "=x/y?z", "=eye", "=~.-_"]
_BAD_VALUES = [
    "=eyJh.eyJ.x", "=%65yJ", "=1;page=2", "=x;y=2", "=unsubscribe", "=un%73ub", "=LOGIN", "=login",
    "=é", "=\"'", "=a=b", "=\\", "=$args", "=${x}", "=`", "= ", "=&", "=#",
]  # fmt: skip


def trapped_urls(map: Map, count: int, seed: int = 2) -> Iterator[str]:
    """Near misses and attacks around the contexts of a map."""
    draw = random.Random(seed)
    contexts = [entry.context for site in map.sites.values() for entry in site.contexts]
    for number in range(count):
        context = contexts[number % len(contexts)]
        star = draw.choice(_IDS if draw.random() < 0.7 else _NO_IDS)
        path = (context.path if context.path != ALL_PATHS else "/x").replace("*", star)
        names = list(context.names)
        if draw.random() < 0.2:
            names.append(draw.choice(["id", "new", "token", "utm_source", "", "a", "action"]))
        if names and draw.random() < 0.2:
            names.append(draw.choice(names))
        if names and draw.random() < 0.15:
            names.pop(draw.randrange(len(names)))
        draw.shuffle(names)
        items = [_spelled(name, draw) + _some_value(draw) for name in names]
        if draw.random() < 0.1:
            items.insert(draw.randrange(len(items) + 1), "")
        text = "&".join(items)
        if draw.random() < 0.05:
            path = path.upper()
        yield (
            draw.choice(["http://", "https://", "http://", "HTTP://", "http://me@"])
            + (context.site + draw.choice([""] * 12 + [":443", ":80", ":8080", "."]))
            + path
            + (f"?{text}" if text else "")
            + draw.choice([""] * 8 + ["#a", "#utm_source=1"])
        )


def escaped(name: str) -> str:
    """A name as browsers write it."""
    return "".join(
        c if c.isascii() and (c.isalnum() or c in "!:@~,/-._[]") else _percent(c) for c in name
    )


def _spelled(name: str, draw: random.Random) -> str:
    if draw.random() < 0.1:
        return "".join(map(_percent, name))
    if draw.random() < 0.07:
        return name.swapcase()
    return name if draw.random() < 0.3 else escaped(name)


def _some_value(draw: random.Random) -> str:
    return draw.choice(_VALUES if draw.random() < 0.7 else _BAD_VALUES)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
