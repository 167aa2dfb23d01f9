"""The content IDs beside `visual`, and its witness that reads JSON-LD: pages made up from HTML."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from importlib.metadata import EntryPoint, EntryPoints
from urllib.parse import parse_qs, quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miqps import content_id
from miqps.browser import Browser
from miqps.content_id import ContentId, Identity, get, structured
from miqps.content_id.canonical import items
from miqps.page import PARTS, Body, Leaf, Metadata, Node, Page
from tests.looks import listing
from tests.looks import page as drawn
from tests.pages import Request, Server, site

DOM, BODY, METADATA, VISUAL = get("dom"), get("body"), get("metadata"), get("visual")
URL = "http://shop.test/p?id=5&utm_source=x"

patient = settings(deadline=None)


class _Tree(HTMLParser):
    """HTML to nodes and leaves, as far as these tests need it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.leaves: list[Leaf] = []
        self._above: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = tuple(sorted((name, value or "") for name, value in attrs))
        self.nodes.append(Node(len(self._above), tag, "", attributes))
        if tag == "img":
            source = f"picture:{dict(attrs).get('src')};"
            self.leaves.append(Leaf(self._path(tag), "", source, (0, 0, 300, 200)))
        if tag not in ("img", "input"):
            self._above.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._above.pop()

    def handle_data(self, data: str) -> None:
        if text := " ".join(data.split()):
            self.nodes.append(Node(len(self._above), "#text", text, ()))
            if "title" not in self._above:
                size = "size:30px;" if "b" in self._above else "size:12px;"
                self.leaves.append(Leaf(self._path("#text"), text, size, (0, 0, 9, 9)))

    def _path(self, last: str) -> str:
        return "".join(f"/{tag}[1]" for tag in [*self._above, last])


def page(body: str, *, url: str = URL, title: str = "A page") -> Page:
    html = f"<html><title>{title}</title><body>{body}</body></html>"
    tree = _Tree(html)
    return Page(
        url=url,
        outcome="seen",
        status=200,
        final_url=url,
        title=title,
        leaves=tuple(tree.leaves),
        dom=tuple(tree.nodes),
    )


def said(*json_ld: object, title: str = "A lamp", canonical: str = "", **properties: str) -> Page:
    blocks = tuple(block if isinstance(block, str) else json.dumps(block) for block in json_ld)
    named = tuple((name.replace("_", ":"), value) for name, value in properties.items())
    metadata = Metadata(canonical, named, blocks)
    return replace(page(""), title=title, metadata=metadata)


def sent(text: str) -> Page:
    data = text.encode()
    return replace(page("<p>x</p>"), body=Body(str(hash(text)), len(data), data))


def verdict(which: ContentId, a: Sequence[Page], b: Sequence[Page]) -> str:
    """What a content ID says of two URLs, each with all its loads."""
    one, two = which.of(*a), which.of(*b)
    assert which.same(one, two) == which.same(two, one)
    if one.unstable or two.unstable:
        assert not which.same(one, two)
        assert not which.same(one, one) or not which.same(two, two)
        return f"unstable: {one.unstable or two.unstable}"
    assert which.same(one, one)
    return "same" if which.same(one, two) else "different"


# -- the document

LIST = (
    "<ul><li>a lamp<li>a chair<li>a table</ul>".replace("<li>", "</li><li>")
    .replace("<ul></li>", "<ul>")
    .replace("</ul>", "</li></ul>")
)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("<p>one</p>", "<p>one</p>", "same"),
        ("<p>one</p>", "<p>two</p>", "different"),
        ("<p>one</p>", "<p>one </p><p>two</p>", "different"),
        ("<p>one</p><p>two</p>", "<p>two</p><p>one</p>", "different"),
        ("<p>one</p>", "<div>one</div>", "different"),
        ("<p>one<i>two</i></p>", "<p>one</p><i>two</i>", "different"),
        ("<p class=new>one</p>", "<p class=old>one</p>", "different"),
        ("<p hidden>one</p>", "<p>one</p>", "different"),
        ("<a href=/a>one</a>", "<a href=/b>one</a>", "different"),
        ("<img src=/1.jpg>", "<img src=/2.jpg>", "different"),
        ("<input name=q value=a>", "<input name=q value=b>", "different"),
        ("<input type=hidden name=sort value=a>", "<input type=hidden name=sort value=b>",
         "different"),
        ("<input type=hidden name=csrf_token value=a>", "<p></p>", "different"),
        ("<input type=hidden name=csrf_token value=a>", "", "same"),
        ("<input type=hidden name=__RequestVerificationToken value=a>",
         "<input type=hidden name=__RequestVerificationToken value=b>", "same"),
        ("<form data-csrf=1></form>", "<form data-csrf=2></form>", "same"),
        ("<input type=text name=token value=a>", "<input type=text name=token value=b>",
         "different"),
    ],
)  # fmt: skip
def test_documents(a: str, b: str, expected: str) -> None:
    assert verdict(DOM, [page("<h1>A</h1>" + a)], [page("<h1>A</h1>" + b)]) == expected


@pytest.mark.parametrize(
    ("with_it", "without", "expected"),
    [
        ("/next?id=5&utm_source=x&page=2", "/next?id=5&page=2", "same"),
        ("?id=5&utm_source=x", "?id=5", "same"),
        ("?utm_source=x&id=5#top", "?id=5#top", "same"),
        ("?id=5&utm_source=%78", "?id=5", "same"),
        ("?page=2&q=a%20b&utm_source=x", "?page=2&q=a+b", "same"),
        ("/in?to=%2Fp%3Fid%3D5%26utm_source%3Dx", "/in?to=%2Fp%3Fid%3D5", "same"),
        ("/in?to=/p?id=5%26utm_source=x", "/in?to=/p?id=5", "same"),
        ("?id=6&utm_source=x", "?id=7", "different"),
        ("?utm_source=y", "", "different"),
        ("/a?x=1", "/a?x=2", "different"),
        ("/a?x=1", "/a", "different"),
    ],
)
def test_links_that_carry_the_pages_own_query(with_it: str, without: str, expected: str) -> None:
    link = '<a href="{}">on</a><form action="{}"></form>'
    a = page(link.format(with_it, with_it))
    b = page(link.format(without, without), url="http://shop.test/p?id=5")
    assert verdict(DOM, [a], [b]) == expected


def test_hidden_fields_that_carry_the_pages_own_query() -> None:
    fields = "<input type=hidden name={} value={}>"
    a = page(fields.format("id", 5) + fields.format("utm_source", "x"))
    b = page(fields.format("id", 5), url="http://shop.test/p?id=5")
    assert verdict(DOM, [a], [b]) == "same"
    assert verdict(DOM, [page(fields.format("id", 6))], [b]) == "different"


def noisy(n: int, lines: str = LIST, heading: str = "Lamps") -> Page:
    """A clock, a sentence with a number, generated ids, an advert, and a greeting now and then."""
    return page(
        f"<h1>{heading}</h1><p id=x{n}>12:0{n}</p><p>Seen by {n * 17} people today</p>"
        f"<div><a href=/ad?n={n}><img alt=x src=/ad{n}.png></a></div>"
        + ("<aside><i>Welcome!</i></aside>" if n % 2 else "")
        + lines
    )


def test_what_moves_between_loads_is_left_out() -> None:
    a, b = [noisy(n) for n in (0, 1, 2)], [noisy(n) for n in (3, 4, 5)]
    # The biggest picture is content; here it is the advert.
    a, b = ([replace(p, leaves=p.leaves[:1]) for p in side] for side in (a, b))
    assert verdict(DOM, a, b) == "same"
    assert DOM.of(*a).outline == DOM.of(*b).outline != DOM.of(noisy(0, heading="Beds")).outline
    assert verdict(DOM, a[:1], b[:1]) == "different", "nothing is left out without repeats"


@pytest.mark.parametrize(
    "lines",
    [
        LIST.replace("table", "tablet"),
        LIST.replace("<li>a chair</li>", ""),
        LIST + "<p>more</p>",
        LIST.replace("lamp", "x").replace("chair", "lamp").replace("x", "chair"),
        LIST.replace("<ul>", "<ul class=wide>"),
        LIST + "<p>Seen by 5 people today</p>",
    ],
)
def test_a_change_beside_what_moves_is_a_change(lines: str) -> None:
    def loads(numbers: Sequence[int], of: str) -> list[Page]:
        return [replace(p, leaves=p.leaves[:1]) for p in (noisy(n, of) for n in numbers)]

    assert verdict(DOM, loads((0, 1, 2), LIST), loads((3, 4, 5), lines)) == "different"


def test_words_that_stay_beside_one_that_moves_count() -> None:
    def loads(numbers: Sequence[int], price: str) -> list[Page]:
        return [page(f"<p>At 12:0{n} it costs {price} euros</p><p>x</p>") for n in numbers]

    assert verdict(DOM, loads((0, 1, 2), "5"), loads((3, 4, 5), "5")) == "same"
    assert verdict(DOM, loads((0, 1, 2), "5"), loads((3, 4, 5), "6")) == "different"


@pytest.mark.parametrize(
    ("loads", "why"),
    [
        ([page("x", title=f"{n} news") for n in (1, 2)], "the title moves"),
        ([page(f"<h1>{n}</h1><p>x</p>") for n in (1, 2)], "the main heading moves"),
        ([page(f"<b>${n}.00</b><p>x</p>") for n in (1, 2)], "the main price moves"),
        ([page(f"<img src=/{n}.jpg><p>x</p>") for n in (1, 2)], "the main picture moves"),
        ([page(f"<p>{n}</p>") for n in (1, 2)], "all of it moves"),
        (
            [page("".join(f"<p>{n * k}</p>" for k in range(1, 20)) + "<p>x</p>") for n in (1, 2)],
            "19 of 44 nodes move",
        ),
        ([Page("http://a/", "status", "404")], "not seen: status 404"),
        ([page("x"), Page("http://a/", "timeout")], "not seen: timeout"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_documents_that_cannot_be_judged(loads: list[Page], why: str) -> None:
    identity = DOM.of(*loads)
    assert identity.unstable == why
    assert not DOM.same(identity, identity)


html_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)
attributes = st.lists(
    st.tuples(st.sampled_from(["href", "src", "class", "data-x"]), html_text), max_size=2
)
documents = st.lists(
    st.builds(
        Node,
        st.integers(0, 6),
        st.sampled_from(["#text", "p", "div", "input", "#shadow"]),
        html_text,
        attributes.map(tuple),
    ),
    min_size=1,
    max_size=12,
).map(tuple)


@patient
@given(documents, documents, html_text)
def test_any_document_can_be_compared(
    one: tuple[Node, ...], two: tuple[Node, ...], query: str
) -> None:
    a, b = (replace(page("x"), url=f"http://a/?{query}", dom=dom) for dom in (one, two))
    assert verdict(DOM, [a], [a]) == "same"
    assert verdict(DOM, [a], [b]) == ("same" if items(a) == items(b) else "different")
    learned = DOM.of(a, b)
    assert learned.unstable or DOM.same(learned, DOM.of(a, b))


# -- the body


def test_bodies() -> None:
    assert verdict(BODY, [sent("one")], [sent("one")]) == "same"
    assert verdict(BODY, [sent("one")], [sent("two")]) == "different"
    assert verdict(BODY, [sent("one"), sent("two")], [sent("one")]) == (
        "unstable: the body is another one every time"
    )
    assert verdict(BODY, [Page("http://a/", "crashed")], [sent("one")]) == (
        "unstable: not seen: crashed"
    )
    assert verdict(BODY, [page("<p>x</p>")], [sent("one")]).startswith("unstable: the body is too")


# -- metadata


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([said()], [said()], "same"),
        ([said()], [said(title="A chair")], "different"),
        ([said(og_title="a")], [said(og_title="b")], "different"),
        ([said(og_title="a")], [said()], "different"),
        ([said(canonical="http://a/?p=2")], [said(canonical="http://a/?p=3")], "different"),
        ([said(canonical="http://a/")], [said(canonical="http://a/")], "same"),
        ([said({"sku": "1"})], [said({"sku": "2"})], "different"),
        ([said({"dateModified": "1"})], [said({"dateModified": "2"})], "same"),
        (
            [said(og_a=str(n), og_b="b", og_c="c") for n in (1, 2)],
            [said(og_a=str(n), og_b="b", og_c="c") for n in (3, 4)],
            "same",
        ),
        (
            [said(og_a=str(n), og_b="b", og_c="c") for n in (1, 2)],
            [said(og_a=str(n), og_b="other", og_c="c") for n in (3, 4)],
            "different",
        ),
        ([said(title="1"), said(title="2")], [said()], "unstable: the title moves"),
        ([said(og_a="1"), said(og_a="2")], [said()], "unstable: 1 fields move, 1 stay"),
        ([said(title="")], [said()], "unstable: the page says nothing of itself"),
        ([Page("http://a/", "login")], [said()], "unstable: not seen: login"),
    ],
)
def test_what_pages_say_of_themselves(a: list[Page], b: list[Page], expected: str) -> None:
    assert verdict(METADATA, a, b) == expected


def test_a_property_may_stand_several_times() -> None:
    def pictures(*sources: str) -> Page:
        properties = tuple(("og:image", source) for source in sources)
        return replace(said(), metadata=Metadata("", properties))

    assert verdict(METADATA, [pictures("a", "b")], [pictures("a", "b")]) == "same"
    assert verdict(METADATA, [pictures("a", "b")], [pictures("a", "c")]) == "different"
    assert verdict(METADATA, [pictures("a", "b")], [pictures("a")]) == "different"


# -- JSON-LD

LAMP = {
    "@type": "Product",
    "name": "A lamp",
    "sku": "L-5",
    "image": "/1.jpg",
    "brand": {"@type": "Brand", "name": "Lux"},
    "offers": {"@type": "Offer", "price": 19.9, "priceCurrency": "EUR", "url": "?id=5"},
    "aggregateRating": {"ratingValue": 4.5, "reviewCount": 17},
}


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (
            [LAMP],
            {
                "0.name": "A lamp",
                "0.sku": "L-5",
                "0.offers.price": "19.9",
                "0.offers.priceCurrency": "EUR",
            },
        ),
        ([{"@graph": [{"@type": "WebSite", "name": "Shop"}, {"gtin13": 123}]}],
         {"0.@graph[1].gtin13": "123"}),
        (["no JSON", "", '{"sku": "a\nb"}'], {"2.sku": "a b"}),
        ([[{"name": "x", "offers": []}], {"price": None}], {"0[0].name": "x"}),
        (["[" * 100_000, '{"sku": ' + "9" * 5_000 + "}", "5", "null"], {}),
        ([{"a": {"sku": 1}} | {f"b{n}": {"sku": n} for n in range(2)}],
         {"0.a.sku": "1", "0.b0.sku": "0", "0.b1.sku": "1"}),
    ],
    ids=["product", "graph", "damaged", "lists", "hostile", "nested"],
)  # fmt: skip
def test_facts(blocks: list[object], expected: dict[str, str]) -> None:
    metadata = said(*blocks).metadata
    assert structured.facts(metadata) == expected


def test_facts_are_bounded() -> None:
    assert structured.facts(None) == {}
    many = [{"sku": n} for n in range(9_999)]
    assert len(structured.facts(said(many).metadata)) == 500
    deep: object = {"sku": 1}
    for _ in range(100):
        deep = [deep]
    assert structured.facts(said(deep).metadata) == {}


def offered(**changes: object) -> Page:
    product = LAMP | {"offers": LAMP["offers"] | changes}  # type: ignore[operator]
    metadata = Metadata(json_ld=(json.dumps(product),))
    return replace(drawn(listing("one", "two", "three")), metadata=metadata)


def test_what_a_shop_tells_machines_can_only_say_different() -> None:
    assert verdict(VISUAL, [offered()], [offered()]) == "same"
    assert verdict(VISUAL, [offered()], [offered(url="?id=6")]) == "same"
    for change in ({"price": 18.9}, {"priceCurrency": "USD"}, {"sku": "L-6"}):
        assert verdict(VISUAL, [offered()], [offered(**change)]) == "different", change
    bare = replace(offered(), metadata=None)
    assert verdict(VISUAL, [offered()], [bare]) == "different"
    other = replace(offered(), title="Another page")
    assert verdict(VISUAL, [offered()], [other]) == "different"


def test_a_price_that_moves_by_itself_is_left_out() -> None:
    a, b = [[offered(price=n) for n in side] for side in ((1, 2, 3), (4, 5, 6))]
    assert verdict(VISUAL, a, b) == "same"
    assert verdict(VISUAL, a, [offered(price=n, priceCurrency="USD") for n in (4, 5)]) == (
        "different"
    )
    assert verdict(VISUAL, a[:1], b[:1]) == "different"


# -- which there are


class Sound:
    """A content ID as another package has it."""

    name = "sound"
    needs = frozenset({"dom"})

    def of(self, page: Page, *repeats: Page) -> Identity:
        return Identity(page.title)

    def same(self, a: Identity, b: Identity) -> bool:
        return a.digest == b.digest


class Greedy(Sound):
    needs = frozenset({"dom", "smell"})


def test_others_add_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    group = content_id.GROUP
    theirs = EntryPoints(
        EntryPoint(name, value, group)
        for name, value in (
            ("sound", f"{__name__}:Sound"),
            ("visual", "somewhere:Else"),
            ("broken", "miqps_no_such_module:Nothing"),
            ("wrong", f"{__name__}:page"),
            ("greedy", f"{__name__}:Greedy"),
            ("odd", "builtins:object"),
        )
    )
    monkeypatch.setattr(content_id, "entry_points", lambda group: theirs)
    assert isinstance(get("sound"), Sound)
    assert get("visual").__class__.__module__ == "miqps.content_id.visual", "ours cannot be hidden"
    with pytest.raises(ValueError, match=r"^content ID 'broken' \(miqps_no_such_module:Nothing\)"):
        get("broken")
    with pytest.raises(ValueError, match=r"^content ID 'wrong' .*fails: page\(\) missing"):
        get("wrong")
    with pytest.raises(ValueError, match=r"^content ID 'greedy' .*: a page has no part smell$"):
        get("greedy")
    with pytest.raises(ValueError, match=r"^content ID 'odd' .* no attribute 'needs'$"):
        get("odd")
    known = "there are: body, broken, dom, greedy, metadata, odd, sound, visual, wrong"
    with pytest.raises(ValueError, match=known):
        get("smell")


@pytest.mark.parametrize("name", ["visual", "dom", "body", "metadata"])
def test_all_say_what_they_need(name: str) -> None:
    found = get(name)
    assert found.name == name
    assert found.needs <= PARTS
    assert found.needs


@pytest.mark.parametrize("which", [VISUAL, DOM, METADATA])
def test_identities_are_not_mixed(which: ContentId) -> None:
    with pytest.raises(TypeError, match="not made by this content ID"):
        which.same(Identity("a"), Identity("a"))


# -- real pages


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with site() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(needs=PARTS) as running:
        yield running


def test_real_pages(server: Server, browser: Browser) -> None:
    """A shop that echoes its query, counts its requests, and builds its list in the browser."""
    requests = itertools.count(1)

    def shop(request: Request) -> None:
        asked = request.path.partition("?")[2]
        number = parse_qs(asked).get("id", ["0"])[0]
        n = next(requests)
        request.html(
            f"""<title>Thing {number}</title><meta property=og:title content="Thing {number}">
            <meta property=og:type content=product>
            <script type=application/ld+json>{{"sku": "T{number}"}}</script>
            <h1>Thing {number}</h1><p id=r{n}>Request {n} at 12:{n:02}</p>
            <a href="/p?{escape(asked)}&page=2">next</a>
            <a href="/in?to={quote("/p?" + asked, safe="")}">log in</a>
            <form><input type=hidden name=csrf value={n * 7919}></form><ul id=list></ul>
            <script nonce={n}>for (const word of ["a", "b", "c"]) {{
              const item = document.createElement("li");
              item.textContent = word + " {number}"; list.append(item);
            }}</script>"""
        )

    server.pages = {"/p": shop}

    def loads(query: str) -> list[Page]:
        pages = [browser.render(server.url(f"/p?{query}")) for _ in range(3)]
        assert all(page.seen for page in pages)
        return pages

    whole, bare, other = loads("id=5&utm_source=x"), loads("id=5"), loads("id=6&utm_source=x")
    for which in (DOM, METADATA):
        assert verdict(which, whole, bare) == "same", which.name
        assert verdict(which, whole, other) == "different", which.name
        assert which.of(*whole).outline == which.of(*bare).outline
    assert verdict(METADATA, whole[:1], bare[:1]) == "same"
    assert verdict(BODY, whole, bare).startswith("unstable: the body is another one")
    assert BODY.of(whole[0]).digest != BODY.of(whole[1]).digest
