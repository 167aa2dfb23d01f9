"""What of a page is surely content: its main heading, its main price, its main picture."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from miqps.page import Leaf

MAIN_PICTURE = 20_000
"""Square CSS px from which on the biggest picture is content: 200 by 100."""

_PICTURES = re.compile(r"/(img|canvas|svg|video|iframe|object|embed|input)\[\d+\]$")
_PRICE = re.compile(
    r"[$€£¥₹]\s?\d|\d\s?[$€£¥₹]|\b(USD|EUR|GBP|CHF)\s?\d|\d\s?(USD|EUR|GBP|CHF|kr|zł)\b"
)
_SIZE = re.compile(r"size:([\d.]+)px")


def is_picture(leaf: Leaf) -> bool:
    """Whether what is drawn there is not in the leaf itself."""
    return bool(_PICTURES.search(leaf.path)) or "picture:" in leaf.style


def is_heading(leaf: Leaf) -> bool:
    """Whether it is part of a main heading."""
    return "/h1[" in leaf.path


def main_price(leaves: Sequence[Leaf]) -> int | None:
    """The number of the leaf with the biggest price; None when there is no price."""
    return _heaviest(leaves, _price_size)


def main_picture(leaves: Sequence[Leaf]) -> int | None:
    """The number of the biggest picture; None when none is big."""
    return _heaviest(leaves, _picture_area)


def _heaviest(leaves: Sequence[Leaf], weight: Callable[[Leaf], float]) -> int | None:
    """The first leaf of the greatest weight; None when none has any."""
    best, found = 0.0, None
    for i, leaf in enumerate(leaves):
        heavy = weight(leaf)
        if heavy > best:
            best, found = heavy, i
    return found


def _price_size(leaf: Leaf) -> float:
    size = _SIZE.search(leaf.style)
    return float(size.group(1)) if size and _PRICE.search(leaf.text) else 0.0


def _picture_area(leaf: Leaf) -> float:
    area = float(leaf.box[2] * leaf.box[3])
    return area if area >= MAIN_PICTURE and _PICTURES.search(leaf.path) else 0.0
