"""Whether pages that were stripped still show what they show unstripped: a hint, never a verdict.

A small share of page loads goes through the proxy as they came (canaries). Where the text of such a
page is another one than that of the stripped page, the site may have changed, and is worth a look.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from miqps.harvest import distance
from miqps.observation import Answer
from miqps.settings import DRIFT


@dataclass(slots=True)
class _Looks:
    """Fingerprints of one page, as it was stripped and as it was not."""

    stripped: deque[int] = field(default_factory=lambda: deque(maxlen=DRIFT.looks))
    whole: deque[int] = field(default_factory=lambda: deque(maxlen=DRIFT.looks))


class Drift:
    """Compares what passes by. Holds no more than so many pages, those seen last."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, bool], _Looks] = {}

    def notice(self, cleaned: str, answer: Answer, *, stripped: bool) -> bool:
        """Take a look at a page; whether stripped and unstripped looks differ beyond its noise.

        Args:
            cleaned: the URL without what may go.
            answer: what was seen. Errors, and pages without text, say nothing.
            stripped: whether it was asked for by that URL.
        """
        if answer.status != 200 or not answer.fingerprint:
            return False
        # Who is logged in sees another page.
        page = cleaned, answer.cookies_sent
        looks = self._pages.pop(page, None) or _Looks()
        if len(self._pages) >= DRIFT.pages:
            self._pages.pop(next(iter(self._pages)))
        self._pages[page] = looks
        (looks.stripped if stripped else looks.whole).append(answer.fingerprint)
        if not looks.stripped or not looks.whole:
            return False
        noise = max(_widest(looks.stripped), _widest(looks.whole))
        nearest = min(distance(one, other) for one in looks.stripped for other in looks.whole)
        return nearest > max(DRIFT.bits, 2 * noise)


def _widest(prints: deque[int]) -> int:
    return max(distance(one, other) for one in prints for other in prints)
