"""Pages for the bench of seeing: ten kinds, graded changes, and kinds of noise, all from a seed.

A page is asked for by its query: `kind`, `seed`, `change` with `where` it is made, and `noise`.
Changes are material: somebody would notice that it is another page. Noise is what the same page
does by itself; half of it happens in the browser, half on the server.
"""

from __future__ import annotations

import io
import random
import re
import string
import time
from collections.abc import Mapping
from html import escape
from itertools import count

from PIL import Image, ImageDraw

KINDS = (
    "product",
    "listing",
    "article",
    "thread",
    "table",
    "docs",
    "gallery",
    "front",
    "profile",
    "prices",
)
CHANGES = (
    "digit",
    "grey digit",
    "currency",
    "swatch",
    "sort order",
    "language",
    "page number",
    "picture",
    "product",
    "word",
    "date",
    "missing row",
    "strike",
    "badge",
    "symbol",
)
PLACES = ("above", "below")
IN_BROWSER = ("carousel", "random order", "late pop-up", "lazy pictures", "browser clock", "motion")
ON_SERVER = ("advert", "server clock", "request id", "recommendations")

_WORDS = re.findall(
    r"\w+",
    """amber basin cedar delta ember fjord grove harbor island jasper kettle lantern meadow
nectar orchard pebble quarry ripple saddle timber umber valley willow yarrow zephyr anchor bramble
copper drift elder flint glade hollow iris juniper kelp""",
)
_MOTHER = {
    "next": ("Next", "Weiter"),
    "reviews": ("Reviews", "Bewertungen"),
    "about": ("About us", "Über uns"),
}
_serial = count(1)


class Maker:
    """Words and numbers of one page; the same seed gives the same ones."""

    def __init__(self, kind: str, seed: int, change: str, where: str) -> None:
        self._random = random.Random(f"{kind} {seed}")
        self._change = change
        self._where = where
        self.place = "above"

    def says(self, change: str) -> bool:
        """Whether this change is to be made here."""
        return self._change == change and self._where == self.place

    def words(self, number: int) -> str:
        return " ".join(self._random.choice(_WORDS) for _ in range(number))

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def code(self) -> str:
        return "".join(self._random.choices(string.ascii_uppercase + string.digits, k=6))

    def shuffled(self, items: list[str]) -> list[str]:
        self._random.shuffle(items)
        return items


def page(query: Mapping[str, str]) -> str:
    """The HTML of a page."""
    kind, change = query.get("kind", KINDS[0]), query.get("change", "")
    make = Maker(kind, int(query.get("seed", "0")), change, query.get("where", "above"))
    noise = query.get("noise", "")
    make.place = "above"
    top = _section(make, kind)
    make.place = "middle"
    filling = "".join(f"<p>{escape(make.words(40))}.</p>" for _ in range(make.number(8, 20)))
    make.place = "below"
    bottom = _section(make, kind)
    german = change == "language"
    menu = " ".join(f"<a href=/>{both[german]}</a>" for both in _MOTHER.values())
    title = make.words(3).title()
    return (
        f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>"
        f"<nav>{menu}</nav><h1>{title}</h1>{_before(noise)}{top}{filling}{bottom}{_after(noise)}"
        "<footer>Small print, the same on every page</footer>"
    )


_STYLE = """body{font:15px/1.4 sans-serif;margin:0 40px}nav a{margin-right:20px}.row{padding:4px 0}
.price{font-size:12px}.grey{color:#999;font-size:11px}.swatch{display:inline-block;width:20px;
height:20px;vertical-align:middle}img{vertical-align:top}.ad{width:300px;height:90px;color:#fff;
float:right}.slot{height:70px;overflow:hidden}.pop{position:fixed;right:10px;bottom:10px;width:260px;
height:80px;background:#fe8}td{padding:2px 14px}"""


def _section(make: Maker, kind: str) -> str:
    rows = [_row(make, kind, number) for number in range(make.number(5, 9))]
    if make.says("missing row"):
        rows.pop(2)
    if make.says("sort order"):
        rows[1], rows[2] = rows[2], rows[1]
    badge = "<b class=row>New</b>" if make.says("badge") else ""
    number = make.number(2, 7) + make.says("page number")
    colour = f"hsl({make.number(0, 300) + 25 * make.says('swatch')},60%,50%)"
    day = make.number(1, 27) + make.says("date")
    word = make.words(1) + ("ly" if make.says("word") else "")
    picture = make.number(1, 10_000) + make.says("picture")
    name = make.words(3) + (" deluxe" if make.says("product") else "")
    return (
        f"<h2>{name}</h2>{badge}<p>Chosen colour <i class=swatch style='background:{colour}'></i>"
        f" on {day} March 2026, {word}.</p><img src='/picture?n={picture}' width=180 height=120>"
        f"{_wrapped(kind, rows)}<p class=grey>Page {number} of 9</p>"
    )


def _row(make: Maker, kind: str, number: int) -> str:
    price = make.number(100, 99_998)
    last = number == 3
    price += last and make.says("digit")
    sign = "€" if last and make.says("currency") else "$"
    stock = make.number(10, 98) + (last and make.says("grey digit"))
    text = f"{make.words(3)} {make.code()}"
    if last and make.says("strike"):
        text = f"<s>{text}</s>"
    star = "☆" if last and make.says("symbol") else "★"
    cells = (
        text,
        f"<span class=price>{sign}{price / 100:.2f}</span>",
        f"<span class=grey>{stock} left {star}</span>",
    )
    if kind in ("table", "prices"):
        return "<tr>" + "".join(f"<td>{cell}" for cell in cells) + "</tr>"
    if kind in ("gallery", "front"):
        picture = f"<img src='/picture?n={make.number(1, 9_999)}' width=60 height=40>"
        return f"<div class=row>{picture} {' '.join(cells)}</div>"
    if kind in ("thread", "profile"):
        return f"<div class=row>{' '.join(cells)}<p>{make.words(14)}</p></div>"
    return f"<li class=row>{' '.join(cells)}</li>"


def _wrapped(kind: str, rows: list[str]) -> str:
    inside = "".join(rows)
    if kind in ("table", "prices"):
        return f"<table>{inside}</table>"
    return f"<div>{inside}</div>" if inside.startswith("<div") else f"<ul>{inside}</ul>"


def _before(noise: str) -> str:
    """Noise at the top of a page."""
    match noise:
        case "advert":
            ground = f"background:hsl({random.randrange(360)},50%,40%)"
            return f"<div class=ad style='{ground}'>Buy {random.choice(_WORDS)}!</div>"
        case "server clock":
            return f"<p class=grey>Served at {time.strftime('%H:%M:%S')}.{time.time_ns() % 997}</p>"
        case "browser clock":
            return (
                "<p class=grey id=clock></p>"
                "<script>clock.textContent=new Date().toISOString()</script>"
            )
        case "carousel":
            slides = "".join(f"<div>{word} offer</div>" for word in _WORDS[:5])
            return (
                f"<div class=slot id=slides>{slides}</div>"
                "<script>let turn=Math.floor(5*Math.random());"
                "setInterval(()=>slides.append(slides.firstChild),300+1000*Math.random());"
                "while(turn--)slides.append(slides.firstChild)</script>"
            )
        case "motion":
            return (
                "<style>@keyframes m{to{transform:translateX(300px)}}.m{animation:m 3s infinite}"
                "</style><div class='m swatch' style='background:#28c'></div>"
            )
    return ""


def _after(noise: str) -> str:
    """Noise at the end of a page."""
    match noise:
        case "request id":
            return (
                f"<p class=grey>Request {random.getrandbits(64):016x} on web{next(_serial) % 7}</p>"
            )
        case "recommendations":
            chosen = random.sample(_WORDS, 4)
            items = "".join(
                f"<div class=row><img src='/picture?n={_WORDS.index(word)}' width=60 height=40>"
                f" {word} <span class=price>${len(word) * 3}.50</span></div>"
                for word in chosen
            )
            return f"<h3>You may also like</h3>{items}"
        case "random order":
            items = "".join(f"<li>{word}</li>" for word in _WORDS[:6])
            return (
                f"<ul id=mixed>{items}</ul><script>[...mixed.children].sort(()=>Math.random()-.5)"
                ".forEach(li=>mixed.append(li))</script>"
            )
        case "late pop-up":
            return (
                "<script>setTimeout(()=>{const p=document.createElement('div');p.className='pop';"
                "p.textContent='Subscribe to the letter';document.body.append(p)},"
                "500+4000*Math.random())</script>"
            )
        case "lazy pictures":
            return "".join(
                f"<p>{word}</p><img loading=lazy src='/picture?n={n}&slow=1' width=180 height=120>"
                for n, word in enumerate(_WORDS[:6])
            )
    return ""


def picture(number: int) -> bytes:
    """A PNG that its number tells from all others."""
    chance = random.Random(number)
    image = Image.new("RGB", (180, 120), tuple(chance.randrange(256) for _ in range(3)))
    draw = ImageDraw.Draw(image)
    for _ in range(5):
        left, top = chance.randrange(150), chance.randrange(90)
        colour = tuple(chance.randrange(256) for _ in range(3))
        draw.ellipse((left, top, left + 30, top + 30), fill=colour)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
