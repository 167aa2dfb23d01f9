"""Where a picture moves: arrays of booleans, one for each captured pixel (4 by 4 CSS px)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from miqps.page import Pixels

TOLERANCE = 3
"""Of 255. Repeats differ by 0; a subtle colour swatch by 9."""

Mask = npt.NDArray[np.bool_]
Box = tuple[int, int, int, int]


def empty(pixels: Pixels) -> Mask:
    """A mask for a picture, with nothing in it."""
    return np.zeros(pixels.shape[:2], np.bool_)


def difference(a: Pixels, b: Pixels) -> Mask:
    """Where two pictures of one shape differ by more than the tolerance."""
    apart: Mask = (np.maximum(a, b) - np.minimum(a, b)).max(axis=2) > TOLERANCE
    return apart


def grown(mask: Mask) -> Mask:
    """The mask and the pixels around it: a moving thing's edges move with it."""
    wide = mask.copy()
    wide[1:] |= mask[:-1]
    wide[:-1] |= mask[1:]
    tall = wide.copy()
    wide[:, 1:] |= tall[:, :-1]
    wide[:, :-1] |= tall[:, 1:]
    return wide


def cover(mask: Mask, boxes: Iterable[Box]) -> None:
    """Adds boxes in CSS px to a mask."""
    for box in set(boxes):
        mask[area(box)] = True


def area(box: Box) -> tuple[slice, slice]:
    """The part of a picture that a box in CSS px touches, and one pixel more each way."""
    x, y, width, height = box
    return (
        slice(max(0, y // 4 - 1), max(0, -(-(y + height) // 4) + 1)),
        slice(max(0, x // 4 - 1), max(0, -(-(x + width) // 4) + 1)),
    )
