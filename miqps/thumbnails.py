"""Small pictures of what a trial compared, to be looked at by people.

Kept for the trials that verdicts stand on: one that changed for each name that was blamed, and so
many that stayed the same that each name was removed in one of them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt
from PIL import Image

from miqps import query
from miqps.content_id.mask import Mask, difference, empty, grown
from miqps.page import Page, Pixels
from miqps.trial import Trial
from miqps.view import Place, Render, visit

TRIALS = 8
"""Trials of a context that pictures are kept of."""

HEIGHT = 400
"""Pixels of a picture, each 4 by 4 CSS px: two screens. Width is what pages are captured at, 320.
Of a higher page the part is shown in which the change begins."""

BYTES = 20_000
"""Of a picture. Most have 1,000 to 4,000."""

_ABOVE = 40
"""Pixels shown above the change."""

_QUALITIES = (60, 30, 10)


def thumbnails(
    trials: Sequence[Trial], pages: Mapping[Render, Page]
) -> dict[Trial, dict[str, bytes]]:
    """WebP pictures of some trials, by kind: "original", "stripped" and "difference".

    Where a page was not seen, or content is not what is seen, there are fewer or none.
    """
    found: dict[Trial, dict[str, bytes]] = {}
    for trial in _telling(trials):
        original = _loads(pages, trial.url)
        without = query.remove(trial.url, trial.removed)
        stripped = _loads(pages, Render(trial.url, sent=without) if trial.on_wire else without)
        if original:
            found[trial] = _pictures(original, stripped)
        if len(found) == TRIALS:
            break
    return found


def _telling(trials: Sequence[Trial]) -> Iterable[Trial]:
    """The trials to show, those first that say most."""
    # Where nobody was blamed, the next trial of the same names on the same sample tells who was.
    changed = [trial for trial in trials if trial.outcome == "different" and trial.blamed]
    first = {trial.blamed: trial for trial in reversed(changed)}
    yield from (trial for trial in changed if trial is first[trial.blamed])
    shown: set[str] = set()
    same = [trial for trial in trials if trial.outcome == "same"]
    for trial in sorted(same, key=lambda each: -len(each.removed)):
        if not trial.removed <= shown:
            shown |= trial.removed
            yield trial
    yield from (trial for trial in changed if trial is not first[trial.blamed])


def _loads(pages: Mapping[Render, Page], place: Place) -> list[Pixels]:
    """What was captured of a place, the load first that speaks for it."""
    found: list[Pixels] = []
    for number in count():
        page = pages.get(visit(place, number))
        if page is None or page.pixels is None:
            return found
        found.append(page.pixels)
    return found


def _pictures(original: Sequence[Pixels], stripped: Sequence[Pixels]) -> dict[str, bytes]:
    if not stripped or stripped[0].shape[1] != original[0].shape[1]:
        return {"original": _webp(original[0][:HEIGHT])}
    height = max(len(original[0]), len(stripped[0]))
    one, other = _padded(original[0], height), _padded(stripped[0], height)
    changed = difference(one, other)
    for loads in (original, stripped):
        moved = _moved(loads)
        changed[: len(moved)] &= ~moved
    rows = np.flatnonzero(changed.any(axis=1))
    begin = max(0, min(int(rows[0]) - _ABOVE, height - HEIGHT)) if rows.size else 0
    part = slice(begin, begin + HEIGHT)
    return {
        "original": _webp(one[part]),
        "stripped": _webp(other[part]),
        "difference": _webp(_marked(one[part], changed[part])),
    }


def _padded(pixels: Pixels, height: int) -> Pixels:
    missing = height - len(pixels)
    return np.pad(pixels, ((0, missing), (0, 0), (0, 0)), constant_values=255)


def _moved(loads: Sequence[Pixels]) -> Mask:
    """Where loads of one URL differ; what they have not in common is left out."""
    moved = empty(loads[0])
    for other in loads[1:]:
        if other.shape == loads[0].shape:
            moved |= grown(difference(loads[0], other))
    return moved


def _marked(pixels: Pixels, changed: Mask) -> Pixels:
    """The picture in pale grey, with what changed in red."""
    grey = pixels.mean(axis=2, keepdims=True) / 3 + 170
    marked: npt.NDArray[np.uint8] = np.repeat(grey, 3, axis=2).astype(np.uint8)
    marked[grown(changed)] = (208, 0, 32)
    return marked


def _webp(pixels: Pixels) -> bytes:
    """A picture that has no more bytes than it may."""
    image = Image.fromarray(pixels)
    while True:
        for quality in _QUALITIES:
            data = io.BytesIO()
            image.save(data, "WEBP", quality=quality)
            if len(data.getvalue()) <= BYTES:
                return data.getvalue()
        image = image.reduce(2)
