"""What one visit of one URL showed: the value that renders give and content IDs compare."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, get_args

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

Part = Literal["pixels", "metadata", "dom", "body"]
"""What a page has only when it was asked for. All else costs next to nothing, and is always there.
"""

PARTS: frozenset[Part] = frozenset(get_args(Part))
USUAL: frozenset[Part] = frozenset({"pixels", "metadata"})
"""What the default content ID asks for."""

Pixels = npt.NDArray[np.uint8]

_MAGIC = b"miqps-page/2\n"
_SIZES = struct.Struct("<QQHHH")
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


class Hop(NamedTuple):
    """One answer on the way to a page."""

    url: str
    status: int


class Node(NamedTuple):
    """One element or run of text of a document."""

    depth: int
    """How many elements it is in."""
    tag: str
    """In lower case; "#text" for text, "#shadow" and "#document" for what has its own tree."""
    text: str
    attributes: tuple[tuple[str, str], ...]
    """Names and values, sorted."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page says of itself to machines."""

    canonical: str = ""
    """The address its canonical link names, absolute."""
    properties: tuple[tuple[str, str], ...] = ()
    """Open Graph properties and their kin, "og:title" and "product:price:amount", as they stand."""
    json_ld: tuple[str, ...] = ()
    """The JSON-LD blocks, unread."""


@dataclass(frozen=True, slots=True)
class Body:
    """What the server sent as the last document, as text in UTF-8."""

    sha256: str
    """Of all of it; hex."""
    size: int
    """Bytes."""
    beginning: bytes
    """The first of them: as much as is worth keeping."""


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
    hops: tuple[Hop, ...] = ()
    """What answered in the tab, in order: redirects, documents that sent on to others, the last."""
    title: str = ""
    leaves: tuple[Leaf, ...] = ()
    """Empty unless the outcome is "seen" or "redirected"; so are the parts."""
    pixels: Pixels | None = None
    """The whole page at a quarter of its size: (height / 4, width / 4, 3), RGB."""
    height: int = 0
    """CSS px of the whole page, also where the picture stops earlier."""
    metadata: Metadata | None = None
    dom: tuple[Node, ...] = ()
    """The document without what is never content: scripts, style sheets, comments, most of the
    head. In document order."""
    body: Body | None = None
    """None also where there is more of it than is worth reading."""
    cookies: Mapping[str, str] = field(default_factory=dict)
    """"name@domain" -> value of every cookie the visit left behind, and "name@localStorage"."""
    retry_after: float | None = None
    """Seconds the server asked to be left alone."""
    errors: tuple[str, ...] = ()
    """What the page's scripts complained of, the first few."""
    milliseconds: float = 0.0
    """Wall time of the render."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds of its steps."""

    @property
    def seen(self) -> bool:
        """Whether this shows the page that was asked for."""
        return self.outcome == "seen"

    @property
    def text(self) -> str:
        """All that can be read on it, a line for each run of text."""
        return "\n".join(leaf.text for leaf in self.leaves if leaf.text)


def to_bytes(page: Page) -> bytes:
    """The page as compressed bytes: a JSON head, then the body's beginning and the raw pixels."""
    pixels, body = page.pixels, page.body
    shape = (0, 0, 0) if pixels is None else pixels.shape
    beginning = b"" if body is None else body.beginning
    head = json.dumps(
        {
            "url": page.url,
            "outcome": page.outcome,
            "reason": page.reason,
            "status": page.status,
            "final_url": page.final_url,
            "hops": page.hops,
            "title": page.title,
            "leaves": page.leaves,
            "height": page.height,
            "metadata": None if page.metadata is None else asdict(page.metadata),
            "dom": page.dom,
            "body": None if body is None else (body.sha256, body.size),
            "cookies": dict(page.cookies),
            "retry_after": page.retry_after,
            "errors": page.errors,
            "milliseconds": page.milliseconds,
            "phases": dict(page.phases),
        },
        separators=(",", ":"),
    ).encode("ascii")
    raw = b"" if pixels is None else np.ascontiguousarray(pixels).tobytes()
    sizes = _SIZES.pack(len(head), len(beginning), *shape)
    return _MAGIC + zlib.compress(sizes + head + beginning + raw, _LEVEL)


def from_bytes(data: bytes) -> Page:
    """The page that `to_bytes` wrote.

    Raises:
        ValueError: these bytes are no page.
    """
    if not data.startswith(_MAGIC):
        raise ValueError("not a stored page")
    try:
        whole = zlib.decompress(data[len(_MAGIC) :])
        head_size, body_size, *shape = _SIZES.unpack_from(whole)
        begins = _SIZES.size + head_size
        head: dict[str, Any] = json.loads(whole[_SIZES.size : begins])
        values = _read(head, whole[begins : begins + body_size])
        if any(shape):
            # A copy, so that the array owns its memory and the rest can go.
            offset = begins + body_size
            values["pixels"] = np.frombuffer(whole, np.uint8, offset=offset).reshape(shape).copy()
        return Page(**values)
    except (zlib.error, struct.error, KeyError, TypeError) as error:
        raise ValueError(f"damaged stored page: {error}") from error


def _read(head: dict[str, Any], beginning: bytes) -> dict[str, Any]:
    """The values of a page's fields, pixels apart, from what JSON made of them."""
    said, body = head["metadata"], head["body"]
    return head | {
        "hops": tuple(Hop(*hop) for hop in head["hops"]),
        "leaves": tuple(
            Leaf(path, text, style, tuple(box)) for path, text, style, box in head["leaves"]
        ),
        "metadata": said
        and Metadata(
            said["canonical"],
            tuple((name, value) for name, value in said["properties"]),
            tuple(said["json_ld"]),
        ),
        "dom": tuple(
            Node(depth, tag, text, tuple((name, value) for name, value in attributes))
            for depth, tag, text, attributes in head["dom"]
        ),
        "body": body and Body(body[0], body[1], beginning),
        "errors": tuple(head["errors"]),
    }
