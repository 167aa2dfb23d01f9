"""Makes pages without a browser: leaves drawn as blocks of colour that depend on their words."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from miqps.page import Leaf, Page, Pixels

INK = "color:rgb(0, 0, 0);size:16px;weight:400;"


def leaf(
    path: str, text: str = "", style: str = INK, box: tuple[int, int, int, int] = (8, 8, 200, 20)
) -> Leaf:
    return Leaf(path, text, style, box)


def draw(leaves: Sequence[Leaf], height: int) -> Pixels:
    """White paper with every leaf's box filled by a colour of its words and style."""
    pixels = np.full((height // 4, 320, 3), 255, np.uint8)
    for each in leaves:
        x, y, w, h = each.box
        colour = zlib.crc32((each.text + each.style).encode("utf-8", "replace"))
        pixels[y // 4 : (y + h) // 4, x // 4 : (x + w) // 4] = (
            colour & 255,
            colour >> 8 & 255,
            colour >> 16 & 255,
        )
    return pixels


def page(leaves: Sequence[Leaf], *, title: str = "A page", height: int = 1024) -> Page:
    return Page(
        url="http://site.test/",
        outcome="seen",
        status=200,
        final_url="http://site.test/",
        title=title,
        leaves=tuple(leaves),
        pixels=draw(leaves, height),
        height=height,
    )


def listing(*lines: str, top: int = 100) -> list[Leaf]:
    """A heading and one paragraph a line."""
    leaves = [leaf("/html/body[1]/h1[1]/#text[1]", "Heading", box=(8, 20, 400, 40))]
    for n, line in enumerate(lines):
        box = (8, top + 24 * n, 240, 20)
        leaves.append(leaf(f"/html/body[1]/p[{n + 1}]/#text[1]", line, box=box))
    return leaves
