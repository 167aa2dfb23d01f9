"""The laboratory: one page for each way in which looking at a page may go wrong (lab.tsv).

Pages are written out here, as plain as they can be: each shows one trap and nothing else.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import time
from collections import defaultdict, deque
from io import BytesIO

from flask import Blueprint, Response, redirect, request
from markupsafe import escape
from PIL import Image

blueprint = Blueprint("lab", __name__, url_prefix="/lab")

COLOURS = ("crimson", "tomato", "gold", "olive", "teal", "navy", "purple", "sienna")
SAVING = "SAVE10"
ALIVE = ("3", "7", "11")
SECRET = b"lab"

_numbers = itertools.count(1)
_asked: defaultdict[str, deque[float]] = defaultdict(deque)


def arg(name: str, default: str = "") -> str:
    return request.args.get(name, default)


def page(title: str, body: str, head: str = "") -> str:
    return f"<!doctype html><title>{title}</title>{head}<h1>{title}</h1>{body}"


def thing(number: str) -> str:
    """Some lines that only this number shows."""
    words = random.Random(f"thing {number}")
    made = " ".join(words.choice(["oak", "salt", "lamp", "river", "stone"]) for _ in range(30))
    return f"<p>Thing {escape(number)} costs {words.randrange(10, 99)} EUR.</p><p>{made}</p>"


def signature(text: str) -> str:
    return hashlib.blake2b(text.encode(), key=SECRET, digest_size=8).hexdigest()


def asked_lately(what: str, seconds: float) -> int:
    """How often this was asked for within so many seconds, this time included."""
    now, times = time.monotonic(), _asked[what]
    times.append(now)
    while times[0] < now - seconds:
        times.popleft()
    return len(times)


@blueprint.get("/plain")
@blueprint.get("/item")
def plain() -> str:
    return page("Plain", thing(arg("id")))


@blueprint.get("/noise")
def noise() -> str:
    """The server's clock, a number for the request, and an advert by chance."""
    advert = random.choice(("Buy boots", "Fly south", "Eat well", "Sleep longer"))
    foot = f"<footer>{time.time():.3f} request {next(_numbers)}</footer>"
    return page("Noise", f"<aside>{advert}</aside>{thing(arg('id'))}{foot}")


@blueprint.get("/script")
def script() -> str:
    """The visitor's clock, chance, and a carousel that a timer moves."""
    slides = "".join(f"<p class=slide>Slide {n}</p>" for n in range(4))
    code = """<p id=clock></p><script>
      clock.textContent = Date.now() + " " + Math.random() + " " + crypto.randomUUID();
      let n = 0;
      const turn = () => document.querySelectorAll(".slide").forEach(
        (slide, i) => { slide.hidden = i !== n % 4; });
      turn(); setInterval(() => { n++; turn(); }, 700);</script>"""
    return page("Script", thing(arg("id")) + slides + code)


@blueprint.get("/pair")
def pair() -> str:
    """Two names for one thing; the number is believed first."""
    said = arg("number") or arg("slug").rpartition("-")[2]
    return page("Pair", thing(said) if said else "<p>All things</p>")


@blueprint.get("/sticky")
def sticky() -> Response:
    answer = Response(page("Sticky", thing(arg("id"))))
    if arg("partner"):
        answer.set_cookie("partner", arg("partner"))
    return answer


@blueprint.get("/readd")
def readd() -> Response | str:
    if not arg("mark"):
        joint = "&" if request.query_string else "?"
        return redirect(f"{request.full_path.rstrip('?')}{joint}mark=new")
    return page("Mark", thing(arg("id")))


@blueprint.get("/burst/item")
def burst() -> str:
    """Too many within a minute, and everybody sees the same."""
    if asked_lately("burst", 60) > 14:
        return page("Sorry", "<p>We have seen unusual requests from your network.</p>" * 4)
    return page("Burst", thing(arg("id")))


@blueprint.get("/consent/<kind>")
def consent(kind: str) -> str:
    if not request.cookies.get("agreed"):
        return page(
            "Before you go on", "<p>We and our 800 partners value you.</p><button>Yes</button>"
        )
    return page(f"Behind {kind}", thing(arg("id")))


@blueprint.get("/tabs")
def tabs() -> str:
    """Only the script reads `tab`."""
    code = """<p id=shown></p><script>
      shown.textContent = "Tab " + (new URLSearchParams(location.search).get("tab") || "first");
      </script>"""
    return page("Tabs", thing(arg("id")) + code)


@blueprint.get("/signed")
def signed() -> Response | str:
    if arg("sig") != signature(f"{arg('id')} {arg('size')}"):
        return Response("forbidden", 403)
    return page("Signed", thing(arg("id")) + f"<p>Size {escape(arg('size'))}</p>")


@blueprint.get("/board")
def board() -> str:
    """Here `source` chooses what is shown; on /lab/item it is a tag."""
    return page("Board", thing(f"of {arg('source', 'all')}"))


@blueprint.get("/voucher")
def voucher() -> str:
    saved = "<p>You save 10 EUR!</p>" if arg("code") == SAVING else ""
    return page("Voucher", thing(arg("id")) + saved)


@blueprint.get("/far")
def far() -> str:
    return page(
        "Far", "<p style='height:15000px'>Long</p>" + f"<p>Revision {escape(arg('rev'))}</p>"
    )


@blueprint.get("/swatch")
def swatch() -> str:
    style = (
        f"display:inline-block;width:20px;height:20px;background:{escape(arg('colour', 'black'))}"
    )
    return page("Swatch", f"<p>The colour is shown: <span style='{style}'></span></p>")


@blueprint.get("/lazy")
def lazy() -> str:
    picture = f"<img loading=lazy width=200 height=150 src='/lab/drawn?{escape(arg('picture'))}'>"
    return page("Lazy", f"<div style='height:9000px'>Down</div>{picture}")


@blueprint.get("/drawn")
def drawn() -> Response:
    colour = tuple(hashlib.blake2b(request.query_string, digest_size=3).digest())
    file = BytesIO()
    Image.new("RGB", (200, 150), colour).save(file, "PNG")
    return Response(file.getvalue(), mimetype="image/png")


@blueprint.get("/filters")
def filters() -> str:
    """Repeated names, brackets, bytes that are no UTF-8, a flag without a value."""
    chosen = ", ".join(request.args.getlist("kind[]"))
    raw = request.query_string
    word = next((i[2:] for i in raw.split(b"&") if i.startswith(b"q=")), b"")
    open_ = "open" if b"all" in raw.split(b"&") else "closed"
    return page("Filters", f"<p>{escape(chosen)} | {escape(repr(word))} | {open_}</p>")


@blueprint.get("/cart/add")
@blueprint.get("/logout")
@blueprint.get("/private/item")
def never() -> str:
    """Deeds, and what robots.txt disallows: the log tells whether anybody asked."""
    return page("Done", thing(arg("id")))


@blueprint.get("/sale")
def sale() -> str:
    """Most links are too old: they all show the same."""
    if arg("item") not in ALIVE:
        return page("Sale", "<p>This offer has ended. See what is new!</p>")
    return page("Sale", thing(arg("item")))


@blueprint.get("/coin")
def coin() -> str:
    """Two looks of one page, by the toss of a coin."""
    side = random.choice(("<b>Order now</b>", "<p>Take your time, and order later.</p><hr>"))
    return page("Coin", side + thing(arg("id")))


@blueprint.get("/sorted")
def sorted_() -> str:
    order = arg("sort", "name")
    words = ("ash", "birch", "cedar", "elm", "fir", "oak")
    lines = [f"{word} {(n * 7) % 10}" for n, word in enumerate(words)]
    lines.sort(key=lambda line: line.rpartition(" ")[2] if order == "price" else line)
    if order == "down":
        lines.reverse()
    return page(f"Sorted {escape(arg('shelf'))}", "".join(f"<p>{line}</p>" for line in lines))


@blueprint.get("/slow")
def slow() -> str:
    time.sleep(0.7)
    return page("Slow", thing(arg("id")))


@blueprint.get("/dialog")
def dialog() -> str:
    return page("Dialog", "<script>alert('Hello')</script>" + thing(arg("id")))


@blueprint.get("/download")
def download() -> Response:
    header = {"Content-Disposition": "attachment; filename=a.html"}
    return Response(page("Download", thing(arg("id"))), headers=header)


@blueprint.get("/tall")
def tall() -> str:
    part = "<p style='height:13000px'>On and on</p>"
    return page("Tall", part + thing(arg("id")) + part * 2)


@blueprint.get("/echo")
def echo() -> str:
    """What is asked for comes back where nobody sees it."""
    whole = escape(request.full_path)
    head = f"<link rel=canonical href='{whole}'><meta property='og:url' content='{whole}'>"
    links = f"<a href='/lab/plain?id=1&from={escape(arg('ref'))}'>More</a><!-- {whole} -->"
    return page("Echo", thing(arg("id")) + links, head)


@blueprint.get("/limited/item")
def limited() -> Response | str:
    if asked_lately("limited", 3) > 12:
        return Response("slow down", 429, {"Retry-After": "3"})
    return page("Limited", thing(arg("id")))
