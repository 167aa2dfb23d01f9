"""Writes visits.txt: addresses that people might browse, with every parameter's values varied.

Each set of parameters on a page comes with at least four values of each of its parameters, because
a parameter that never varies cannot be judged. The list is the same at each run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import forum
import news
import shop

WORDS = {
    "utm_source": ("newsletter", "google", "facebook", "partner-site", "bing", "mastodon"),
    "utm_medium": ("email", "cpc", "social", "affiliate", "display", "print"),
    "utm_campaign": ("spring%2Dsale", "autumn_26", "back+to+school", "brand", "moving", "xmas"),
    "utm_content": ("hero+banner", "text-link", "button_b", "footer", "carousel%2F2", "sidebar"),
    "utm_term": ("oak+table", "", "reading%20lamp", "m%C3%B6bel", "rug+120x180", "wall+clock"),
    "ref": ("grid-1-3", "homepage", "also-1031", "mail", "logo", "search-2"),
    "source": ("rss", "push", "homepage", "app", "podcast", "related"),
}
TOKENS = {
    "gclid": ("Cj0KCQiA", 32),
    "fbclid": ("IwAR0", 40),
    "msclkid": ("", 32),
    "mc_eid": ("", 10),
    "sid": ("", 16),
}
QUERIES = ("lamp", "oak+table", "zeppelin", "Uhr", "chaise", "ch%C3%AAne")
LANGUAGES = ("de", "fr", "en", "es")
VOTES = ("up", "down", "none", "spam")


def token(kind: str, number: int, length: int) -> str:
    """Gives the hex digits that stand for a random value, always the same for a number."""
    return hashlib.sha256(f"{kind}{number}".encode()).hexdigest()[:length]


def tracker(name: str, number: int) -> str:
    """Gives the item of a tracking parameter, another value for another number."""
    if name in WORDS:
        return f"{name}={WORDS[name][number % len(WORDS[name])]}"
    prefix, length = TOKENS[name]
    return f"{name}={prefix}{token(name, number, length)}"


def address(path: str, number: int, items: list[str], trackers: str = "") -> str:
    """Gives one address; every third has its items the other way round."""
    marked = items + [tracker(name, number) for name in trackers.split()]
    return f"{path}?{'&'.join(marked if number % 3 else marked[::-1])}"


def shop_visits() -> Iterator[str]:
    products, sorts = list(shop.PRODUCTS.values()), list(shop.SORTS)
    for n in range(5):
        page, order = f"page={n % 4 + 1}", f"sort={sorts[n % 5]}"
        yield address("/shop/", n, [page])
        yield address("/shop/", n, [page, order])
        yield address("/shop/", n, [page], "ref sid")
        yield address("/shop/", n, [f"lang={LANGUAGES[n % 4]}", order], "utm_source")
        yield address("/shop/", n, [], "utm_source utm_medium utm_campaign gclid")
    for n in range(6):
        item = products[(5 * n + 1) % len(products)]
        color = f"color={list(item.finishes)[n % 4]}"
        number, lang = f"id={item.id}", f"lang={LANGUAGES[n % 4]}"
        yield address("/shop/product", n, [number])
        yield address("/shop/product", n, [number, color])
        yield address("/shop/product", n, [number], "ref sid")
        yield address(
            "/shop/product", n, [number, color, lang], "utm_source utm_medium utm_campaign"
        )
        yield address("/shop/product", n, [number], "gclid utm_campaign utm_content utm_term")
        yield address("/shop/product", n, [number], "msclkid")
    for n, query in enumerate(QUERIES):
        yield address("/shop/search", n, [f"q={query}"])
        yield address("/shop/search", n, [f"q={query}", f"sort={sorts[n % 5]}"], "ref sid")


def news_visits() -> Iterator[str]:
    articles = list(news.ARTICLES)
    for n in range(5):
        yield address("/news/", n, [f"page={n % 4 + 1}"])
        yield address(
            "/news/", n, [f"page={n % 4 + 1}"], "utm_source utm_medium utm_campaign mc_eid"
        )
        yield address("/news/wire", n, [f"source={news.SOURCES[n]}"])
        yield address("/news/wire", n, [f"source={news.SOURCES[n]}"], "utm_source utm_campaign ref")
    for n in range(6):
        number = f"id={articles[(3 * n) % len(articles)]}"
        story = news.STORIES[n]
        pair = [f"story={story.id}", f"slug={story.slug}"]
        yield address("/news/article", n, [number])
        yield address("/news/article", n, [number], "utm_source utm_medium utm_campaign mc_eid")
        yield address("/news/article", n, [number], "fbclid")
        yield address("/news/article", n, [number], "source ref")
        yield address("/news/story", n, pair)
        yield address("/news/story", n, pair, "utm_source utm_medium fbclid")


def forum_visits() -> Iterator[str]:
    orders = ("top", "oldest", "author", "newest")
    for n, board in enumerate(forum.BOARDS):
        yield address("/forum/", n, [f"ref={board}"])
        yield address("/forum/", n, [f"ref={board}"], "utm_source sid")
    for n in range(6):
        number = f"t={forum.THREADS[n].id}"
        yield address("/forum/thread", n, [number])
        yield address("/forum/thread", n, [number, f"sort={orders[n % 4]}"])
        yield address("/forum/thread", n, [number], "ref utm_source fbclid")


def deed_visits() -> Iterator[str]:
    for n, number in enumerate(list(shop.PRODUCTS)[:4]):
        yield f"/shop/cart/add?id={number}&{tracker('sid', n)}"
        yield f"/news/unsubscribe?token={token('token', n, 16)}&{tracker('utm_source', n)}"
        yield f"/forum/vote?post={forum.THREADS[n].posts[0].id}&dir={VOTES[n]}"
        yield f"/forum/logout?{tracker('sid', n)}"


def visits() -> list[str]:
    """Gives all addresses, relative to the site's root, each once."""
    plain = ["/", "/shop/", "/news/", "/news/story", "/news/newsletter", "/forum/", "/shop/cart"]
    town = [address("/", n, [], "utm_source utm_medium utm_campaign") for n in range(5)]
    browsed = [*plain, *town, *shop_visits(), *news_visits(), *forum_visits(), *deed_visits()]
    return list(dict.fromkeys(browsed))


if __name__ == "__main__":
    target = Path(__file__).parent / "visits.txt"
    target.write_text("\n".join(visits()) + "\n", encoding="ascii")
