"""Sitemaps, and XML that means harm."""

from __future__ import annotations

import codecs

import pytest

from miqps.formats import sitemap as sitemaps
from miqps.formats.entry import BadLine, Entry, Source
from tests.test_formats import Pipe, given, reasons, urls

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
URL = "https://shop.example/p?id=1&utm_source=mail"
LOC = f"<url><loc>{URL.replace('&', '&amp;')}</loc><lastmod>2026-01-02</lastmod></url>"


def sitemap(inside: str = LOC, root: str = "urlset", head: str = "<?xml version='1.0'?>") -> bytes:
    return f"{head}<{root} {NAMESPACE}>{inside}</{root}>".encode()


TAKEN: list[tuple[str, bytes]] = [
    ("plain", sitemap()),
    ("no head", sitemap(head="")),
    ("no namespace", b"<urlset>" + LOC.encode() + b"</urlset>"),
    ("prefix", sitemap().replace(b"url>", b"s:url>").replace(b"loc>", b"s:loc>")
     .replace(b"xmlns=", b"xmlns:s=")),
    ("spaces", sitemap(LOC.replace("<loc>", "<loc>\n  ").replace("</loc>", "\t</loc>"))),
    ("CDATA", sitemap(f"<url><loc><![CDATA[{URL}]]></loc></url>")),
    ("numbers", sitemap(LOC.replace("&amp;", "&#38;"))),
    ("comment", sitemap(LOC.replace("mail", "ma<!-- x -->il"))),
    ("pictures", sitemap(LOC.replace("</url>",
     "<image:image xmlns:image='i'><image:loc>https://a.example/?x=1</image:loc></image:image></url>"
    ))),
    ("a style", sitemap(head="<?xml version='1.0'?><?xml-stylesheet href='x'?><!-- y -->")),
    ("a doctype", sitemap(head="<!DOCTYPE urlset SYSTEM 'http://127.0.0.1:1/x.dtd'>")),
    ("a mark", codecs.BOM_UTF8 + sitemap()),
    ("UTF-16", sitemap(head="<?xml version='1.0' encoding='UTF-16'?>").decode().encode("utf-16")),
    ("Latin-1", sitemap(head="<?xml version='1.0' encoding='windows-1252'?>")),
]  # fmt: skip


@pytest.mark.parametrize("content", [case[1] for case in TAKEN], ids=[case[0] for case in TAKEN])
def test_pages_of_a_sitemap(content: bytes) -> None:
    assert given(content) == [Entry(1, URL)]


def test_an_index_lists_only() -> None:
    inside = "<sitemap><loc>https://shop.example/sitemap.xml?page=1</loc></sitemap>" * 2
    reason = "a sitemap, not a page"
    assert given(sitemap(inside, "sitemapindex")) == [BadLine(1, reason), BadLine(2, reason)]


def test_bad_locations_cost_only_themselves() -> None:
    inside = "".join(
        f"<url><loc>{text}</loc></url>"
        for text in ("", "/p?id=1", "https://a.example/p", "https://a.example/p?x=" + "1" * 99_999)
    )
    found = given(sitemap(inside + LOC))
    assert reasons(found) == [
        "not http or https", "not http or https", "no named parameter", "too long",
    ]  # fmt: skip
    assert found[-1] == Entry(5, URL)


LAUGHS = (
    "<!DOCTYPE urlset [<!ENTITY a '"
    + "ha" * 99
    + "'>"
    + "".join(f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(12))
    + "]>"
)
SECRET = "<!DOCTYPE urlset [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"
PARAMETER = "<!DOCTYPE urlset [<!ENTITY % a SYSTEM 'http://127.0.0.1:1/x'> %a;]>"
REFUSED = "XML entities are refused"
DAMAGED: list[tuple[str, bytes, str]] = [
    ("billion laughs", sitemap("<url><loc>&m;</loc></url>", head=LAUGHS), REFUSED),
    ("file", sitemap("<url><loc>&a;</loc></url>", head=SECRET), REFUSED),
    ("fetch", sitemap(head=PARAMETER), REFUSED),
    ("unknown entity", sitemap("<url><loc>&nbsp;</loc></url>"), "broken XML"),
    ("not XML", b"<?xml version='1.0'?>?", "broken XML"),
    ("cut off", sitemap("<url><loc>")[:-9], "the file ends in the middle"),
    ("a feed", b"<?xml version='1.0'?><rss><url><loc>x</loc></url></rss>", "not a sitemap"),
    ("a page", b"<!DOCTYPE html><html><p>", "not a sitemap"),
    ("deep", sitemap("<a>" * 10_000), "broken XML"),
    ("endless tag", sitemap("<a " + "b" * 3_000_000), "broken XML"),
    ("endless comment", sitemap("<!-- " + "b" * 3_000_000), "broken XML"),
    ("encoding", sitemap(head="<?xml version='1.0' encoding='frob'?>"), "broken XML"),
    ("wide encoding", sitemap(head="<?xml version='1.0' encoding='big5'?>"), "broken XML"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "reason"), [case[1:] for case in DAMAGED],
                         ids=[case[0] for case in DAMAGED])  # fmt: skip
def test_harmful_and_broken_files_end_with_a_reason(content: bytes, reason: str) -> None:
    assert given(content, format="sitemap") == [BadLine(1, reason)]


def test_what_stands_before_the_damage_counts() -> None:
    found = given(sitemap(LOC * 3 + "<url></loc>"))
    assert found == [*(Entry(number, URL) for number in (1, 2, 3)), BadLine(4, "broken XML")]


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
def test_pieces_of_any_size(size: int) -> None:
    content = sitemap(LOC.replace("mail", "é") * 5)
    found = list(sitemaps.entries(Source(Pipe([content], size))))
    assert urls(found) == [URL.replace("mail", "é")] * 5
