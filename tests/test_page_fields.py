"""Real Chromium against a real local site: what a page holds beside what it shows."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator

import pytest

from miqps.browser import Browser, document
from miqps.browser.limits import Limits
from miqps.browser.watch import Watch
from miqps.content_id import get
from miqps.page import PARTS, Hop, Page
from tests.pages import Request, Server, site

SHORT = Limits(load=5.0, answer=5.0, idle=2.0, render=30.0)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with site() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Reads everything."""
    with Browser(limits=SHORT, needs=PARTS) as running:
        yield running


@pytest.fixture(scope="module")
def plain() -> Iterator[Browser]:
    """Reads only what is always read."""
    with Browser(limits=SHORT, needs=frozenset()) as running:
        yield running


def show(page: Page) -> list[str]:
    """The nodes of a page, one a line, as a tree."""
    return [
        " " * node.depth
        + (
            node.text
            or " ".join([node.tag, *(f"{name}={value}" for name, value in node.attributes)])
        )
        for node in page.dom
    ]


def test_the_way_to_a_page(server: Server, browser: Browser) -> None:
    server.pages = {
        "/old": lambda r: r.html("", 301, Location="/newer?b=2"),
        "/newer": lambda r: r.html("", 302, Location="/script"),
        "/script": "<script>location.replace('/last')</script>",
        "/last": "<h1>Last</h1>",
    }
    page = browser.render(server.url("/old?a=1"))
    way = ("/old?a=1", "/newer?b=2", "/script", "/last")
    assert [hop.url for hop in page.hops] == [server.url(step) for step in way]
    # Chromium mixes the kinds of redirects up, and at times says the status of the one before about
    # a document that sends on; only a document that is read to its end is told truly.
    first, second, sent_on, last = (hop.status // 100 for hop in page.hops)
    assert (first, second, last) == (3, 3, 2)
    assert sent_on in (2, 3)
    assert page.text == "Last"


def test_the_status_is_that_of_the_end(server: Server, browser: Browser) -> None:
    server.pages = {
        "/p": lambda r: (
            r.html("gone", 410) if "gone" in r.path else r.html("", 302, Location="/p?gone")
        )
    }
    for _ in range(4):
        page = browser.render(server.url("/p"))
        assert (page.outcome, page.status) == ("status", 410)
        assert page.hops == (Hop(server.url("/p"), 302), Hop(server.url("/p?gone"), 410))


def test_a_status_from_before_the_redirect_is_corrected() -> None:
    def event(kind: str, status: int, redirects: int, url: str) -> dict[str, object]:
        response = {"url": url, "status": status, "content": {"size": 9}}
        about = {"context": "tab", "navigation": "n", "request": {"request": "1", "url": url}}
        more = {"redirectCount": redirects, "response": response}
        return {"method": f"network.response{kind}", "params": about | more}

    watch = Watch(context="tab")
    for said in (
        event("Started", 302, 0, "http://a/"),
        event("Completed", 302, 0, "http://a/"),
        event("Started", 302, 1, "http://a/gone"),
        event("Completed", 404, 1, "http://a/gone"),
    ):
        watch.take(said)
    assert (watch.status, watch.size) == (404, 9)
    assert tuple(watch.hops.values()) == (Hop("http://a/", 302), Hop("http://a/gone", 404))


def test_a_document_that_sent_on_keeps_nobody_waiting() -> None:
    def event(kind: str, number: str) -> dict[str, object]:
        request = {"request": number, "url": "http://a/"}
        about = {"context": "tab", "navigation": number, "request": request}
        response = {"url": "http://a/", "status": 200}
        return {"method": f"network.{kind}", "params": about | {"response": response}}

    watch = Watch(context="tab")
    for kind, number in (
        ("beforeRequestSent", "1"),
        ("responseStarted", "1"),
        ("beforeRequestSent", "2"),
        ("responseStarted", "2"),
        ("responseCompleted", "2"),
    ):
        watch.take(event(kind, number))
    assert not watch.open


def test_metadata(server: Server, browser: Browser) -> None:
    server.pages = {
        "/thing": """<title>A lamp</title>
            <link rel="shortlink" href="/s"><link rel="alternate CANONICAL" href="lamp?id=5">
            <meta property="OG:Title" content=" A  lamp "><meta name="og:image" content="/1.jpg">
            <meta property="product:price:amount" content="19.90"><meta name=viewport content=x>
            <meta property="og:empty">
            <script type="application/ld+json">{"@type": "Product", "sku": "L-5"}</script>
            <p>A lamp</p><script>
              const late = document.createElement("script");
              late.type = "application/LD+json"; late.textContent = '{"price": 5}';
              document.body.append(late)</script>""",
        "/bare": "<p>nothing</p>",
    }
    page = browser.render(server.url("/thing?id=5&utm_source=x"))
    assert page.metadata is not None
    assert page.metadata.canonical == server.url("/lamp?id=5")
    assert page.metadata.properties == (
        ("og:title", "A lamp"),
        ("og:image", "/1.jpg"),
        ("product:price:amount", "19.90"),
    )
    assert page.metadata.json_ld == ('{"@type": "Product", "sku": "L-5"}', '{"price": 5}')
    bare = browser.render(server.url("/bare")).metadata
    assert bare is not None
    assert (bare.canonical, bare.properties, bare.json_ld) == ("", (), ())


def test_json_ld_is_bounded(
    server: Server, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "MOST_JSON", 50)
    block = "<script type='application/ld+json'>{}</script>"
    server.pages = {
        "/much": "<p>much</p>"
        + "".join(block.format(text) for text in ('"a"', '"' + "x" * 50 + '"', '"b"'))
    }
    page = browser.render(server.url("/much"))
    assert page.metadata is not None
    assert page.metadata.json_ld == ('"a"', '"b"')


def test_the_document(server: Server, browser: Browser) -> None:
    server.pages = {
        "/tree": """<!doctype html><html lang=en><head><title>A tree</title><style>p{}</style>
            <meta name=description content=x><link rel=icon href=data:,></head>
            <body class="b  a"><!-- said --><p id=p  data-n="a
             b">one <b>two</b>  three</p><script nonce=n>
              const late = document.createElement("i");
              late.textContent = "late"; document.body.append(late);
            </script><noscript>never</noscript><template><p>never</p></template>
            <form action="/s?q=1"><input name=attributes><input type=hidden name=t value=v></form>
            <div id=host></div><iframe srcdoc="<p>framed</p>"></iframe>
            <script>host.attachShadow({mode: "open"}).innerHTML = "<u>shadow</u>"</script>""",
    }
    assert show(browser.render(server.url("/tree"))) == [
        "html lang=en",
        " title",
        "  A tree",
        " body class=a b",
        "  p data-n=a b id=p",
        "   one",
        "   b",
        "    two",
        "   three",
        "  i",
        "   late",
        "  form action=/s?q=1",
        "   input name=attributes",
        "   input name=t type=hidden value=v",
        "  div id=host",
        "   #shadow",
        "    u",
        "     shadow",
        "  iframe srcdoc=<p>framed</p>",
        "   #document",
        "    html",
        "     body",
        "      p",
        "       framed",
    ]


def test_a_document_without_end(
    server: Server, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "MOST_NODES", 10)
    monkeypatch.setattr(document, "LONGEST", 20)
    lines = [f"<p>line {n}</p>" for n in range(20)]
    deep = """<script>let at = document.body;
        for (let n = 0; n < 400; n++) at = at.appendChild(document.createElement("b"))</script>"""
    server.pages = {
        "/a": "".join(lines),
        "/b": "".join(lines).replace("line 19", "line 91"),
        "/long": f"<p>{'word ' * 50}</p><p>{'word ' * 49}other</p>",
        "/deep": "<p>deep</p>" + deep,
    }
    a, b = browser.render(server.url("/a")), browser.render(server.url("/b"))
    assert len(a.dom) == 11
    assert a.dom[10].text.startswith("32 further nodes #")
    assert a.dom[:10] == b.dom[:10]
    assert a.dom[10] != b.dom[10]
    one, other = [n.text for n in browser.render(server.url("/long")).dom if n.text]
    assert one.startswith("word word")
    assert one != other
    assert len(one) < 50
    assert browser.render(server.url("/deep")).outcome == "seen"


def _latin(request: Request) -> None:
    request.answer(200, "text/html; charset=iso-8859-1", "<p>Stra\xdfe".encode("iso-8859-1"))


def test_the_body(server: Server, browser: Browser) -> None:
    sent = "<!doctype html><p>sent</p><script>document.body.append('added')</script>"
    server.pages = {
        "/sent": sent,
        "/there": lambda r: r.html("", 302, Location="/sent"),
        "/on": "<script>location.replace('/sent')</script>",
        "/latin": _latin,
        "/big": lambda r: r.html("<p>big" + "x" * 300_000),
        "/huge": lambda r: r.html("<p>huge<!--" + "x" * 9_000_000),
        "/packed": lambda r: r.answer(
            200,
            "text/html",
            gzip.compress(b"<p>huge<!--" + b"x" * 9_000_000),
            Content_Encoding="gzip",
        ),
    }
    for path in ("/sent", "/there", "/on"):
        page = browser.render(server.url(path))
        assert page.body is not None
        assert page.body.beginning.decode() == sent, path
        assert page.body.size == len(sent)
        assert page.body.sha256 == hashlib.sha256(sent.encode()).hexdigest()
    latin = browser.render(server.url("/latin"))
    assert latin.body is not None
    assert latin.text == "Straße"
    assert latin.body.size > 0
    big = browser.render(server.url("/big")).body
    assert big is not None
    assert (len(big.beginning), big.size) == (262_144, 300_021)
    for path in ("/huge", "/packed"):
        huge = browser.render(server.url(path))
        assert (huge.outcome, huge.body) == ("seen", None), path
        assert get("body").of(huge).unstable


def test_complaints_are_kept_and_chatter_is_not(server: Server, browser: Browser) -> None:
    server.pages = {
        "/talk": """<h1>Talk</h1><script>
            for (let n = 0; n < 100000; n++) console.log("message", n, {n});
            console.error("broken:", {a: 1}, new TypeError("no"));
            setTimeout(() => { throw new Error("later") }, 10);
            Promise.reject(new Error("promised"));
            nowhere();
            </script>""",
        "/flood": """<h1>Flood</h1><script>
            for (let n = 0; n < 100000; n++) console.error("x".repeat(9999))</script>""",
        "/calm": "<p>calm</p>",
    }
    page = browser.render(server.url("/talk"))
    assert page.outcome == "seen"
    assert page.errors[0] == "broken: [object Object] TypeError: no"
    assert "nowhere is not defined" in page.errors[1]
    assert any("later" in line for line in page.errors)
    flood = browser.render(server.url("/flood"))
    assert flood.outcome == "seen"
    assert len(flood.errors) == 20
    assert max(map(len, flood.errors)) <= 300
    assert browser.render(server.url("/calm")).errors == ()


def test_only_what_is_asked_for_is_read(server: Server, plain: Browser, monkeypatch) -> None:
    shots: list[int] = []
    powers = type(plain._driver.powers(None)) if plain._driver else None  # type: ignore[arg-type]
    real = powers.shoot
    monkeypatch.setattr(powers, "shoot", lambda self, high: shots.append(high) or real(self, high))
    server.pages = {
        "/words": "<title>T</title><p>words</p>",
        "/white": "<body style='background:white'></body>",
        "/drawn": "<canvas id=c width=50 height=50></canvas>"
        "<script>c.getContext('2d').fillRect(0, 0, 9, 9)</script>",
        "/login": "<title>Log in</title><h1>Log in</h1><input type=password>",
    }
    page = plain.render(server.url("/words"))
    assert (page.outcome, page.text, page.title) == ("seen", "words", "T")
    assert (page.pixels, page.metadata, page.dom, page.body) == (None, None, (), None)
    assert plain.render(server.url("/login")).outcome == "login"
    assert not shots
    blank = plain.render(server.url("/white"))
    assert (blank.outcome, blank.reason) == ("blank", "nothing is drawn")
    drawn = plain.render(server.url("/drawn"))
    assert (drawn.outcome, drawn.pixels) == ("seen", None)
    assert len(shots) == 2, "where no words are, a picture shows whether there is anything"


def test_the_steps_are_timed(server: Server, plain: Browser) -> None:
    server.pages = {"/x": "<p>x</p>"}
    page = plain.render(server.url("/x"))
    assert {"navigation", "settle", "leaves"} <= set(page.phases)
    assert sum(page.phases.values()) <= page.milliseconds


def test_there_is_no_such_part() -> None:
    with pytest.raises(ValueError, match="a page has no part smell"):
        Browser(needs=frozenset({"dom", "smell"}))  # type: ignore[arg-type]
