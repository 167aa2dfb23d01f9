"""The site of the proxy bench: what a load tool asks it for, and a map that knows its pages."""

from __future__ import annotations

import random

from miqps.mapping import ContextVerdicts, Map, SiteMap, Verdict
from miqps.urls import Context, path_template

LOADS = ("documents", "mix")
"""Page loads alone, the worst case for the addon; or one of them to 19 pictures, scripts, calls."""

_PATHS = ("/product/{}", "/news/{}/comments", "/blog/story-of-the-day_{}.html", "/forum/thread")
_QUERIES = (
    "id={}&utm_source=mail&utm_medium=link&utm_campaign=spring",
    "page=2&fbclid=IwAR0bench{}",
    "color=red&size=xl&ref=home&sid=5e1f0a9b{}",
    "q=garden%20chair&sort=price&gclid=Cj0bench{}",
    "view=list&id={}",
)
NEUTRAL = frozenset({"utm_source", "utm_medium", "utm_campaign", "fbclid", "gclid", "ref", "sid"})
"""What the map takes out of requests."""

_OTHERS = (
    ("image", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "/img/{}.png"),
    ("image", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "/img/{}?w=320"),
    ("script", "*/*", "/js/part-{}.js"),
    ("script", "*/*", "/js/main.js?v={}"),
    ("empty", "application/json", "/api/items/{}"),
    ("empty", "application/json", "/api/search?q=chair&page={}"),
)
_HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
_REQUESTS = 400


def made_map(site: str) -> Map:
    """A map with verdicts on all patterns that the loads ask this site for."""
    entries = []
    for path in _PATHS:
        for query in _QUERIES:
            names = tuple(sorted(item.partition("=")[0] for item in query.split("&")))
            context = Context(site, path_template(path.format(7)), names)
            verdicts = tuple(
                Verdict(name, "neutral" if name in NEUTRAL else "important", "made")
                for name in names
            )
            entries.append(ContextVerdicts(context, verdicts))
    return Map(1, "2026-01-01T00:00:00Z", {site: SiteMap(site, tuple(entries))})


def made_requests(load: str, site: str, *, is_tls: bool) -> list[str]:
    """The requests of a load as browsers send them, to be sent in turn; `{}` is a number.

    One page load in five has a query.
    """
    draw = random.Random(load)
    made = []
    for number in range(_REQUESTS):
        is_page = load == "documents" or number % 20 == 0
        if is_page:
            target = draw.choice(_PATHS[:3])
            if number % 5 == 0 if load == "documents" else number % 100 == 0:
                target = f"{draw.choice(_PATHS)}?{draw.choice(_QUERIES)}"
            made.append(_request(site, "document", _HTML, target, is_tls))
        else:
            made.append(_request(site, *draw.choice(_OTHERS), is_tls))
    draw.shuffle(made)
    return made


def _request(site: str, dest: str, accept: str, target: str, is_tls: bool) -> str:
    lines = [
        f"GET {target} HTTP/1.1",
        f"Host: {site}",
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
        " Chrome/140.0.0.0 Safari/537.36",
        f"Accept: {accept}",
        "Accept-Language: en-GB,en;q=0.9",
        "Accept-Encoding: gzip, deflate, br",
        "Cookie: sid=5e1f0a9b7c3d; theme=light; seen=1764547200",
    ]
    if is_tls:
        # Browsers say these to trustworthy origins only.
        mode = "navigate" if dest == "document" else "no-cors"
        lines += [
            f"Sec-Fetch-Dest: {dest}",
            f"Sec-Fetch-Mode: {mode}",
            "Sec-Fetch-Site: same-origin",
        ]
    return "\r\n".join((*lines, "", ""))
