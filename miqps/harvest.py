"""What a page says about itself, and the links on it that may become samples.

Links are read as a browser reads them: by the parser of the HTML standard, and resolved by the URL
standard, so that each is byte for byte what would be asked for. Spaces, dot segments, backslashes
and capitals in a host come out as browsers write them; what is not ASCII in a query is encoded in
the page's own charset.

>>> page = Document(200, "text/html", b"<title> A  shop</title><a href='?id=7&amp;sort=new#top'>")
>>> found = read(page, "https://shop.example/list?page=2")
>>> found.answer.title, found.links
('A shop', ('https://shop.example/list?id=7&sort=new',))
"""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, islice, zip_longest
from urllib.parse import quote_from_bytes

import numpy as np
import turbohtml
from ada_url import join_url
from turbohtml import Element

from miqps import urls
from miqps.eligibility import unfit
from miqps.observation import Answer, Document
from miqps.urls import Context

_LONGEST_BODY = 1 << 20
_LONGEST_TEXT = 200_000
_LONGEST_TITLE = 300
_LONGEST_CANONICAL = 2_000
_MOST_LINKS = 500
_MOST_CANDIDATES = 10_000

_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s;"']+)""", re.IGNORECASE)
_LINKS = "a[href], area[href], link[rel~=next i][href], link[rel~=prev i][href]"
_UNSEEN = "title, script, style, noscript, iframe, [hidden]"
_GAP = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# Of the bytes that a charset may give for a letter, the ones that stay as they are in a query.
_PLAIN_IN_QUERY = "!$%()*+,/:=?@[\\]^`{|}"
# The web's charsets that Python knows by another name.
_CODECS = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "iso-8859-8-i": "iso-8859-8",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}

# Scripts without spaces: every character is a word.
_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|\w+")
_HASH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Harvest:
    """What a page says about itself, and the addresses it links to, without their fragments."""

    answer: Answer
    links: tuple[str, ...]


def read(document: Document, url: str, *, other_sites: bool = False) -> Harvest:
    """What is remembered of an HTML answer to `url`, and the links in it that may become samples.

    Links to other sites are left out unless `other_sites`, and so are links that the page does not
    vouch for (`nofollow`), downloads, and what `eligibility.unfit` refuses. Of too many links each
    context gives as many as the others, chosen by a hash. Secrets are not looked for.
    Never raises for what a page holds.
    """
    page = _parsed(document)
    # What stands in a template is no link before a script makes one of it.
    _cut(page, "template")
    base = _base(page, url)
    charset = _query_charset(page.encoding)
    title = _title(page)
    canonical = _canonical(page, base, charset)
    # An address without a site has no link to the same one.
    links = _links(page, base, charset, None if other_sites else _site_of(url) or "")
    _cut(page, _UNSEEN)
    text = " ".join(page.strings)[:_LONGEST_TEXT]
    answer = Answer(
        status=document.status,
        title=title,
        canonical=canonical,
        cookies_sent=document.cookies_sent,
        fingerprint=fingerprint(text),
    )
    return Harvest(answer, links)


def fingerprint(text: str) -> int:
    """A similarity hash (SimHash) of a text: near texts differ in few of its 64 bits.

    Over the distinct words and pairs of neighbours, in any case of letters. Signed, as SQLite holds
    it; 0 for a text without words. Source: Charikar 2002, "Similarity Estimation Techniques from
    Rounding Algorithms".
    """
    words = _WORD.findall(text.lower())
    if not words:
        return 0
    codes = {word: int.from_bytes(_hashed(word), "little") for word in set(words)}
    singles = np.array([codes[word] for word in words], dtype="<u8")
    pairs = _mixed(singles[:-1] * np.uint64(3) + singles[1:])
    features = np.unique(np.concatenate((singles, pairs))).astype("<u8")
    bits = np.unpackbits(features.view(np.uint8).reshape(-1, _HASH_BYTES), axis=1)
    majority = bits.sum(axis=0, dtype=np.int64) * 2 > len(features)
    return int.from_bytes(np.packbits(majority).tobytes(), "little", signed=True)


def distance(one: int, other: int) -> int:
    """How many bits of two fingerprints differ: 0 to 64."""
    return ((one ^ other) & (2**64 - 1)).bit_count()


def _mixed(values: np.ndarray) -> np.ndarray:
    # Each bit of a sum must come to depend on all bits of both words.
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed


def _hashed(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()


def _parsed(document: Document) -> turbohtml.Document:
    # The parser looks for a byte order mark, then takes this charset, then asks the page.
    body = document.body[:_LONGEST_BODY]
    match = _CHARSET.search(document.content_type)
    try:
        return _parse(body, match.group(1) if match else None)
    except (LookupError, UnicodeError):
        return _parse(body, None)


def _parse(body: bytes, charset: str | None) -> turbohtml.Document:
    # With scripting, the content of `noscript` is text, as it is for the browsers that will look.
    return turbohtml.parse(body, encoding=charset, positions=False, scripting=True)


def _cut(page: turbohtml.Document, selector: str) -> None:
    for element in page.select(selector):
        element.decompose()


def _title(page: turbohtml.Document) -> str:
    # A picture has a title too.
    element = page.select_one("title:not(svg *)")
    return "" if element is None else _GAP.sub(" ", element.text).strip()[:_LONGEST_TITLE]


def _base(page: turbohtml.Document, url: str) -> str:
    href = _href(page.select_one("base[href]"))
    return url if href is None else _resolved(url, href, None) or url


def _canonical(page: turbohtml.Document, base: str, charset: str | None) -> str:
    href = _href(page.select_one("link[rel~=canonical i][href]"))
    canonical = None if href is None else _resolved(base, href, charset)
    return canonical if canonical and len(canonical) <= _LONGEST_CANONICAL else ""


def _href(element: Element | None) -> str | None:
    return None if element is None else element.attr("href")


def _site_of(url: str) -> str | None:
    # As browsers write the host, because the links come out like that.
    return urls.site(_resolved(url, "", None) or url)


def _links(
    page: turbohtml.Document, base: str, charset: str | None, site: str | None
) -> tuple[str, ...]:
    if _is_nofollow_page(page):
        return ()
    hrefs = dict.fromkeys(_hrefs(page.select(_LINKS)))
    found = dict.fromkeys(_resolved(base, href, charset) for href in _some(hrefs))
    on_site = [link for link in found if link and (site is None or urls.site(link) == site)]
    if len(on_site) <= _MOST_LINKS:
        return tuple(link for link in on_site if unfit(link) is None)
    fit = (link for link in _in_turns(on_site) if unfit(link) is None)
    chosen = frozenset(islice(fit, _MOST_LINKS))
    return tuple(link for link in on_site if link in chosen)


def _is_nofollow_page(page: turbohtml.Document) -> bool:
    contents = (element.attr("content") or "" for element in page.select("meta[name=robots i]"))
    return any(
        word.strip().lower() in ("nofollow", "none")
        for content in contents
        for word in content.split(",")
    )


def _hrefs(elements: Iterable[Element]) -> Iterator[str]:
    for element in elements:
        href = (element.attr("href") or "").partition("#")[0]
        # Only a link with a query of its own can be a sample.
        if "?" not in href or element.attr("download") is not None:
            continue
        if "nofollow" not in (element.attr("rel") or "").lower().split():
            yield href


def _some(hrefs: Iterable[str]) -> list[str]:
    """All of the links, or of a flood of them a part that does not depend on where they stand."""
    hrefs = list(hrefs)
    if len(hrefs) <= _MOST_CANDIDATES:
        return hrefs
    return sorted(hrefs, key=_hashed)[:_MOST_CANDIDATES]


def _in_turns(links: Iterable[str]) -> Iterator[str]:
    """One link of each context, then a second one of each, and so on."""
    groups: defaultdict[Context | None, list[str]] = defaultdict(list)
    for link in sorted(links, key=_hashed):
        groups[urls.context_of(link)].append(link)
    turns = chain.from_iterable(zip_longest(*groups.values()))
    return (link for link in turns if link is not None)


def _resolved(base: str, href: str, charset: str | None) -> str | None:
    """The http(s) address that a browser asks for, without its fragment; None when there is none.

    `charset` is the one of the query, None for UTF-8.
    """
    try:
        address = join_url(base, _with_encoded_query(href, charset) if charset else href)
    except ValueError:
        return None
    return address.partition("#")[0] if address.startswith(("http://", "https://")) else None


def _with_encoded_query(href: str, charset: str) -> str:
    before, mark, fragment = href.partition("#")
    head, question, raw = before.partition("?")
    if raw.isascii():
        return href

    def encoded(match: re.Match[str]) -> str:
        # Browsers send what a charset lacks as a character reference.
        letters = match.group().encode(charset, "xmlcharrefreplace")
        return quote_from_bytes(letters, safe=_PLAIN_IN_QUERY)

    return head + question + _NOT_ASCII.sub(encoded, raw) + mark + fragment


def _query_charset(encoding: str | None) -> str | None:
    """The codec for queries on a page in this encoding; None for UTF-8, as for UTF-16."""
    name = (encoding or "").lower()
    if name.startswith("utf"):
        return None
    try:
        return codecs.lookup(_CODECS.get(name, name)).name
    except LookupError:
        return None
