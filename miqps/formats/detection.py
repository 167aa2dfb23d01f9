"""Tells a file's format by what it begins with, then by its name."""

from __future__ import annotations

import codecs
import re

from miqps.formats import accesslog, cdx, csv_table
from miqps.formats.columns import is_url

BEGINNING = 65_536
"""Bytes that are looked at."""

_LINES = 20

_FLOWS = re.compile(rb"\d{1,12}:\d{1,12}:[a-z_]{1,32}[;,]")
_HAR = re.compile(r'\s*\{\s*(?:"|\Z)')
_XML = re.compile(r"\s*<(?:\?xml|!--|!DOCTYPE|[\w:]*(?:urlset|sitemapindex))")
_ENDINGS = {
    "har": "har",
    "zhar": "har",
    "flow": "flows",
    "flows": "flows",
    "mitm": "flows",
    "log": "accesslog",
    "cdx": "cdx",
    "cdxj": "cdx",
    "warc": "warc",
    "xml": "sitemap",
    "csv": "csv",
    "tsv": "csv",
    "parquet": "parquet",
}
_COMPRESSED = re.compile(r"\.(?:gz|zst|bz2|xz)\Z", re.IGNORECASE)


def detect(beginning: bytes, name: str) -> str:
    """The name of the format of a file.

    Args:
        beginning: the first bytes of its content, not compressed.
        name: its name, or anything for a stream without one.

    Returns:
        A key of `FORMATS`; "urllist" when nothing tells.
    """
    if beginning.startswith(b"PAR1"):
        return "parquet"
    if beginning.startswith(b"WARC/"):
        return "warc"
    if _FLOWS.match(beginning):
        return "flows"
    text = _text(beginning)
    if _HAR.match(text):
        return "har"
    if _XML.match(text):
        return "sitemap"
    ending = _ENDINGS.get(_COMPRESSED.sub("", name).rpartition(".")[2].lower(), "urllist")
    lines = _first_lines(text, is_whole=len(beginning) < BEGINNING)
    return _of_lines(lines, ending) if lines else ending


def _of_lines(lines: list[str], ending: str) -> str:
    raw = [line.encode() for line in lines]
    if any(map(accesslog.matches, raw)):
        return "accesslog"
    if any(map(cdx.matches, raw)):
        return "cdx"
    plain = [line for line in lines if not line.startswith("#")]
    if csv_table.matches(plain):
        return "csv"
    # What is no line of a log, an index or a sitemap is read as one only on demand.
    if plain and is_url(plain[0]) and ending != "csv":
        return "urllist"
    return ending


def _text(beginning: bytes) -> str:
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return beginning.decode("utf-16", "replace")
    return beginning.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def _first_lines(text: str, *, is_whole: bool) -> list[str]:
    lines = text.split("\n")
    if not is_whole:
        # Where the beginning ends, a line is cut.
        lines.pop()
    return [line.rstrip("\r") for line in lines if line.strip()][:_LINES]
