"""Web archives and their indexes: files of wget, warcio and cdxj-indexer, and damaged ones."""

from __future__ import annotations

import gzip
import io
from typing import Any

import brotli
import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from miqps.formats.entry import BadLine, Entry
from tests.test_formats import DATA, given, reasons, urls

BASE = "http://127.0.0.1:8751"
PAGE = "<p>é <a href='/p?id=9'>9</a></p>".encode()


def test_a_warc_of_wget() -> None:
    found = given((DATA / "wget.warc.gz").read_bytes())
    assert [(entry.number, entry.url) for entry in found if isinstance(entry, Entry)] == [
        (3, f"{BASE}/p?id=7&utm_source=mail"),
        (5, f"{BASE}/gz?id=3"),
        (7, f"{BASE}/latin?id=2"),
        (15, f"{BASE}/p?id=12&utm_source=redirect"),
        # Without a parameter: its links are worth reading.
        (19, f"{BASE}/p"),
    ]
    assert reasons(found) == [
        "no document", "no document", "status", "status", "method", "authorization",
    ]  # fmt: skip
    pages = [entry for entry in found if isinstance(entry, Entry)]
    assert {entry.visited for entry in pages} == {False}
    assert pages[0].seen == "2026-12-01T04:08:02Z"
    packed, latin = pages[1].document, pages[2].document
    assert packed
    assert latin
    assert packed.body == "<p>gz <a href='/p?id=10'>10</a> é</p>".encode()
    assert (packed.status, packed.content_type) == (200, "text/html; charset=utf-8")
    assert latin.body == "<p>café <a href='/p?id=11'>11</a></p>".encode("latin-1")
    assert latin.content_type == "text/html; charset=iso-8859-1"
    # wget sends back the cookie that it got with the first answer.
    assert [entry.document.cookies_sent for entry in pages if entry.document] == [
        False, True, True, True, True,
    ]  # fmt: skip


INDEXED = [
    f"{BASE}/p?id=7&utm_source=mail",
    f"{BASE}/gz?id=3",
    f"{BASE}/latin?id=2",
    f"{BASE}/p?id=12&utm_source=redirect",
]


@pytest.mark.parametrize("name", ["wget.cdx", "cdxj_indexer.cdxj", "cdxj_indexer_11.cdx"])
def test_indexes_of_that_warc(name: str) -> None:
    content = (DATA / name).read_bytes()
    found = given(content)
    assert urls(found)[:4] == INDEXED
    assert {entry.seen[:17] for entry in found if isinstance(entry, Entry)} == {"2026-12-01T04:08:"}
    assert {"no document", "status", "no named parameter"} <= set(reasons(found))
    if name != "wget.cdx":
        # Only with `-p` does an index say what was posted.
        assert ("method" in reasons(found)) == (b"__wb_method" in content)


KEY = "com,example)/p"
CDX: list[tuple[str, str, str | None]] = [
    ("seven fields", f"{KEY} 20200102030405 https://a.example/?x=1 text/html 200 AA 99", None),
    ("three fields", f"{KEY} 20200102030405 https://a.example/?x=1", None),
    ("two fields", f"{KEY} 20200102030405", "broken record"),
    ("unknown kind", f"{KEY} 20200102030405 https://a.example/?x=1 unk - AA", None),
    ("no kind", f"{KEY} 20200102030405 https://a.example/?x=1 - 200 AA", None),
    ("picture", f"{KEY} 20200102030405 https://a.example/?x=1 image/png 200 AA", "no document"),
    ("moved", f"{KEY} 20200102030405 https://a.example/?x=1 text/html 301 AA", "status"),
    ("revisit", f"{KEY} 20200102030405 https://a.example/?x=1 warc/revisit 200 AA", "revisit"),
    ("other scheme", f"{KEY} 20200102030405 dns:a.example text/dns - AA", "no document"),
    ("form", f"{KEY}?__wb_method=post 20200102030405 https://a.example/?x=1 - 200 A", "method"),
    ("CDXJ", KEY + ' 20200102030405 {"url": "https://a.example/?x=1", "status": 200}', None),
    ("nulls", KEY + ' 20200102030405 {"url": "https://a.example/?x=1", "mime": null}', None),
    ("with method", KEY + ' 2020 {"url": "https://a.example/?x=1", "method": "POST"}', "method"),
    ("milliseconds", KEY + ' 20200102030405678 {"url": "https://a.example/?x=1"}', None),
    ("no URL", KEY + ' 20200102030405 {"mime": "text/html"}', "not http or https"),
    ("broken JSON", KEY + ' 20200102030405 {"url": "https://a.example/?x=1",}', "broken record"),
    ("deep JSON", KEY + " 20200102030405 {" + '"a":[' * 9_000 + "}", "broken record"),
    ("overlong", f"{KEY} 20200102030405 https://a.example/?x=" + "1" * 70_000, "too long"),
]


@pytest.mark.parametrize(("line", "reason"), [case[1:] for case in CDX],
                         ids=[case[0] for case in CDX])  # fmt: skip
def test_lines_of_an_index(line: str, reason: str | None) -> None:
    expected = (
        BadLine(2, reason)
        if reason
        else Entry(2, "https://a.example/?x=1", seen="2020-01-02T03:04:05Z")
    )
    assert given(f"!meta\n{line}\n".encode(), format="cdx") == [expected]


def test_a_header_line_names_the_fields() -> None:
    content = (
        b" CDX s a b\n200 https://a.example/?x=1 20200102030405\n404 https://a.example/?x=2 -\n"
    )
    assert given(content) == [
        Entry(2, "https://a.example/?x=1", seen="2020-01-02T03:04:05Z"),
        BadLine(3, "status"),
    ]
    assert given(content.replace(b"200 h", b"\xff\xff h"))[0] == BadLine(2, "not UTF-8")


class _Writer(WARCWriter):  # type: ignore[misc]
    # Its temporary files are never closed, which is a warning here.
    _create_temp_file = staticmethod(io.BytesIO)


class Warc:
    """A WARC that warcio writes, record by record."""

    def __init__(self, *, packed: bool = False) -> None:
        self.file = io.BytesIO()
        self.writer = _Writer(self.file, gzip=packed)

    def add(
        self, kind: str, url: str, first: str, headers: dict[str, str], body: bytes = b"",
        **more: str,
    ) -> Any:  # fmt: skip
        record = self.writer.create_warc_record(
            url, kind, payload=io.BytesIO(body),
            http_headers=StatusAndHeaders(first, [*headers.items()], protocol="HTTP/1.1")
            if kind != "request"
            else StatusAndHeaders(first, [*headers.items()], is_http_request=True),
            warc_headers_dict={"WARC-Date": "2026-01-02T03:04:05.678Z", **more},
        )  # fmt: skip
        self.writer.write_record(record)
        return record.rec_headers.get_header("WARC-Record-ID")

    def page(self, url: str, body: bytes = PAGE, first: str = "200 OK", **headers: str) -> Any:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.add("response", url, first, {"Content-Type": "text/html", **names}, body)

    def request(self, url: str, first: str = "GET / HTTP/1.1", **headers: str) -> Any:
        return self.add("request", url, first, {"Host": "a.example", **headers})

    def content(self) -> bytes:
        return self.file.getvalue()


URL = "https://a.example/?x=%d"
CHUNKED = b"5\r\n" + PAGE[:5] + b"\r\n%x\r\n" % (len(PAGE) - 5) + PAGE[5:] + b"\r\n0\r\n\r\n"
BODIES: list[tuple[str, bytes, dict[str, str], bytes | None]] = [
    ("plain", PAGE, {}, PAGE),
    ("gzip", gzip.compress(PAGE), {"Content_Encoding": "gzip"}, PAGE),
    ("brotli", brotli.compress(PAGE), {"Content_Encoding": "br"}, PAGE),
    ("chunked", CHUNKED, {"Transfer_Encoding": "chunked"}, PAGE),
    ("no longer chunked", PAGE, {"Transfer_Encoding": "chunked"}, PAGE),
    ("no longer gzip", PAGE, {"Content_Encoding": "gzip"}, PAGE),
    ("unknown encoding", b"??", {"Content_Encoding": "future"}, None),
    ("empty", b"", {}, None),
    ("cut off", gzip.compress(PAGE)[:-9], {"Content_Encoding": "gzip"}, PAGE),
    ("big", b"<p>" + b"x" * 9_000_000, {}, b"<p>" + b"x" * (2_097_152 - 3)),
    ("bomb", gzip.compress(bytes(90_000_000)), {"Content_Encoding": "gzip"}, bytes(2_097_152)),
]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("body", "headers", "expected"), [case[1:] for case in BODIES],
                         ids=[case[0] for case in BODIES])  # fmt: skip
def test_bodies_are_given_as_a_browser_reads_them(
    body: bytes, headers: dict[str, str], expected: bytes | None, packed: bool
) -> None:
    warc = Warc(packed=packed)
    warc.page(URL % 1, body, **headers)
    warc.page(URL % 2)
    first, second = given(warc.content())
    assert isinstance(first, Entry)
    assert isinstance(second, Entry)
    assert (first.url, first.seen) == (URL % 1, "2026-01-02T03:04:05Z")
    assert (first.document and first.document.body) == expected
    assert second.document
    assert second.document.body == PAGE


@pytest.mark.parametrize("is_request_first", [True, False])
@pytest.mark.parametrize(
    ("first", "headers", "reason"),
    [
        ("GET /?x=1 HTTP/1.1", {}, None),
        ("POST /?x=1 HTTP/1.1", {}, "method"),
        ("HEAD /?x=1 HTTP/1.1", {}, "method"),
        ("GET /?x=1 HTTP/1.1", {"Authorization": "Basic c2VjcmV0"}, "authorization"),
    ],
)
def test_the_request_beside_a_response_says_how_it_was_asked(
    is_request_first: bool, first: str, headers: dict[str, str], reason: str | None
) -> None:
    warc = Warc()
    for url in (URL % 1, URL % 2):
        if is_request_first:
            warc.request(url, first, **headers)
        warc.page(url)
        if not is_request_first:
            warc.request(url, first, **headers)
    found = given(warc.content())
    assert reasons(found) == ([reason, reason] if reason else [])
    assert urls(found) == ([] if reason else [URL % 1, URL % 2])


def test_requests_belong_by_their_id_too() -> None:
    warc = Warc()
    response = warc.page(URL % 1)
    warc.add("request", "https://a.example/", "POST / HTTP/1.1", {},
             **{"WARC-Concurrent-To": response})  # fmt: skip
    request = warc.request("https://a.example/", "POST / HTTP/1.1")
    warc.add("response", URL % 2, "200 OK", {"Content-Type": "text/html"}, PAGE,
             **{"WARC-Concurrent-To": request})  # fmt: skip
    # A request for something else says nothing.
    warc.request("https://a.example/", "POST / HTTP/1.1")
    warc.page(URL % 3)
    found = given(warc.content())
    assert found[:2] == [BadLine(1, "method"), BadLine(4, "method")]
    assert urls(found) == [URL % 3]


def test_what_else_is_in_a_warc() -> None:
    warc = Warc()
    warc.writer.write_record(warc.writer.create_warcinfo_record("x.warc", {"software": "x"}))
    warc.add("response", URL % 1, "404 Not Found", {"Content-Type": "text/html"}, PAGE)
    warc.add("response", URL % 2, "200 OK", {"Content-Type": "image/png"}, b"x")
    warc.add("response", URL % 3, "200 OK", {}, b"x")
    warc.add("revisit", URL % 4, "200 OK", {"Content-Type": "text/html"})
    warc.writer.write_record(warc.writer.create_warc_record("dns:a", "resource", io.BytesIO(b"x")))
    assert given(warc.content()) == [
        BadLine(2, "status"),
        BadLine(3, "no document"),
        Entry(4, URL % 3, seen="2026-01-02T03:04:05Z"),
        Entry(5, URL % 4, seen="2026-01-02T03:04:05Z"),
    ]


def three_pages() -> tuple[bytes, list[int]]:
    """A WARC of three pages, and where each ends."""
    warc, ends = Warc(), []
    for number in range(3):
        warc.page(URL % number)
        ends.append(len(warc.content()))
    return warc.content(), ends


def test_a_warc_cut_anywhere_gives_what_was_whole() -> None:
    content, ends = three_pages()
    for cut in range(1, len(content)):
        found = given(content[:cut], format="warc")
        # What comes after the page itself are two line breaks.
        whole = sum(end - 4 <= cut for end in ends)
        assert urls(found) == [URL % number for number in range(whole)], cut


DAMAGE: list[tuple[str, bytes, bytes]] = [
    ("no length", b"Content-Length: ", b"Content-Lengthy: "),
    ("bad length", b"Content-Length: ", b"Content-Length: x"),
    ("negative length", b"Content-Length: ", b"Content-Length: -"),
    ("short length", b"Content-Length: 7", b"Content-Length: "),
    ("bad status", b"HTTP/1.1 200", b"HTTP/1.1 2OO"),
    ("no URL", b"WARC-Target-URI", b"WARC-Target-URL"),
    ("other version", b"WARC/1.0", b"WARK/1.0"),
]


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in DAMAGE],
                         ids=[case[0] for case in DAMAGE])  # fmt: skip
def test_a_damaged_record_costs_only_itself(old: bytes, new: bytes) -> None:
    content, ends = three_pages()
    second = content[ends[0] : ends[1]]
    damaged = second.replace(old, new, 1)
    assert damaged != second
    found = given(content[: ends[0]] + damaged + content[ends[1] :])
    assert urls(found)[:1] + urls(found)[-1:] == [URL % 0, URL % 2]
    assert reasons(found) == ["broken record"]


def test_endless_headers_are_no_record() -> None:
    content, _ = three_pages()
    endless = b"WARC/1.0\r\n" + b"X: y\r\n" * 400_000 + b"\r\n"
    assert urls(given(endless + content)) == [URL % 0, URL % 1, URL % 2]


def test_a_length_beyond_the_end_is_an_end_in_the_middle() -> None:
    content, _ = three_pages()
    content = content.replace(b"Content-Length: ", b"Content-Length: 99999999999", 1)
    assert given(content) == [BadLine(1, "the file ends in the middle")]


def test_warcio_does_not_say_urls_aloud(capfd: pytest.CaptureFixture[str]) -> None:
    warc = Warc()
    warc.page("https://a.example/?x=1")
    given(warc.content().replace(b"?x=1", b"? =1"))
    assert capfd.readouterr() == ("", "")
