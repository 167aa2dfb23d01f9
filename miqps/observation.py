"""What one visit, or one line of a list, says: the values that recording and importing share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """An HTML answer as it came, decoded from its transfer and content encoding.

    `content_type` is the header's text, with the charset when it has one.
    """

    status: int
    content_type: str
    body: bytes
    cookies_sent: bool = False
    """Whether the request carried cookies: then what was seen may be one person's."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is remembered of an answer.

    `fingerprint` is a similarity hash of the visible text, 64 bits: near texts differ in few bits.
    """

    status: int
    title: str
    canonical: str
    cookies_sent: bool
    fingerprint: int


@dataclass(frozen=True, slots=True)
class Observation:
    """A URL that was seen: visited through the proxy, found in a page, or listed somewhere."""

    url: str
    visited: bool = True
    hits: int = 1
    seen: str = ""
    """ISO 8601 in UTC; empty for now."""

    redacted: bool = False
    """Something secret was replaced in it: it counts, and is never asked for."""

    answer: Answer | None = None
