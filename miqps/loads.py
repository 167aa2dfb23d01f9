"""What the proxy hands to the writing process, and what comes back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from miqps.origin import Origin

Kind = Literal["page", "api"]


class Load(NamedTuple):
    """One page load or API call, copied out of its flow; `body` as it came, encoded."""

    origin: Origin
    target: bytes
    kind: Kind = "page"
    hits: int = 1
    status: int = 200
    cookies_sent: bool = False
    content_type: str = ""
    encoding: str = ""
    body: bytes = b""
    cleaned: bytes = b""
    """The target without what may go; empty when nothing may."""

    no_vary_search: str = ""
    """The header of that name, as it came with a page."""

    goes_in_circles: bool = False
    """No load, but word that the site puts back what is taken out of such URLs."""

    is_canary: bool = False
    """It went through as it came, although something may go."""


@dataclass(slots=True)
class Report:
    """What became of a batch. Numbers count loads."""

    sites: Counter[str] = field(default_factory=Counter)
    """How many were recorded of each site."""

    passed_over: Counter[str] = field(default_factory=Counter)
    """Why others were not."""

    unstorable: int = 0
    links: int = 0
    """URLs that were found in pages."""

    drifted: int = 0
    """Pages that showed something else than they do stripped."""

    reopened: bool = False
    """The file was deleted or replaced since the last batch."""
