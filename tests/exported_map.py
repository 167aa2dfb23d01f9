"""A map with everything that an export may meet, and URLs to try it on."""

from __future__ import annotations

import random

from miqps.mapping import ALL_PATHS, ContextVerdicts, Map, Pin, SiteMap, Verdict
from miqps.urls import Context

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
