"""HAR files: one of Chromium, and shapes that other programs and damage make."""

from __future__ import annotations

import base64
import copy
import io
import json
from typing import Any

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st

from miqps.formats import har_elements
from miqps.formats.entry import BadLine, DamagedError, Entry
from tests.test_formats import DATA, Pipe, given, reasons, urls

BASE = "http://127.0.0.1:8731"
PAGE = "<p>é <a href='/p?id=9'>9</a></p>"


def test_a_har_of_chromium() -> None:
    found = given((DATA / "chromium.har").read_bytes())
    pages = {entry.number: entry for entry in found if isinstance(entry, Entry)}
    assert {number: entry.url for number, entry in pages.items()} == {
        1: f"{BASE}/p?id=7&utm_source=mail",
        8: f"{BASE}/p?id=12&utm_source=redirect",
        14: f"{BASE}/latin?id=2",
        15: f"{BASE}/gz?id=3",
    }
    assert all(entry.visited for entry in pages.values())
    assert {entry.seen[:17] for entry in pages.values()} == {"2026-12-01T04:05:"}
    assert [entry.document.cookies_sent for entry in pages.values() if entry.document] == [
        False, True, True, True,
    ]  # fmt: skip
    latin = pages[14].document
    assert latin
    # Chromium decodes it, and the header still says otherwise.
    assert latin.content_type == "text/html; charset=utf-8"
    assert latin.body == "<p>café <a href='/p?id=11'>11</a></p>".encode()
    assert {entry.number: entry.reason for entry in found if isinstance(entry, BadLine)} == {
        **dict.fromkeys([2, 3, 4, 5, 6, 9, 10, 11, 12, 13], "no document"),
        7: "status",
        16: "status",
        17: "method",
    }


ENTRY: dict[str, Any] = {
    "startedDateTime": "2026-01-02T03:04:05.678+01:00",
    "request": {
        "method": "GET",
        "url": "https://shop.example/p?id=1",
        "headers": [{"name": "Accept", "value": "text/html"}],
        "cookies": [],
    },
    "response": {
        "status": 200,
        "headers": [{"name": "content-type", "value": "text/html"}],
        "content": {"mimeType": "text/html", "text": PAGE},
    },
}


def changed(*changes: tuple[str, Any]) -> dict[str, Any]:
    """The entry with other values at `a.b.c`; None takes away."""
    entry = copy.deepcopy(ENTRY)
    for path, value in changes:
        *way, last = path.split(".")
        inner = entry
        for key in way:
            inner = inner[key]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return entry


def har(*entries: Any, indent: int | None = None) -> bytes:
    log = {"version": "1.2", "pages": [{"entries": [1]}], "entries": entries, "comment": ""}
    return json.dumps({"log": log}, indent=indent).encode()


def headers(**values: str) -> list[dict[str, str]]:
    return [{"name": name.replace("_", "-"), "value": value} for name, value in values.items()]


HTML = "text/html; charset=utf-8"
TAKEN: list[tuple[str, dict[str, Any], bool, str, bool]] = [
    # name, entry, visited, content type, whether cookies were sent
    ("plain", changed(), True, HTML, False),
    ("pairs", changed(("request.headers", [["Accept", "text/html"]])), True, HTML, False),
    ("no headers", changed(("request.headers", None)), False, HTML, False),
    ("odd headers", changed(("request.headers", [5, {}, ["a"], {"name": 1, "value": 2}])),
     False, HTML, False),
    ("a document", changed(("request.headers", []), ("_resourceType", "document")),
     True, HTML, False),
    ("any kind", changed(("request.headers", headers(Accept="*/*"))), False, HTML, False),
    ("cookie header", changed(("request.headers", headers(Accept="text/html", Cookie="a=b"))),
     True, HTML, True),
    ("cookies", changed(("request.cookies", [{"name": "a"}])), True, HTML, True),
    ("only the kind", changed(("response.headers", [])), True, HTML, False),
    ("XHTML", changed(("response.headers", headers(Content_Type="application/xhtml+xml;x"))),
     True, "application/xhtml+xml; charset=utf-8", False),
]  # fmt: skip


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize(("entry", "visited", "content_type", "cookies"),
                         [case[1:] for case in TAKEN], ids=[case[0] for case in TAKEN])  # fmt: skip
def test_entries_that_give_a_url(
    entry: dict[str, Any], visited: bool, content_type: str, cookies: bool, indent: int | None
) -> None:
    (found,) = given(har(entry, indent=indent))
    assert isinstance(found, Entry)
    assert (found.url, found.visited) == ("https://shop.example/p?id=1", visited)
    assert found.seen == "2026-01-02T02:04:05Z"
    assert found.document
    assert found.document.body == PAGE.encode()
    assert (found.document.content_type, found.document.cookies_sent) == (content_type, cookies)


def encoded(text: bytes) -> tuple[tuple[str, Any], ...]:
    return (
        ("response.content.text", base64.b64encode(text).decode()),
        ("response.content.encoding", "base64"),
    )


LIMIT = 2 * 1_024 * 1_024
BODIES: list[tuple[str, dict[str, Any], bytes | None]] = [
    ("base64", changed(*encoded(b"<p>\xe9")), b"<p>\xe9"),
    ("bad base64", changed(("response.content.encoding", "base64"),
                           ("response.content.text", "é")), None),
    ("none", changed(("response.content.text", None)), None),
    ("empty", changed(("response.content.text", "")), None),
    ("no text", changed(("response.content.text", 5)), None),
    ("half a letter", changed(("response.content.text", "\ud800<p>")), b"?<p>"),
    ("half a letter in the kind", changed(
        ("response.headers", headers(content_type="text/html; charset=\udcff"))), PAGE.encode()),
    ("big", changed(("response.content.text", "é" + "a" * 9_000_000)),
     "é".encode() + b"a" * (LIMIT - 2)),
    ("big base64", changed(*encoded(b"ab" * 5_000_000)), b"ab" * (LIMIT // 2)),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "body"), [case[1:] for case in BODIES],
                         ids=[case[0] for case in BODIES])  # fmt: skip
def test_bodies(entry: dict[str, Any], body: bytes | None) -> None:
    first, second = given(har(entry, ENTRY))
    assert isinstance(first, Entry)
    assert (first.document and first.document.body) == body
    assert first.document is None or first.document.content_type.isascii()
    assert isinstance(second, Entry)
    assert second.document
    assert second.document.body == PAGE.encode()


def test_a_big_body_with_escapes_is_cut_where_it_still_can_be_read() -> None:
    text = '"\\\né' * 1_000_000
    (entry,) = given(har(changed(("response.content.text", text))))
    assert isinstance(entry, Entry)
    assert entry.document
    assert text.encode().startswith(entry.document.body)
    assert LIMIT // 2 < len(entry.document.body) <= LIMIT


PASSED_OVER: list[tuple[str, Any, str]] = [
    ("POST", changed(("request.method", "POST")), "method"),
    ("HEAD", changed(("request.method", "HEAD")), "method"),
    ("not found", changed(("response.status", 404)), "status"),
    ("blocked", changed(("response.status", 0)), "status"),
    ("picture", changed(("response.headers", headers(Content_Type="image/png"))), "no document"),
    ("no kind", changed(("response.headers", []), ("response.content", {})), "no document"),
    ("script's", changed(("_resourceType", "xhr")), "no document"),
    ("frame", changed(("request.headers", headers(Sec_Fetch_Dest="iframe"))), "no document"),
    ("framed document", changed(("request.headers", headers(sec_fetch_dest="iframe")),
                                ("_resourceType", "document")), "no document"),
    ("authorization", changed(("request.headers", headers(authorization="secret"))),
     "authorization"),
    ("prefetch", changed(("request.headers", headers(purpose="prefetch"))), "prefetch"),
    ("download", changed(("response.headers", headers(
        content_type="text/html", content_disposition="attachment; filename=secret"))), "download"),
    ("no parameter, no page", changed(("request.url", "https://shop.example/secret"),
                                      ("response.content.text", None)), "no named parameter"),
    ("deed", changed(("request.url", "https://shop.example/logout?to=1")), "deed"),
    ("data", changed(("request.url", "data:text/html,secret")), "not http or https"),
    ("half a letter", changed(("request.url", "https://shop.example/?a=\ud800")), "not text"),
    ("no URL", changed(("request.url", 5)), "broken record"),
    ("no request", changed(("request", [])), "broken record"),
    ("no status", changed(("response.status", "200")), "broken record"),
    ("a list", [1, [2]], "broken record"),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "reason"), [case[1:] for case in PASSED_OVER],
                         ids=[case[0] for case in PASSED_OVER])  # fmt: skip
def test_entries_that_give_nothing(entry: Any, reason: str) -> None:
    found = given(har(entry, ENTRY))
    assert found[0] == BadLine(1, reason)
    assert urls(found[1:]) == ["https://shop.example/p?id=1"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"GET"', b'"G\\ET"', "broken record"),
        (b"200", b"2OO", "broken record"),
        (b'"cookies": []', b'"cookies": [}', "broken record"),
        (b'"cookies": []', b'"cookies": ' + b"[" * 99_999 + b"]" * 99_999, "broken record"),
        (b'"cookies": []', b'"cookies": [' + b"0," * 5_000_000 + b"0]", "too long"),
        (b"shop", b"\xff", "broken record"),
    ],
)
def test_a_damaged_entry_costs_only_itself(old: bytes, new: bytes, reason: str) -> None:
    content = har(ENTRY, ENTRY, ENTRY)
    before, first, second, after = content.partition(b"startedDateTime")[0], *content.split(
        b'"startedDateTime"'
    )[1:]  # fmt: skip
    damaged = b'"startedDateTime"'.join(
        [before.rstrip(b'"'), first, second.replace(old, new, 1), after]
    )
    assert damaged != content
    found = given(damaged)
    assert [entry.number for entry in found] == [1, 2, 3]
    assert found[1] == BadLine(2, reason)
    assert len(urls(found)) == 2


def test_a_har_cut_anywhere_gives_what_was_whole() -> None:
    content = har(ENTRY, ENTRY, ENTRY)
    whole = given(content)
    size = len(json.dumps(ENTRY))
    start = content.index(b'"entries": [{') + len(b'"entries": [')
    for cut in range(1, len(content), 7):
        found = given(content[:cut], format="har")
        complete = min(3, max(0, (cut - start + 2) // (size + 2)))
        assert found[:complete] == whole[:complete], cut
        ends_early = cut > start and cut < start + 3 * (size + 2) - 1
        assert (reasons(found) == ["the file ends in the middle"]) == ends_early, cut


@pytest.mark.parametrize(
    "content",
    [
        b"{}", b"[]", b"{", b"]]]]", b'{"log": {}}', b'{"log": {"entries": 5}}', b'"log"', b"null",
        b'{"entries": [{}]}', b'{"log": [{"entries": [{}]}]}', b'{"log": {"x": {"entries": [{}]}}}',
        b'{"log": {"pages": [{"log": {"entries": [{}]}}]}}', b"\\", b'"\\', b'{"log": "\\\\',
    ],
)  # fmt: skip
def test_other_json_is_no_har(content: bytes) -> None:
    assert given(content, format="har") == [BadLine(1, "no list of entries in it")]


def test_no_entries_are_no_damage() -> None:
    assert given(har()) == []
    assert given(b'\xef\xbb\xbf {"log":{"entries"\n:\n[\n]}}') == []


@settings(max_examples=40)
@hypothesis_given(
    st.lists(
        st.dictionaries(
            st.text(max_size=5),
            st.recursive(
                st.none() | st.integers() | st.floats(allow_nan=False) | st.text(),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
                max_leaves=8,
            ),
        )
    ),
    st.integers(1, 50),
    st.booleans(),
    st.sampled_from([None, 1]),
)
def test_the_elements_are_those_that_a_json_reader_finds(
    entries: list[Any], piece: int, is_ascii: bool, indent: int | None
) -> None:
    log = {"a": ["]", {"log": []}], "entries": entries, "z": 1}
    text = json.dumps({"log": log}, ensure_ascii=is_ascii, indent=indent).encode(
        errors="surrogatepass"
    )
    cut = [text[at : at + piece] for at in range(0, len(text), piece)]
    found = [json.loads(element or b"") for element in har_elements.elements(Pipe(cut, piece))]
    assert found == entries


@hypothesis_given(st.text('"\\/é€😀u0af\ud800', min_size=9), st.integers(1, 9), st.integers(10, 40))
def test_a_long_string_is_cut_between_characters(text: str, piece: int, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(har_elements, "_LONGEST_STRING", limit)
        for is_ascii in (True, False):
            content = json.dumps({"log": {"entries": [{"a": text}]}}, ensure_ascii=is_ascii)
            raw = content.encode(errors="surrogatepass")
            cut = [raw[at : at + piece] for at in range(0, len(raw), piece)]
            try:
                (element,) = har_elements.elements(Pipe(cut, piece))
            except DamagedError:
                pytest.fail("the end was not found")
            assert element is not None
            kept = json.loads(element.decode("utf-8", "surrogatepass"))["a"]
            # Two halves of a letter may be parted.
            assert text.startswith((kept, kept[:-1]))


def test_a_huge_entry_is_never_held() -> None:
    def pieces() -> Any:
        yield b'{"log":{"entries":[{"a":"'
        for _ in range(2_000):
            yield b"x" * 50_000
        yield b'"},{"a":1}]}}'

    first, second = har_elements.elements(Pipe(pieces(), io.DEFAULT_BUFFER_SIZE))
    assert first is not None
    assert len(first) < 5_000_000
    assert second == b'{"a":1}'
