"""What every reader takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from miqps.eligibility import unfit
from miqps.observation import Document


@dataclass(frozen=True, slots=True)
class Entry:
    """A URL that may become a sample, and what the file says of it."""

    number: int
    """The line or record it stands in, from 1."""

    url: str
    visited: bool = False
    """Whether a person's page load asked for it and was answered with a page."""

    seen: str = ""
    """When, ISO 8601 in UTC; empty when the file does not say."""

    document: Document | None = None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line or record that gives nothing, and why; the reason holds nothing of the line."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, and what the user said about it."""

    file: BinaryIO
    """The content from its beginning, not compressed; it can only be read forwards."""

    whole: BinaryIO | None = None
    """The same content as a file that can be read at any place, where there is one."""

    site: str | None = None
    """Scheme and host, without a slash at the end."""

    column: str | None = None

    check: Callable[[str], str | None] = unfit
    """Why a URL gives nothing. Who reads a thousand million looks closely at few of them."""


class FormatError(ValueError):
    """A file cannot be read the way it was asked for: one line, without its name, on what to do."""


class DamagedError(Exception):
    """Nothing more can be read from here on; `reason` says why, in a few words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


ENDS_EARLY = "the file ends in the middle"
BROKEN = "broken record"
TOO_LONG = "too long"
NO_DOCUMENT = "no document"

Reader = Callable[[Source], Iterator[Entry | BadLine]]
"""A reader may raise FormatError, DamagedError, and OSError for the file itself; nothing else."""
