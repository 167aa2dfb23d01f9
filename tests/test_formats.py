"""Reading files of every format through the one way in: detection, compression, usage."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from miqps.formats import FORMATS, FormatError, detect, read
from miqps.formats.entry import BadLine, Entry
from miqps.formats.stream import peeked

DATA = Path(__file__).resolve().parent / "data" / "formats"
URLS = [f"https://shop.example/p?id={number}&utm_source=mail" for number in range(1, 4)]
LIST = "".join(f"{url}\n" for url in URLS).encode()


def given(content: bytes, name: str = "-", **options: Any) -> list[Entry | BadLine]:
    """What a file of this content gives, read as a stream that cannot go back."""
    few_or_many = 7 if len(content) < 100_000 else 4_096
    return list(read(name, Pipe([content], few_or_many), **options))


def urls(found: list[Entry | BadLine]) -> list[str]:
    return [entry.url for entry in found if isinstance(entry, Entry)]


def reasons(found: list[Entry | BadLine]) -> list[str]:
    return [entry.reason for entry in found if isinstance(entry, BadLine)]


class Pipe(io.BufferedReader):
    """A stream made as it is read, a few bytes at once, that can only be read forwards."""

    def __init__(self, pieces: list[bytes] | Iterator[bytes], size: int = 7) -> None:
        super().__init__(_Drops(iter(pieces)), size)


class _Drops(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._piece:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece = piece
        size = min(len(buffer), len(self._piece))
        buffer[:size], self._piece = self._piece[:size], self._piece[size:]
        return size


DETECTED = [
    ("urllist", LIST, "-"),
    ("urllist", b"\xef\xbb\xbf" + LIST, "urls.txt"),
    ("urllist", b"# seen today\n\n" + LIST, "x"),
    ("urllist", b"https://shop.example/p?a=1,2;3&b=4\n" * 3, "x.txt"),
    ("urllist", LIST, "of.log"),
    ("urllist", b"", "-"),
    ("urllist", b"mailto:x\nfoo\n", "-"),
    ("urllist", b"\0\1\2\3", "-"),
    ("har", b'{"log": {"version": "1.2"', "-"),
    ("har", b"\xef\xbb\xbf{\n  ", "-"),
    ("har", b"", "x.HAR.gz"),
    ("har", b"", "x.zhar"),
    ("flows", b"1956:9:websocket;0:~8:response;", "-"),
    ("flows", b"", "x.flows"),
    ("warc", b"WARC/1.0\r\nWARC-Type: warcinfo\r\n", "-"),
    ("cdx", b" CDX N b a m s k r M S V g\n", "-"),
    ("cdx", b"com,example)/ 20200101000000 https://example.com/ text/html 200 AAAA 99\n", "-"),
    ("cdx", b'com,example)/ 20200101000000 {"url": "https://example.com/"}\n', "-"),
    ("cdx", b'!OpenWayback-CDXJ 1.0\ncom,example)/ 20200101000000 {"url": "x"}\n', "-"),
    ("accesslog", b'1.2.3.4 - - [01/Dec/2026:04:07:48 +0000] "GET /p HTTP/1.1" 200 230\n', "-"),
    ("accesslog", b'junk\n::1 - - [01/Dec/2026:04:07:48 +0000] "GET /p HTTP/1.1" 200 -\n', "-"),
    ("sitemap", b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset', "-"),
    ("sitemap", b"\n<sitemapindex xmlns='x'>", "-"),
    ("sitemap", "<?xml version='1.0' encoding='UTF-16'?>".encode("utf-16"), "-"),
    ("csv", b"url\nhttps://shop.example/p?id=1\n", "-"),
    ("csv", b"Address,Status Code\nhttps://shop.example/p?id=1,200\n", "-"),
    ("csv", b"Top pages;Clicks\nhttps://shop.example/p?id=1;200\n", "-"),
    ("csv", b"12\thttps://shop.example/p?id=1\n", "-"),
    ("csv", b'"https://shop.example/p?a=1,2","12"\n', "-"),
    ("csv", b"https://shop.example/p?id=1,12\n", "export.csv"),
    ("csv", "a\turl\nb\thttps://shop.example/p?id=1\n".encode("utf-16"), "-"),
    ("csv", b"nothing,known\n1,2\n", "x.tsv.zst"),
    ("parquet", b"PAR1\x15\x04", "-"),
]


@pytest.mark.parametrize(("format_", "beginning", "name"), DETECTED)
def test_the_content_tells_the_format_then_the_name(
    format_: str, beginning: bytes, name: str
) -> None:
    assert detect(beginning, name) == format_


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("apache_common.log", "accesslog"),
        ("apache_combined.log", "accesslog"),
        ("apache_vhost_combined.log", "accesslog"),
        ("nginx_combined.log", "accesslog"),
        ("nginx_host.log", "accesslog"),
        ("cdxj_indexer.cdxj", "cdx"),
        ("cdxj_indexer_11.cdx", "cdx"),
        ("wget.cdx", "cdx"),
        ("chromium.har", "har"),
    ],
)
def test_real_files_are_known_without_their_name(name: str, format_: str) -> None:
    assert detect((DATA / name).read_bytes(), "-") == format_


def tool(*command: str) -> Callable[[bytes], bytes]:
    """Compresses with a program, where it is installed."""

    def compress(content: bytes) -> bytes:
        if shutil.which(command[0]) is None:
            pytest.skip(f"no {command[0]} here")
        return subprocess.run(command, input=content, capture_output=True, check=True).stdout

    return compress


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "not": lambda content: content,
    "gzip": gzip.compress,
    "gzip of many members": lambda content: b"".join(
        gzip.compress(content[at : at + 10]) for at in range(0, len(content), 10)
    ),
    "gzip with zeros after it": lambda content: gzip.compress(content) + bytes(512),
    "bzip2": bz2.compress,
    "two bzip2": lambda content: bz2.compress(content[:50]) + bz2.compress(content[50:]),
    "xz": lzma.compress,
    "zstd": zstandard.compress,
    "two zstd": lambda content: zstandard.compress(content[:50]) + zstandard.compress(content[50:]),
    "zstd after a skipped frame": lambda content: (
        b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstandard.compress(content)
    ),
    "zlib": zlib.compress,
    "best zlib": lambda content: zlib.compress(content, 9),
    "the gzip program": tool("gzip", "-c"),
    "the bzip2 program": tool("bzip2", "-c"),
    "the xz program": tool("xz", "-c"),
    "the zstd program": tool("zstd", "-c"),
    "the zstd program in long mode": tool("zstd", "-c", "--long=27"),
}


@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
@pytest.mark.parametrize("times", [1, 2_000])
def test_compression_is_told_by_the_first_bytes(
    compress: Callable[[bytes], bytes], times: int
) -> None:
    assert urls(given(compress(LIST * times))) == URLS * times


LINES = [f"https://shop.example/p?id={n}&h={zlib.crc32(b'%d' % n):x}" for n in range(10_000)]
LONG = "\n".join(LINES).encode()
CUT: dict[str, Callable[[bytes], bytes]] = {
    name: COMPRESSED[name] for name in ("gzip", "gzip of many members", "xz", "zstd", "zlib")
}
# Of a block, nothing can be had before its end: so small ones.
CUT["bzip2"] = lambda content: bz2.compress(content, 1)
CUT["two zstd"] = lambda content: (
    zstandard.compress(content[:90_000]) + zstandard.compress(content[90_000:])
)


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("left", [0.7, 0.501, 0.01])
def test_of_a_file_that_was_cut_off_all_before_counts(name: str, left: float) -> None:
    compressed = CUT[name](LONG)
    found = given(compressed[: -int(len(compressed) * left)])
    *whole, last = found
    assert last == BadLine(len(found), "the file ends in the middle")
    # Never a part of a line: that would be another URL.
    assert urls(whole) == LINES[: len(whole)]
    assert len(whole) > (1.0 - left) * 5_000 or left > 0.5


@pytest.mark.parametrize("name", CUT)
def test_of_a_file_that_is_damaged_all_before_counts(name: str) -> None:
    compressed = bytearray(CUT[name](LONG))
    at = len(compressed) * 3 // 4
    compressed[at : at + 64] = bytes(byte ^ 0xFF for byte in compressed[at : at + 64])
    found = given(bytes(compressed))
    assert reasons(found)[-1] == "damaged compression"
    assert LINES[0] in urls(found)


def test_bytes_after_the_end_of_gzip_cost_nothing_before_them() -> None:
    found = given(gzip.compress(LIST) + b"junk")
    assert urls(found) == URLS
    assert reasons(found) == ["damaged compression"]


WRONG_USAGE: list[tuple[dict[str, str], bytes, str]] = [
    (
        {"format": "pcap"}, LIST,
        "no format 'pcap'; there are auto, urllist, har, flows, accesslog, cdx, warc, sitemap,"
        " csv, parquet",
    ),
    (
        {}, (DATA / "apache_common.log").read_bytes(),
        "its lines name no host; say which site it is of, like --site https://shop.example",
    ),
    *(
        (
            {"site": site}, LIST,
            f"{site!r} is no site: give scheme and host, like --site https://shop.example",
        )
        for site in ("shop.example", "https://", "https://a.example/p", "ftp://a.example",
                     "https://me:secret@a.example", "https://a.example?x", "https://a b", "")
    ),
    (
        {"column": "Link"}, b"url,n\nhttps://a.example/?x=1,2\n",
        "no column 'Link' ('url', 'n')",
    ),
    (
        {"column": "3"}, b"url,n\nhttps://a.example/?x=1,2\n",
        "no column '3' ('url', 'n')",
    ),
    (
        {"format": "csv"}, b"a,b\n1,2\n",
        "no column holds URLs; name one with --column ('a', 'b')",
    ),
    (
        {"format": "csv"}, b"from,to\nhttps://a.example/?x=1,https://a.example/?x=2\n",
        "more than one column holds URLs; name one with --column ('from', 'to')",
    ),
    (
        {"format": "csv"}, b"https://a.example/?secret=1,https://a.example/?x=2\n",
        "more than one column holds URLs; name one with --column (a number from 1 to 2)",
    ),
    (
        {}, b" CDX N b m s\nk 20200101000000 text/html 200\n",
        "a CDX file without original URLs (column a)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "content", "message"), WRONG_USAGE)
def test_wrong_usage_says_what_to_do(options: dict[str, str], content: bytes, message: str) -> None:
    with pytest.raises(FormatError) as error:
        given(content, "x", **options)
    assert str(error.value) == message


def test_every_format_reads_nothing_from_nothing() -> None:
    ends = "the file ends in the middle"
    expected = {
        "har": ["no list of entries in it"],
        "sitemap": [ends],
        "parquet": ["damaged Parquet file"],
    }
    for format_ in FORMATS:
        assert reasons(given(b"", format=format_)) == expected.get(format_, []), format_


def test_errors_of_the_file_itself_are_passed_on(tmp_path: Path) -> None:
    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        list(read("x", io.BufferedReader(Broken())))

    def breaks_later() -> Iterator[bytes]:
        yield gzip.compress(LIST * 10_000)[:300]
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        list(read("x", Pipe(breaks_later())))


def test_the_file_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(LIST))
    with path.open("rb") as file:
        assert urls(list(read("x", file))) == URLS
        assert not file.closed
        file.seek(0)


@pytest.mark.parametrize("size", [0, 1, 10, 5_000, 100_000])
def test_a_peeked_stream_gives_everything(size: int) -> None:
    content = bytes(range(256)) * 200
    beginning, stream = peeked(Pipe([content]), size)
    assert beginning == content[:size]
    assert stream.read() == content
