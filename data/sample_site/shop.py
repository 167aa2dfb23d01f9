"""The shop: `id`, `color`, `page`, `sort`, `lang` and `q` matter, campaigns and sessions do not.

Like shops that keep their session in the address, it writes `sid` and `ref` into its own links.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pictures
from flask import Blueprint, Response, abort, render_template, request, url_for
from markupsafe import Markup
from paging import cut

CONTENT = Path(__file__).parent / "content"
PER_PAGE = 8

blueprint = Blueprint("shop", __name__, url_prefix="/shop")


@dataclass(frozen=True, slots=True)
class Product:
    """A product; prices in cents, `finishes` maps a colour to its surcharge, the default first."""

    id: int
    name: str
    kind: str
    price: int
    finishes: dict[str, int]
    added: str
    sold: int


def _read_product(row: dict[str, str]) -> Product:
    finishes = (finish.partition(":") for finish in row["colors"].split())
    return Product(
        id=int(row["id"]),
        name=row["name"],
        kind=row["kind"],
        price=round(float(row["price"]) * 100),
        finishes={color: 100 * int(extra or 0) for color, _, extra in finishes},
        added=row["added"],
        sold=int(row["sold"]),
    )


with (CONTENT / "products.csv").open(encoding="utf-8", newline="") as _rows:
    PRODUCTS = {product.id: product for product in map(_read_product, csv.DictReader(_rows))}
WORDS: dict[str, Any] = json.loads((CONTENT / "shop.json").read_text(encoding="utf-8"))
SORTS: dict[str, Callable[[Product], Any]] = {
    "popular": lambda product: -product.sold,
    "newest": lambda product: -int(product.added.replace("-", "")),
    "price-asc": lambda product: product.price,
    "price-desc": lambda product: -product.price,
    "name": lambda product: product.name,
}


def language() -> str:
    """Gives the language asked for, English when absent or unknown."""
    wanted = request.args.get("lang", "en")
    return wanted if wanted in WORDS["texts"] else "en"


def order() -> str:
    """Gives the sort order asked for, the most popular first when absent or unknown."""
    wanted = request.args.get("sort", "popular")
    return wanted if wanted in SORTS else "popular"


def session_id() -> str:
    """Gives the visitor's session: that of the link, else one made from the browser's name."""
    made = hashlib.sha256(request.user_agent.string.encode()).hexdigest()[:16]
    return request.args.get("sid", made)


def find(words: str) -> list[Product]:
    """Gives the products that have every word in name, kind or colour, in any language."""
    wanted = words.casefold().split()
    return [item for item in PRODUCTS.values() if all(word in _text_of(item) for word in wanted)]


def _text_of(product: Product) -> str:
    kinds = (words[0] for words in WORDS["kinds"][product.kind].values())
    colors = (name for color in product.finishes for name in WORDS["colors"][color].values())
    return " ".join((product.name, *kinds, *colors)).casefold()


def _asked_product() -> Product:
    number = request.args.get("id", "")
    if not number.isdecimal() or int(number) not in PRODUCTS:
        abort(404)
    return PRODUCTS[int(number)]


def _draw(product: Product, color: str) -> Markup:
    paint = WORDS["colors"][color]["hex"]
    return pictures.product(product.id, product.kind, paint, f"{product.name}, {color}")


def _link(endpoint: str, **params: Any) -> str:
    """Gives an address in the shop that keeps the language and the session."""
    lang = language() if language() != "en" else None
    kept: dict[str, Any] = {"lang": lang, "sid": session_id()}
    return url_for(f"shop.{endpoint}", **{**kept, **params})


def _price(cents: int) -> str:
    return f"€{cents / 100:.2f}" if language() == "en" else f"{cents / 100:.2f} €".replace(".", ",")


def _show(template: str, same: dict[str, object], **values: object) -> str:
    """Renders a page of the shop; `same` is what the links to other languages must repeat."""
    lang = language()
    return render_template(
        f"shop/{template}.html",
        **values,
        here=template,
        same=same,
        lang=lang,
        t=WORDS["texts"][lang],
        languages={code: texts["language"] for code, texts in WORDS["texts"].items()},
        colors=WORDS["colors"],
        kinds={kind: words[lang] for kind, words in WORDS["kinds"].items()},
        link=_link,
        price=_price,
        draw=_draw,
    )


def _show_list(template: str, products: Sequence[Product], **values: object) -> str:
    chosen = order()
    shown = cut(sorted(products, key=SORTS[chosen]), request.args.get("page"), PER_PAGE)
    same: dict[str, object] = {"page": shown.number, "sort": chosen}
    if "q" in values:
        same["q"] = values["q"]
    return _show(template, same, shown=shown, sorts=list(SORTS), sort=chosen, **values)


@blueprint.get("/")
def front() -> str:
    return _show_list("front", list(PRODUCTS.values()))


@blueprint.get("/search")
def search() -> str:
    query = request.args.get("q", "")
    found = find(query) if query.strip() else []
    return _show_list("search", found, q=query, count=len(found))


@blueprint.get("/product")
def product() -> str:
    item = _asked_product()
    color = request.args.get("color", "")
    color = color if color in item.finishes else next(iter(item.finishes))
    others = [other for other in PRODUCTS.values() if other.kind != item.kind]
    start = item.id % len(others)
    also = (others + others)[start : start + 4]
    return _show("product", {"id": item.id, "color": color}, item=item, color=color, also=also)


@blueprint.get("/picture.svg")
def picture() -> Response:
    item = _asked_product()
    color = request.args.get("color", "")
    if color not in item.finishes:
        abort(404)
    return Response(_draw(item, color), mimetype="image/svg+xml")


@blueprint.get("/cart")
def cart() -> str:
    return _show("cart", {}, added=None)


@blueprint.get("/cart/add")
def add_to_cart() -> str:
    return _show("cart", {}, added=_asked_product())
