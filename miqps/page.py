"""What one visit of one URL showed: the value that renders give and content IDs compare."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Outcome = Literal[
    "seen",
    "status",
    "throttled",
    "challenge",
    "login",
    "consent",
    "not-found",
    "blank",
    "redirected",
    "download",
    "dialog",
    "timeout",
    "crashed",
    "unreachable",
    "refused",
]
"""What became of a visit. Only "seen" is the page that was asked for."""

Pixels = npt.NDArray[np.uint8]

_MAGIC = b"miqps-page/1\n"
_SIZES = struct.Struct("<QHHH")
# Pages are text and flat colours: higher levels cost three times the time for a tenth of the bytes.
_LEVEL = 3


class Leaf(NamedTuple):
    """One visible piece of a page: a run of text, a picture, a field, a drawn box."""

    path: str
    """Where it stands: tags and their numbers among equal siblings, "/html/body/p[2]/#text"."""
    text: str
    style: str
    """How it is drawn, and for pictures what is drawn, as "name:value;" pieces."""
    box: tuple[int, int, int, int]
    """Left, top, width, height in CSS px from the page's corner."""


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One render: what became of it and, when there was something to see, how it looked."""

    url: str
    """The URL that was asked for."""
    outcome: Outcome
    reason: str = ""
    """One line for people: why the outcome is not "seen"."""
    status: int | None = None
    final_url: str = ""
    """The address at the end, after redirects and what scripts did to it."""
    title: str = ""
    leaves: tuple[Leaf, ...] = ()
    """Empty unless the outcome is "seen" or "redirected"; so are pixels."""
    pixels: Pixels | None = None
    """The whole page at a quarter of its size: (height / 4, width / 4, 3), RGB."""
    height: int = 0
    """CSS px of the whole page, also where the picture stops earlier."""
    cookies: Mapping[str, str] = field(default_factory=dict)
    """"name@domain" -> value of every cookie the visit left behind, and "name@localStorage"."""
    retry_after: float | None = None
    """Seconds the server asked to be left alone."""
    milliseconds: float = 0.0
    """Wall time of the render."""

    @property
    def seen(self) -> bool:
        """Whether this shows the page that was asked for."""
        return self.outcome == "seen"


def to_bytes(page: Page) -> bytes:
    """The page as compressed bytes: a JSON head, then the raw pixels."""
    pixels = page.pixels
    shape = (0, 0, 0) if pixels is None else pixels.shape
    head = json.dumps(
        {
            "url": page.url,
            "outcome": page.outcome,
            "reason": page.reason,
            "status": page.status,
            "final_url": page.final_url,
            "title": page.title,
            "leaves": page.leaves,
            "height": page.height,
            "cookies": dict(page.cookies),
            "retry_after": page.retry_after,
            "milliseconds": page.milliseconds,
        },
        separators=(",", ":"),
    ).encode("ascii")
    raw = b"" if pixels is None else np.ascontiguousarray(pixels).tobytes()
    return _MAGIC + zlib.compress(_SIZES.pack(len(head), *shape) + head + raw, _LEVEL)


def from_bytes(data: bytes) -> Page:
    """The page that `to_bytes` wrote.

    Raises:
        ValueError: these bytes are no page.
    """
    if not data.startswith(_MAGIC):
        raise ValueError("not a stored page")
    try:
        body = zlib.decompress(data[len(_MAGIC) :])
        size, *shape = _SIZES.unpack_from(body)
        start = _SIZES.size + size
        head: dict[str, Any] = json.loads(body[_SIZES.size : start])
        head["leaves"] = tuple(
            Leaf(path, text, style, tuple(box)) for path, text, style, box in head["leaves"]
        )
        if any(shape):
            # A copy, so that the array owns its memory and the body can go.
            array = np.frombuffer(body, np.uint8, offset=start).reshape(shape).copy()
            return Page(**head, pixels=array)
        return Page(**head)
    except (zlib.error, struct.error, KeyError, TypeError) as error:
        raise ValueError(f"damaged stored page: {error}") from error
