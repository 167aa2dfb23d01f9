"""Whatever a file holds: reading it ends, raises nothing unforeseen, and takes little memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from miqps.formats import FORMATS, FormatError, detect, read
from miqps.formats.entry import BadLine, Entry
from tests.test_formats import DATA, LIST, Pipe


def _flows(content: bytes = b"<p>") -> bytes:
    file = io.BytesIO()
    for path in ("/p?id=1", "/p?id=2"):
        flow = tflow.tflow(resp=True)
        flow.request.path = path
        flow.request.headers["Accept"] = "text/html"
        flow.response.headers["Content-Type"] = "text/html"
        flow.response.content = content
        FlowWriter(file).add(flow)
    return file.getvalue()


def _parquet() -> bytes:
    file = io.BytesIO()
    urls = [f"https://shop.example/p?id={number}" for number in range(50)]
    pyarrow.parquet.write_table(pyarrow.table({"url": urls, "n": range(50)}), file)
    return file.getvalue()


def _har() -> bytes:
    log = json.loads((DATA / "chromium.har").read_bytes())["log"]
    log["entries"] = log["entries"][:3] + log["entries"][-4:-2]
    return json.dumps({"log": log}).encode()


SITEMAP = (
    b"<?xml version='1.0'?><urlset xmlns='x'><url><loc>https://a.example/?x=1&amp;y=2</loc></url>"
    b"<url><loc>https://a.example/?x=3</loc></url></urlset>"
)
WARC = gzip.decompress((DATA / "wget.warc.gz").read_bytes())
FILES = {
    "urllist": LIST,
    "har": _har(),
    "flows": _flows(),
    "accesslog": (DATA / "apache_vhost_combined.log").read_bytes(),
    "cdx": (DATA / "wget.cdx").read_bytes()[:900],
    "cdxj": (DATA / "cdxj_indexer.cdxj").read_bytes()[:900],
    "warc": WARC[:5_000],
    "sitemap": SITEMAP,
    "csv": b'name;url\n"a; b";https://a.example/?x=1\nb;"https://a.example/?y=""q"""\n',
    "wide csv": "name\turl\na\thttps://a.example/?x=1\n".encode("utf-16"),
    "parquet": _parquet(),
    "gzip": gzip.compress(LIST),
    "bzip2": bz2.compress(LIST),
    "xz": lzma.compress(LIST),
    "zstd": zstandard.compress(LIST),
    "zlib": zlib.compress(SITEMAP),
    "warc.gz": (DATA / "wget.warc.gz").read_bytes()[:3_000],
}


def ends_well(content: bytes, format_: str = "auto") -> None:
    """Read it all: only a FormatError of one line may come of it, and never without end."""
    said = ""
    numbers = [1]
    try:
        for entry in read("x", io.BytesIO(content), format_, "https://shop.example"):
            assert isinstance(entry, Entry | BadLine)
            numbers.append(entry.number)
            assert len(numbers) < 10_000
    except FormatError as error:
        said = str(error)
    assert "\n" not in said
    assert min(numbers) == 1


@pytest.mark.parametrize("name", FILES)
def test_the_files_themselves_are_read(name: str) -> None:
    found = list(read("x", io.BytesIO(FILES[name])))
    assert any(isinstance(entry, Entry) for entry in found)


@given(st.binary(max_size=300), st.sampled_from([*FORMATS, "auto"]))
@settings(max_examples=400)
def test_random_bytes(content: bytes, format_: str) -> None:
    ends_well(content, format_)


@given(st.binary(max_size=300), st.text(max_size=20))
def test_every_beginning_has_a_format(beginning: bytes, name: str) -> None:
    assert detect(beginning, name) in FORMATS


JUNK = st.binary(max_size=6) | st.sampled_from(
    [b"\n", b'"', b"\\", b"{", b"]", b"99999999", b"\0", b":", b"<", b"&", b"'", b"\xff\xfe", b"-"]
)


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=60)
def test_mutated_files(name: str, data: st.DataObject) -> None:
    content = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 4), label="changes")):
        at = data.draw(st.integers(0, len(content)), label="at")
        length = data.draw(st.sampled_from([0, 1, 2, 30, 10_000]), label="out")
        content[at : at + length] = data.draw(JUNK, label="in")
    ends_well(bytes(content), data.draw(st.sampled_from(["auto", _format(name)])))


def _format(name: str) -> str:
    return detect(FILES[name], "x") if name in FORMATS else "auto"


PADDING = b"x" * 2_000
"""So that a file which is held as a whole takes far more than what is allowed."""


def _many(
    head: bytes, one: Callable[[int], bytes], tail: bytes = b"", count: int = 20_000
) -> Iterator[bytes]:
    yield head
    for number in range(count):
        yield one(number)
    yield tail


def _entry(number: int) -> bytes:
    """Of a HAR: a page and what belongs to it."""
    kind = b"image/png" if number % 20 else b"text/html"
    # The comma stands before all but the first.
    return (b"," if number else b"") + (
        b'{"request":{"method":"GET","url":"https://a.example/?x=%d","headers":[]},'
        b'"response":{"status":200,"content":{"mimeType":"%b","text":"%b"}}}'
    ) % (number, kind, PADDING)


def _record(number: int) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + PADDING * 5
    return (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://a.example/?x=%d\r\n"
        b"Content-Type: application/http\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
    ) % (number, len(http), http)


def _location(number: int) -> bytes:
    return b"<url><loc>https://a.example/?x=%d</loc><x>%b</x></url>" % (number, PADDING)


def _logged(number: int) -> bytes:
    return b'a.b:80 ::1 - - [x] "GET /?x=%d HTTP/1.1" 200 1 "-" "%b"\n' % (number, PADDING)


FLOW = _flows(PADDING * 50)
BIG: dict[str, tuple[int, Callable[[], Iterator[bytes]]]] = {
    "urllist": (20_000, lambda: _many(b"", lambda n: b"https://a.b/?x=%d%b\n" % (n, PADDING))),
    # One in twenty is a page.
    "har": (1_000, lambda: _many(b'{"log":{"entries":[', _entry, b"]}}")),
    "sitemap": (20_000, lambda: _many(b"<urlset>", _location, b"</urlset>")),
    "csv": (20_000, lambda: _many(b"url,n\n", lambda n: b"http://a.b/?x=%d,%b\n" % (n, PADDING))),
    "cdx": (20_000, lambda: _many(b" CDX a g\n", lambda n: b"http://a/?x=%d %b\n" % (n, PADDING))),
    "accesslog": (20_000, lambda: _many(b"", _logged)),
    "warc": (4_000, lambda: _many(b"", _record, count=4_000)),
    "flows": (400, lambda: _many(b"", lambda _: FLOW, count=200)),
}  # fmt: skip


@pytest.mark.parametrize("name", BIG)
def test_a_big_file_takes_no_more_memory_than_a_small_one(name: str) -> None:
    # What is imported and cached at first is no growth.
    next(read("x", io.BytesIO(FILES[name])))
    expected, pieces = BIG[name]
    tracemalloc.start()
    try:
        found = sum(isinstance(entry, Entry) for entry in read("x", Pipe(pieces(), 65_536), name))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == expected
    assert most < 10_000_000


BOMBS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
    "zlib": zlib.compress,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_no_memory(name: str) -> None:
    bomb = BOMBS[name](bytes(60_000_000))
    tracemalloc.start()
    try:
        found = list(read("x", io.BytesIO(bomb)))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [BadLine(1, "too long")]
    assert most < 25_000_000


def test_a_broken_entry_does_not_pile_up_the_rest_of_a_big_har() -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"log":{"entries":[{"request":"'
        # From here on, what is a string and what is not are mixed up.
        yield b'"" '
        yield from _many(b"", _entry)

    tracemalloc.start()
    try:
        found = list(read("x", Pipe(pieces(), 65_536), "har"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(found[-1], BadLine)
    # One element may take so much that has no strings to be cut.
    assert most < 40_000_000
