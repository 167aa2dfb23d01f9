"""When two pages are the same: made-up pages for the rules, real Chromium for what shows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miqps.browser import Browser
from miqps.content_id import Identity, get
from miqps.content_id.align import align, match
from miqps.page import Leaf, Page
from tests.looks import leaf, listing, page
from tests.pages import Request, Server, site

VISUAL = get("visual")

# How long an example takes is the business of the machine.
patient = settings(deadline=None)


def same(a: Page, b: Page) -> bool:
    return VISUAL.same(VISUAL.of(a), VISUAL.of(b))


def test_get() -> None:
    assert VISUAL.name == "visual"
    with pytest.raises(
        ValueError, match="no content ID 'smell'; there are: body, dom, metadata, visual"
    ):
        get("smell")


# -- aligning


@patient
@given(st.lists(st.integers(0, 5), max_size=30), st.lists(st.integers(0, 5), max_size=30))
def test_matches_are_equal_and_in_order(a: list[int], b: list[int]) -> None:
    pairs = match(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(i < x and j < y for (i, j), (x, y) in itertools.pairwise(pairs))
    assert match(a, a) == [(i, i) for i in range(len(a))]


@patient
@given(st.lists(st.text("ab", max_size=2), max_size=12), st.integers(0, 12))
def test_an_inserted_leaf_shifts_nothing(words: list[str], at: int) -> None:
    before = listing(*words)
    after = listing(*words[:at], "inserted", *words[at:])
    pairs = align(before, after)
    assert len(pairs) == len(before)
    assert all(before[i].text == after[j].text for i, j in pairs)


def test_lines_that_say_other_things_are_still_the_same_lines() -> None:
    before = listing("first", "oak 5", "elm 7", "ash 9", "last")
    after = listing("first", "elm 7", "fir 4", "oak 5", "last")
    assert align(before, after) == [(n, n) for n in range(6)]


def test_a_line_that_is_inserted_does_not_make_all_others_say_other_things() -> None:
    rows = [f"row {n}" for n in range(12)]
    before = listing("first", *rows, "last")
    after = listing("first", "advert", *rows[:-1], "last")
    pairs = dict(align(before, after))
    assert all(before[i].text == after[j].text for i, j in pairs.items())
    assert len(pairs) == len(before) - 1


def test_long_equal_stretches_are_matched_in_time() -> None:
    a, b = ["x"] * 20_000, ["x"] * 10_000 + ["y"] + ["x"] * 10_000
    assert len(match(a, b)) == 20_000
    assert len(match(["x", "y"] * 5_000, ["y", "x"] * 5_000)) >= 0


# -- the rules, on made-up pages

words = st.lists(st.text("abc 0123", min_size=1, max_size=8), min_size=1, max_size=12)


@patient
@given(words, words)
def test_same_is_symmetric_and_reflexive(one: list[str], two: list[str]) -> None:
    a, b = VISUAL.of(page(listing(*one))), VISUAL.of(page(listing(*two)))
    assert VISUAL.same(a, a)
    assert VISUAL.same(a, b) == VISUAL.same(b, a) == (one == two)
    assert (a.digest == b.digest) == (one == two)
    assert not a.unstable


@patient
@given(words, st.data())
def test_any_changed_attribute_is_a_change(lines: list[str], data: st.DataObject) -> None:
    leaves = listing(*lines)
    at = data.draw(st.integers(0, len(leaves) - 1))
    x, y, w, h = leaves[at].box
    changed = data.draw(
        st.sampled_from(
            [
                leaves[at]._replace(text=leaves[at].text + "1"),
                leaves[at]._replace(style=leaves[at].style + "line:underline;"),
                leaves[at]._replace(box=(x, y, w + 3, h)),
            ]
        )
    )
    after = [*leaves[:at], changed, *leaves[at + 1 :]]
    assert not same(page(leaves), page(after))
    assert not same(page(leaves), page([*leaves[:at], *leaves[at + 1 :]]))


def test_title_and_height_are_looked_at() -> None:
    leaves = listing("one", "two")
    assert not same(page(leaves), page(leaves, title="Another page"))
    assert not same(page(leaves), page(leaves, height=1028))


@pytest.mark.parametrize(("step", "expected"), [(3, True), (4, False), (200, False)])
def test_one_block_is_enough(step: int, expected: bool) -> None:
    a, b = page(listing("one")), page(listing("one"))
    assert b.pixels is not None
    b.pixels[200, 300, 1] -= step
    assert same(a, b) is expected


@pytest.mark.parametrize("outcome", ["status", "challenge", "login", "timeout", "blank"])
def test_what_was_not_seen_is_never_the_same(outcome: str) -> None:
    blocked = Page("http://site.test/", outcome)  # type: ignore[arg-type]
    identity = VISUAL.of(blocked)
    assert identity.unstable == f"not seen: {outcome}"
    assert not VISUAL.same(identity, identity)
    good = page(listing("one"))
    assert VISUAL.of(good, blocked).unstable
    assert not same(good, blocked)


# -- what repeats teach


def noisy(n: int, *lines: str, heading: str = "Heading") -> Page:
    """A page with a clock, an advert of varying length, and a banner now and then."""
    leaves = [
        leaf("/html/body[1]/h1[1]/#text[1]", heading, box=(8, 20, 400, 40)),
        leaf("/html/body[1]/p[1]/#text[1]", f"12:0{n}", box=(900, 20, 60, 20)),
        leaf("/html/body[1]/div[1]/#text[1]", "Buy " * (n + 1), box=(900, 60, 40 + 20 * n, 20)),
    ]
    if n % 2:
        leaves.append(leaf("/html/body[1]/aside[1]/#text[1]", "Welcome!", box=(900, 100, 80, 20)))
    for at, line in enumerate(lines):
        box = (8, 100 + 24 * at, 240, 20)
        leaves.append(leaf(f"/html/body[1]/ul[1]/li[{at + 1}]/#text[1]", line, box=box))
    return page(leaves)


LINES = ("a lamp 19.99", "a chair 49.00", "a table 120.00", "a shelf 80.50", "a rug 15.00")


def test_noise_is_learned_from_repeats() -> None:
    a = VISUAL.of(*(noisy(n, *LINES) for n in (0, 1, 2)))
    b = VISUAL.of(*(noisy(n, *LINES) for n in (3, 4, 5)))
    assert (a.unstable, b.unstable) == ("", "")
    assert VISUAL.same(a, b)
    assert VISUAL.same(b, a)
    assert not same(noisy(0, *LINES), noisy(2, *LINES)), "nothing is left out without repeats"


@pytest.mark.parametrize(
    "lines",
    [
        ("a lamp 19.98", *LINES[1:]),
        (*LINES[:4], "a rug 15.01"),
        LINES[:4],
        (*LINES, "a bed 300.00"),
        (LINES[1], LINES[0], *LINES[2:]),
    ],
)
def test_a_change_beside_noise_is_a_change(lines: tuple[str, ...]) -> None:
    a = VISUAL.of(*(noisy(n, *LINES) for n in (0, 1, 2)))
    b = VISUAL.of(*(noisy(n, *lines) for n in (3, 4, 5)))
    assert (a.unstable, b.unstable) == ("", "")
    assert not VISUAL.same(a, b)
    assert not VISUAL.same(b, a)


def test_only_the_attribute_that_moves_is_left_out() -> None:
    def clock(n: int, style: str) -> Page:
        at = leaf("/html/body[1]/p[1]/#text[1]", f"12:0{n}", style, (8, 300, 60, 20))
        return page([*listing(*LINES), at])

    a = VISUAL.of(clock(0, "color:red;"), clock(1, "color:red;"))
    assert VISUAL.same(a, VISUAL.of(clock(2, "color:red;"), clock(3, "color:red;")))
    assert not VISUAL.same(a, VISUAL.of(clock(2, "color:blue;"), clock(3, "color:blue;")))


def test_only_the_words_that_move_are_left_out() -> None:
    def said(city: str, minute: int) -> Page:
        at = leaf(
            "/html/body[1]/p[1]/#text[1]", f"{city}, 12:0{minute}, sunny", box=(8, 300, 90, 20)
        )
        return page([*listing(*LINES), at])

    rome = VISUAL.of(said("Rome", 1), said("Rome", 2))
    assert VISUAL.same(rome, VISUAL.of(said("Rome", 3), said("Rome", 4)))
    assert VISUAL.same(rome, VISUAL.of(said("Rome", 3)))
    assert not VISUAL.same(rome, VISUAL.of(said("Oslo", 3), said("Oslo", 4)))
    assert not VISUAL.same(rome, VISUAL.of(said("Oslo", 1)))
    assert rome.outline == VISUAL.of(said("Rome", 3), said("Rome", 4)).outline
    assert rome.outline != VISUAL.of(said("Oslo", 3), said("Oslo", 4)).outline


def test_a_short_page_of_which_all_moves_says_nothing() -> None:
    one, two = (page([leaf("/html/body[1]/p[1]/#text[1]", text)]) for text in ("a7f3", "b8e2"))
    assert VISUAL.of(one, two).unstable == "all of it moves"


IMG = "/html/body[1]/img[1]"


def test_the_content_must_not_be_what_moves() -> None:
    def of(*pages: Page) -> str:
        return VISUAL.of(*pages).unstable

    one, two = (page(listing(*LINES), title=title) for title in ("3 news", "4 news"))
    assert of(one, two) == "the title moves"
    assert of(noisy(0, *LINES), noisy(0, *LINES, heading="Other")) == "the main heading moves"
    prices = [
        page([*listing(*LINES), leaf("/html/body[1]/b[1]/#text[1]", price, "size:30px;")])
        for price in ("$5.00", "$6.00")
    ]
    assert of(*prices) == "the main price moves"
    pictures = [
        page([*listing(*LINES), leaf(IMG, "", f"picture:/{n}.jpg;", (500, 300, 200, 150))])
        for n in (1, 2)
    ]
    assert of(*pictures) == "the main picture moves"
    lists = [page(listing(*(f"{word} {n}" for word in LINES))) for n in (1, 2)]
    assert of(*lists) == "5 of 6 leaves move"
    field = [
        page(
            [
                *listing(*LINES),
                leaf("/html/body[1]/div[1]", "", f"ground:{n};", (0, 400, 1280, 500)),
            ]
        )
        for n in (1, 2)
    ]
    assert of(*field).endswith("of the picture moves")


def test_pictures_that_were_not_captured_cannot_be_judged() -> None:
    below = leaf(IMG, "", "picture:/i;", (8, 1100, 40, 40))
    identity = VISUAL.of(page([*listing(*LINES), below]))
    assert identity.unstable == "there are pictures below what was captured"
    assert not VISUAL.same(identity, identity)


def test_moving_heights_need_a_page_without_pictures() -> None:
    def tall(n: int, *more: Leaf) -> Page:
        at = leaf("/html/body[1]/p[9]/#text[1]", f"{n} lines of advert", box=(8, 900, 200, 20))
        return page([*listing(*LINES), at, *more], height=1024 + 40 * n)

    a, b = VISUAL.of(tall(1), tall(2)), VISUAL.of(tall(3), tall(4))
    assert (a.unstable, b.unstable) == ("", "")
    assert VISUAL.same(a, b)
    img = leaf(IMG, "", "picture:/1.jpg;", (500, 300, 200, 150))
    assert VISUAL.of(tall(1, img), tall(2, img)).unstable == (
        "the height moves, and there are pictures to compare"
    )
    assert not VISUAL.same(a, VISUAL.of(tall(1, img)))


@patient
@given(st.integers(0, 2**32 - 1))
def test_more_repeats_of_the_same_look_change_nothing(seed: int) -> None:
    lines = [str(each) for each in np.random.default_rng(seed).integers(0, 99, 8)]
    once = VISUAL.of(page(listing(*lines)))
    often = VISUAL.of(*[page(listing(*lines))] * 4)
    assert VISUAL.same(once, often)
    assert once.digest == often.digest


# -- real pages


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with site() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as running:
        yield running


SHOP = """<title>{title}</title>
<style>
body {{ font: 14px sans-serif; margin: 20px }}
.price {{ font-size: 11px; color: #666 }}
.swatch {{ width: 20px; height: 20px; background: {swatch}; display: inline-block }}
.badge::after {{ content: "{badge}" }}
.hero {{ width: 300px; height: 200px; background: url(/picture?{hero}) }}
</style>
<h1>{name}</h1><p class=price>{currency}{price}</p><span class=swatch></span>
<p class=badge>Stock: </p><div class=hero></div><canvas id=c width=200 height=40></canvas>
<select><option>{option}</select><input value="{field}">
<script>c.getContext("2d").font = "12px sans-serif";
c.getContext("2d").fillText("{canvas}", 5, 20)</script>
<ol>{rows}</ol>
<div style="height:{gap}px"></div>
<img loading=lazy width=40 height=40 src="/picture?{below}">
<footer>{footer}</footer>"""

SHOP_VALUES = {
    "title": "Shop",
    "name": "A lamp",
    "currency": "€",
    "price": "1,249.95",
    "swatch": "#336699",
    "badge": "12 left",
    "hero": "200,30,30",
    "option": "Small",
    "field": "1",
    "canvas": "Lot 41",
    "rows": "".join(f"<li>Row {n}" for n in range(8)),
    "gap": "300",
    "below": "0,90,0",
    "footer": "Page 1 of 9",
}

CHANGES = {
    "title": "Shop 2",
    "name": "A lamb",
    "currency": "$",
    "price": "1,249.96",
    "swatch": "#336690",
    "badge": "13 left",
    "hero": "200,30,45",
    "option": "Large",
    "field": "2",
    "canvas": "Lot 47",
    "rows": "".join(f"<li>Row {n}" for n in (0, 1, 2, 4, 3, 5, 6, 7)),
    "below": "0,90,15",
    "footer": "Page 2 of 9",
}

TABLE = """<title>Table</title><style>td {{ font: 11px monospace; padding: 1px 6px }}</style>
<h1>Table</h1><p>{count} rows</p><table>{rows}</table><nav>{nav}</nav>"""


def _picture(request: Request) -> None:
    colour = request.path.partition("?")[2]
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200">'
        f'<rect width="300" height="200" fill="rgb({colour})"/></svg>'
    )
    request.answer(200, "image/svg+xml", svg.encode())


def _render(server: Server, browser: Browser, html: str | Callable[[Request], None]) -> Page:
    server.pages = {"/page": html, "/picture": _picture}
    seen = browser.render(server.url("/page?x=1"))
    assert seen.outcome == "seen", seen.reason
    return seen


def test_every_change_of_a_real_page_is_seen(server: Server, browser: Browser) -> None:
    base = _render(server, browser, SHOP.format(**SHOP_VALUES))
    assert same(base, _render(server, browser, SHOP.format(**SHOP_VALUES)))
    for what, value in CHANGES.items():
        changed = _render(server, browser, SHOP.format(**SHOP_VALUES | {what: value}))
        assert not same(base, changed), what


def test_a_picture_at_the_bottom_of_a_tall_page(server: Server, browser: Browser) -> None:
    tall = SHOP_VALUES | {"gap": "19500"}
    pages = [
        _render(server, browser, SHOP.format(**tall | {"below": below}))
        for below in ("0,90,0", "0,90,0", "0,90,15")
    ]
    assert pages[0].height > 20_000
    assert same(pages[0], pages[1])
    assert not same(pages[0], pages[2])


def test_tables(server: Server, browser: Browser) -> None:
    def table(order: range, page: int = 1, cell: int = 0) -> Page:
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{n * 7919 % 1000 + (cell if n == k == 7 else 0)}" for k in range(8))
            for n in order
        )
        html = TABLE.format(count=len(order), rows=rows, nav=f"page {page}")
        return _render(server, browser, html)

    base = table(range(40))
    assert same(base, table(range(40)))
    assert not same(base, table(range(40), page=2))
    assert not same(base, table(range(40), cell=1))
    assert not same(base, table(range(39, -1, -1)))
    assert not same(base, table(range(39)))


def test_noise_of_a_real_server(server: Server, browser: Browser) -> None:
    count = itertools.count(1)

    def noise(values: dict[str, str]) -> Callable[[Request], None]:
        def answer(request: Request) -> None:
            n = next(count)
            advert = f"<img width=120 height=60 src='/picture?{n * 37 % 255},{n * 91 % 255},200'>"
            extra = (
                f"<aside style='position:absolute;top:10px;right:10px;width:300px;height:110px'>"
                f"<p>It is 12:{n % 60:02}:{n * 7 % 60:02}</p>{advert}"
                f"<small>request {n * 2654435761 % 2**32:08x}</small></aside>"
            )
            request.html(SHOP.format(**values) + extra)

        return answer

    def look(values: dict[str, str]) -> Identity:
        return VISUAL.of(*(_render(server, browser, noise(values)) for _ in range(3)))

    base, again = look(SHOP_VALUES), look(SHOP_VALUES)
    assert (base.unstable, again.unstable) == ("", "")
    assert base.digest != again.digest
    assert VISUAL.same(base, again)
    for what in ("price", "swatch", "canvas", "below"):
        assert not VISUAL.same(base, look(SHOP_VALUES | {what: CHANGES[what]})), what


def test_a_px_of_rounding_is_no_change_but_the_text_beside_it_is() -> None:
    """Half a px is rounded either way; what is drawn elsewhere must still be equal."""

    def shown(y: int, text: str = "two") -> Page:
        first = leaf("/html/body[1]/p[1]/#text[1]", "one", box=(8, y, 24, 16))
        return page([first, leaf("/html/body[1]/p[2]/#text[1]", text, box=(8, 400, 24, 16))])

    assert same(shown(323), shown(324))
    assert not same(shown(323), shown(326))
    assert not same(shown(323), shown(324, "too"))
