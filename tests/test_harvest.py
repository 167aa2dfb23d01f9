"""What is read from a page: its links, its title, its canonical address, its fingerprint."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import urls
from miqps.eligibility import unfit
from miqps.harvest import Harvest, distance, fingerprint, read
from miqps.observation import Document

PAGE = "https://shop.example/a/b/list?page=2#top"


def harvest(
    html: str | bytes,
    content_type: str = "text/html; charset=utf-8",
    url: str = PAGE,
    *,
    other_sites: bool = False,
) -> Harvest:
    body = html if isinstance(html, bytes) else html.encode()
    return read(Document(200, content_type, body), url, other_sites=other_sites)


def links(html: str | bytes, content_type: str = "text/html; charset=utf-8") -> list[str]:
    return list(harvest(html, content_type).links)


def link(href: str) -> str | None:
    found = links(f'<a href="{href}">x</a>')
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("href", "wanted"),
    [
        ("https://shop.example/p?a=1", "https://shop.example/p?a=1"),
        ("//shop.example/p?a=1", "https://shop.example/p?a=1"),
        ("/p?a=1", "https://shop.example/p?a=1"),
        ("p?a=1", "https://shop.example/a/b/p?a=1"),
        ("./p?a=1", "https://shop.example/a/b/p?a=1"),
        ("../p?a=1", "https://shop.example/a/p?a=1"),
        ("../../../../p?a=1", "https://shop.example/p?a=1"),
        ("?a=1", "https://shop.example/a/b/list?a=1"),
        ("?flag", "https://shop.example/a/b/list?flag"),
        ("?=5", "https://shop.example/a/b/list?=5"),
        ("/p/./q/../r?a=1", "https://shop.example/p/r?a=1"),
        ("/p/%2e%2E/q?a=1", "https://shop.example/q?a=1"),
        ("/p/..?a=1", "https://shop.example/?a=1"),
        ("/p//q?a=1", "https://shop.example/p//q?a=1"),
        ("/p?a=../b", "https://shop.example/p?a=../b"),
        ("/p?a=1#part", "https://shop.example/p?a=1"),
        ("/p?a=1#b?c", "https://shop.example/p?a=1"),
        (" \n /p?a=1 \t ", "https://shop.example/p?a=1"),
        ("/p?a=1\n&amp;b=\t2", "https://shop.example/p?a=1&b=2"),
        ("ht\ntps://shop.example/p?a=1", "https://shop.example/p?a=1"),
        ("/p?a=1&amp;b=2", "https://shop.example/p?a=1&b=2"),
        ("/p?a=1&b=2", "https://shop.example/p?a=1&b=2"),
        ("/p?a=1&copy=2&lang=en", "https://shop.example/p?a=1&copy=2&lang=en"),
        ("/p?a=1&#38;b=2", "https://shop.example/p?a=1&b=2"),
        ("/p?a=b c", "https://shop.example/p?a=b%20c"),
        ("/p?a=b+c%20d", "https://shop.example/p?a=b+c%20d"),
        ("/p q?a=1", "https://shop.example/p%20q?a=1"),
        ("/p?a=%7e%C3%a9%zz%", "https://shop.example/p?a=%7e%C3%a9%zz%"),
        ("/p?a=&quot;&lt;'`{}|^", "https://shop.example/p?a=%22%3C%27`{}|^"),
        ("/p{}`^?a=1", "https://shop.example/p%7B%7D%60%5E?a=1"),
        ("/pé?a=é€", "https://shop.example/p%C3%A9?a=%C3%A9%E2%82%AC"),
        ("\\p\\q?a=\\b", "https://shop.example/p/q?a=\\b"),
        ("\\\\shop.example\\p?a=1", "https://shop.example/p?a=1"),
        ("https:/p?a=1", "https://shop.example/p?a=1"),
        ("https:p?a=1", "https://shop.example/a/b/p?a=1"),
        ("HTTPS://SHOP.EXAMPLE:443/p?a=1", "https://shop.example/p?a=1"),
        ("https://sh%6Fp.example/p?a=1", "https://shop.example/p?a=1"),
        ("https://shop.example?a=1", "https://shop.example/?a=1"),
        ("/p;v=1?a=1", "https://shop.example/p;v=1?a=1"),
        ("/p?a=1?b=2", "https://shop.example/p?a=1?b=2"),
        ("/p?a&&b=&", "https://shop.example/p?a&&b=&"),
        ("/p?u=https://other.example/?c=1", "https://shop.example/p?u=https://other.example/?c=1"),
        # Left out: no address of a page, no parameter, another site, a deed or worse.
        ("", None),
        ("/p", None),
        ("/p?", None),
        ("/p?#a=1", None),
        ("#?a=1", None),
        ("javascript:go('/p?a=1')", None),
        ("mailto:me@mail.example?subject=x", None),
        ("data:text/html,?a=1", None),
        ("tel:5?a=1", None),
        ("ftp://shop.example/p?a=1", None),
        ("https://other.example/p?a=1", None),
        ("https://www.shop.example/p?a=1", None),
        ("http://shop.example:8080/p?a=1", None),
        ("https://me:secret@shop.example/p?a=1", None),
        ("https://sh op.example/p?a=1", None),
        ("https://shop.example:99999/p?a=1", None),
        ("https://[::1/p?a=1", None),
        ("https:///?a=1", None),
        ("/logout?a=1", None),
        ("/cart?action=delete&item=5", None),
        ("/p?X-Amz-Signature=5", None),
        ("/p?a=" + "x" * 9000, None),
    ],
    ids=lambda value: str(value)[:40].encode("unicode_escape").decode(),
)
def test_link(href: str, wanted: str | None) -> None:
    assert link(href) == wanted


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<a href='?a=1' rel=nofollow>", []),
        ("<a href='?a=1' rel='external NoFollow'>", []),
        ("<a href='?a=1' rel='external'>", ["?a=1"]),
        ("<a href='?a=1' download>", []),
        ("<a href='?a=1' download=x.zip>", []),
        ("<area href='?a=1'>", ["?a=1"]),
        ("<form><a href='?a=1'>x</a></form>", ["?a=1"]),
        ("<p hidden><a href='?a=1'>x</a>", ["?a=1"]),
        ("<svg><a href='?a=1'>x</a></svg>", ["?a=1"]),
        ("<link rel=next href='?a=1'><link rel='PREV x' href='?a=2'>", ["?a=1", "?a=2"]),
        ("<link rel=alternate hreflang=de href='?a=1'>", []),
        ("<link rel=stylesheet href='?a=1'>", []),
        ("<link rel='next nofollow' href='?a=1'>", []),
        ("<img src='?a=1'><iframe src='?a=1'></iframe><form action='?a=1'>", []),
        ("<template><a href='?a=1'></template>", []),
        ("<noscript><a href='?a=1'></noscript>", []),
        ("<!-- <a href='?a=1'> --><script>'<a href=?a=1>'</script>", []),
        ("<textarea><a href='?a=1'></textarea>", []),
        ("<a name=x>", []),
        ("<a href>", []),
        ("<a href=?a=1>1<a href=?a=1>1<a href=/a/b/list?a=1#x>1", ["?a=1"]),
        ("<A HREF=?a=1>1", ["?a=1"]),
        ("<a href=?a=1 href=?a=2>1", ["?a=1"]),
        ("<a href='?a=1'", []),
        ("<a href='?a=1", []),
        ("<a href=?b=2><a href=?a=1><a href=?c=3>", ["?b=2", "?a=1", "?c=3"]),
        ("<meta name=robots content=nofollow><a href=?a=1>", []),
        ("<meta name=ROBOTS content='noindex, NoFollow'><a href=?a=1>", []),
        ("<meta name=robots content=none><a href=?a=1>", []),
        ("<meta name=robots content='noindex,follow'><a href=?a=1>", ["?a=1"]),
        ("<meta name=robots><a href=?a=1>", ["?a=1"]),
    ],
)
def test_which_links(html: str, wanted: list[str]) -> None:
    assert links(html) == [f"https://shop.example/a/b/list{query}" for query in wanted]


@pytest.mark.parametrize(
    ("base", "wanted"),
    [
        ("<base href='/x/'>", "https://shop.example/x/p?a=1"),
        ("<base href='x/y'>", "https://shop.example/a/b/x/p?a=1"),
        ("<base href='https://shop.example:443/z/'>", "https://shop.example/z/p?a=1"),
        ("<base target=_top><base href='/x/'><base href='/y/'>", "https://shop.example/x/p?a=1"),
        ("<base href=''>", "https://shop.example/a/b/p?a=1"),
        ("<base href='https://['>", "https://shop.example/a/b/p?a=1"),
        ("<base href='data:text/html,'>", "https://shop.example/a/b/p?a=1"),
        ("<base href='javascript:x'>", "https://shop.example/a/b/p?a=1"),
        ("<base href='https://other.example/'>", None),
    ],
)
def test_base(base: str, wanted: str | None) -> None:
    assert links(f"{base}<a href='p?a=1'>") == ([wanted] if wanted else [])


@pytest.mark.parametrize(
    ("content_type", "body", "wanted"),
    [
        ("text/html", b"<meta charset=utf-8><a href=?a=\xc3\xa9>", "%C3%A9"),
        ("text/html", b"<meta charset=iso-8859-1><a href=?a=\xe9>", "%E9"),
        ("text/html; charset=ISO-8859-1", b"<a href=?a=\xe9>", "%E9"),
        ('text/html; charset="iso-8859-1"', b"<meta charset=utf-8><a href=?a=\xe9>", "%E9"),
        ("text/html;charset=iso-8859-1", b"\xef\xbb\xbf<a href=?a=\xc3\xa9>", "%C3%A9"),
        ("text/html; charset=no-such", b"<meta charset=iso-8859-1><a href=?a=\xe9>", "%E9"),
        (
            "text/html",
            b'<meta http-equiv=content-type content="text/html; charset=koi8-r"><a href=?a=\xd0>',
            "%D0",
        ),
        ("text/html; charset=shift_jis", "<a href=?a=表>".encode("shift_jis"), "%95\\"),
        ("text/html; charset=gbk", "<a href=?a=中>".encode("gbk"), "%D6%D0"),
        ("text/html; charset=utf-16le", "<a href=?a=é>".encode("utf-16le"), "%C3%A9"),
        ("text/html; charset=iso-8859-1", b"<a href='?a=&#28450;'>", "%26%2328450%3B"),
        ("text/html; charset=iso-8859-1", b"<a href='?a=&euro;%E9+&eacute;'>", "%80%E9+%E9"),
        ("text/html; charset=replacement", b"<a href=?a=1>", None),
        ("text/html; charset=x-user-defined", b"<a href=?a=1>", "1"),
    ],
)
def test_queries_are_sent_in_the_charset_of_the_page(
    content_type: str, body: bytes, wanted: str | None
) -> None:
    found = harvest(body, content_type).links
    assert found == ((f"https://shop.example/a/b/list?a={wanted}",) if wanted else ())


def test_a_path_is_sent_as_utf_8_whatever_the_charset() -> None:
    html = b"<base href=/\xe9/><a href='\xe9?a=\xe9'>"
    assert links(html, "text/html; charset=iso-8859-1") == [
        "https://shop.example/%C3%A9/%C3%A9?a=%E9"
    ]


def test_other_sites_on_request() -> None:
    html = "<a href=?a=1><a href=//other.example/?a=1><a href=http://shop.example:81/?a=1>"
    assert harvest(html, other_sites=True).links == (
        "https://shop.example/a/b/list?a=1",
        "https://other.example/?a=1",
        "http://shop.example:81/?a=1",
    )


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("HTTPS://Shop.Example:443/", "https://shop.example/p?a=1"),
        ("https://faß.example/", "https://xn--fa-hia.example/p?a=1"),
        ("http://127.1:8000/", "http://127.0.0.1:8000/p?a=1"),
        ("http://[::1]:8000/", "http://[::1]:8000/p?a=1"),
        ("ftp://shop.example/", None),
        ("shop.example", None),
        ("", None),
        ("\udce9", None),
    ],
)
def test_address_of_the_page(url: str, wanted: str | None) -> None:
    html = "<a href='/p?a=1'><a href='https://other.example/?a=1'>"
    assert harvest(html, url=url).links == ((wanted,) if wanted else ())


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>A shop</title>", "A shop"),
        ("<title>\n  A \t shop&nbsp; &amp; more\n</title>", "A shop & more"),
        ("<title>a\x1b[31mb\x07</title>", "a [31mb"),
        ("<title></title><svg><title>Menu</title></svg>", ""),
        ("<svg><title>Menu</title></svg><title>A shop</title>", "A shop"),
        ("<title>one</title><title>two</title>", "one"),
        ("<title>A <b>bold</b> title</title>", "A <b>bold</b> title"),
        (f"<title>{'x' * 500}</title>", "x" * 300),
        ("<p>text", ""),
    ],
)
def test_title(html: str, title: str) -> None:
    assert harvest(html).answer.title == title


@pytest.mark.parametrize(
    ("html", "canonical"),
    [
        ("<link rel=canonical href=/p?id=7>", "https://shop.example/p?id=7"),
        ("<link rel='x CANONICAL' href='p#a'>", "https://shop.example/a/b/p"),
        ("<link rel=canonical href=https://other.example>", "https://other.example/"),
        ("<base href=/x/><link rel=canonical href=p>", "https://shop.example/x/p"),
        ("<link rel=canonical href=/p><link rel=canonical href=/q>", "https://shop.example/p"),
        ("<link rel=canonical href='javascript:x'>", ""),
        ("<link rel=canonical href='https://['>", ""),
        ("<link rel=canonical>", ""),
        (f"<link rel=canonical href=/{'x' * 2000}>", ""),
        ("<a rel=canonical href=/p>", ""),
    ],
)
def test_canonical(html: str, canonical: str) -> None:
    assert harvest(html).answer.canonical == canonical


def test_answer_carries_what_the_document_said() -> None:
    answer = read(Document(404, "text/html", b"<p>text", cookies_sent=True), PAGE).answer
    assert (answer.status, answer.cookies_sent) == (404, True)


WORDS = random.Random(1).choices([f"w{number}" for number in range(3000)], k=400)
TEXT = " ".join(WORDS)


@pytest.mark.parametrize(
    ("other", "least", "most"),
    [
        (TEXT, 0, 0),
        (TEXT.upper().replace(" ", "\n - "), 0, 0),
        (TEXT.replace(WORDS[200], "changed"), 0, 8),
        (" ".join(WORDS[:-4]), 0, 8),
        (" ".join([*WORDS[:200], "one", "two", "three", *WORDS[200:]]), 0, 8),
        (" ".join(random.Random(2).choices(WORDS[:200], k=400)), 9, 40),
        (" ".join(random.Random(2).choices([f"v{n}" for n in range(3000)], k=400)), 20, 44),
        ("please sign in to go on", 20, 44),
    ],
    ids=["same", "layout", "word", "end", "three more", "half", "other", "short"],
)
def test_near_texts_have_near_fingerprints(other: str, least: int, most: int) -> None:
    assert least <= distance(fingerprint(TEXT), fingerprint(other)) <= most


def test_fingerprint_is_the_same_for_ever() -> None:
    # Stored ones are compared with new ones.
    fixed = -7590882820207054201
    assert fingerprint("Running shoes, 7 colours") == fixed
    assert fingerprint("") == fingerprint(" - ") == 0
    assert distance(-1, 0) == 64
    assert distance(fixed, fixed ^ 5) == 2


def test_fingerprint_of_a_language_without_spaces() -> None:
    text = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
    assert distance(fingerprint(text), fingerprint(text + "何")) <= 12


def test_fingerprint_sees_what_a_reader_sees() -> None:
    plain = "<title>A</title><p>Some text of a page"
    hidden = "<title>B</title><style>x{}</style><script>y()</script><p>Some text of a page"
    hidden += "<p hidden>z</p><noscript>n</noscript><template>t</template><!-- c -->"
    assert harvest(plain).answer.fingerprint == harvest(hidden).answer.fingerprint
    assert harvest(plain).answer.fingerprint == fingerprint("Some text of a page")


def _listing(products: int) -> str:
    cards = "".join(
        f"<li><a href='/p/{n}?ref=list&amp;pos={n}'>Shoe {n}</a> "
        f"<a href='/p/{n}?ref=list&amp;pos={n}#reviews'>reviews</a> "
        f"<a href='/cart/add?id={n}'>Buy</a> <a rel=nofollow href='/compare?id={n}'>Compare</a>"
        for n in range(products)
    )
    return (
        "<!doctype html><html lang=en><title>Shoes</title><link rel=next href='?page=3'>"
        "<nav><a href=/>Home</a><a href='/login?next=/list'>Log in</a></nav>"
        "<form><a href='?color=red&amp;page=1'>red</a><a href='?color=blue&amp;page=1'>blue</a>"
        f"</form><ul>{cards}</ul><a href='?page=1'>1</a><a href='?page=3'>3</a>"
        "<a href='https://facebook.example/share?u=x'>share</a>"
    )


def test_listing_page() -> None:
    found = links(_listing(40))
    assert len(found) == 40 + 2 + 2
    assert len({urls.context_of(link) for link in found}) == 3
    assert all(unfit(link) is None for link in found)
    assert "https://shop.example/p/39?ref=list&pos=39" in found


def test_of_too_many_links_each_context_gives_some() -> None:
    html = _listing(3000)
    found = links(html)
    assert len(found) == 500
    assert "https://shop.example/a/b/list?color=red&page=1" in found
    assert "https://shop.example/a/b/list?page=1" in found
    positions = [int(link.rpartition("=")[2]) for link in found if "pos=" in link]
    assert min(positions) < 100
    assert max(positions) > 2900
    # The choice depends on the links, not on where they stand.
    assert sorted(found) == sorted(links("".join(f"<a href='{link}'>" for link in found[::-1])))
    assert links(html) == found


def test_a_flood_of_links() -> None:
    html = "".join(f"<a href='/p{n % 7}?n{n}=1'>" for n in range(20_000))
    assert len(links(html)) == 500


DEEP = 100_000


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * DEEP + "<a href=?a=1>",
        "<p><b><i><a href=?a=1>" * (DEEP // 4),
        "<table><tr><td>" * (DEEP // 3) + "<a href=?a=1>",
        "<ul><li>" * (DEEP // 2) + "<a href=?a=1>",
        "<svg><foreignObject>" * (DEEP // 20) + "<a href=?a=1>",
        "<p hidden>" * DEEP + "<a href=?a=1>",
        "<template>x</template>" * (DEEP // 4) + "<a href=?a=1>",
        f"<p {' '.join(f'a{n}=1' for n in range(DEEP))}><a href=?a=1>",
        "\0" * DEEP + "<a\0href=?a=1><a href=?a=1>",
        "&NotEqualTilde;" * (DEEP // 4) + "<a href=?a=1>",
        "<a href=?a=1><!--" + "<a href=?a=2>" * DEEP,
        "<a href=?a=1><plaintext>" + "<a href=?a=2>" * DEEP,
        "<a href=?a=1><table><tr><td>" + "y" * DEEP + "<td>b<tr><td>x" * 20_000,
        "<a href=?a=1>" + "<a href='?b=" * DEEP,
        "<base href=" + "../" * DEEP + "><a href=/a/b/list?a=1>",
    ],
    ids=lambda html: html[:25].encode("unicode_escape").decode(),
)
def test_hostile_page(html: str) -> None:
    assert "https://shop.example/a/b/list?a=1" in links(html)


def test_what_is_beyond_the_first_mebibyte_is_not_read() -> None:
    filler = "x" * (1 << 20)
    assert links(f"<a href=?a=1>{filler}<a href=?a=2>") == ["https://shop.example/a/b/list?a=1"]


markup = st.lists(
    st.sampled_from(
        [
            *(
                "<a href=",
                "'?a=1'",
                '"/p?b=2',
                ">",
                "<",
                "/",
                "=",
                "'",
                "\0",
                "&",
                "&#x0;",
                "\ud800",
            ),
            *("<base href=", "<link rel=canonical href=", "<meta charset=", "shift_jis", "utf-16"),
            *("<title>", "</title>", "<svg>", "<template>", "<select><option>", "<table>", "</p>"),
            *("//[", "https:", "\\", "?", "#", "é", "漢", "<!--", "<script>", "<p hidden>"),
        ]
    )
    | st.text(max_size=5),
    max_size=40,
).map(lambda pieces: "".join(pieces).encode("utf-8", "surrogatepass"))
charsets = st.sampled_from(["utf-8", "utf-16", "gb18030", "iso-2022-jp", "euc-kr", "x", ""])


@given(markup | st.binary(max_size=200), charsets, st.booleans())
def test_any_bytes_can_be_read(body: bytes, charset: str, other_sites: bool) -> None:
    document = Document(200, f"text/html; charset={charset}", body)
    found = read(document, PAGE, other_sites=other_sites)
    assert -(2**63) <= found.answer.fingerprint < 2**63
    assert found.answer.title.encode().decode() == found.answer.title
    assert found.answer.canonical.isascii()
    for link in found.links:
        assert unfit(link) is None
        assert link.isascii()
        assert "#" not in link
        assert other_sites or urls.site(link) == "shop.example"
    assert read(document, PAGE, other_sites=other_sites) == found


@given(st.text(), st.text())
def test_distance_of_any_texts(one: str, other: str) -> None:
    a, b = fingerprint(one), fingerprint(other)
    assert 0 <= distance(a, b) == distance(b, a) <= 64


@pytest.mark.parametrize("charset", ["", "frob", "\udcff", "utf-8\0", "é", "x" * 10_000])
def test_a_charset_that_is_none_costs_nothing(charset: str) -> None:
    page = Document(
        200, f"text/html; charset={charset}", b'<title>A</title><a href="/p?id=1">x</a>'
    )
    assert read(page, "https://shop.example/").links == ("https://shop.example/p?id=1",)
