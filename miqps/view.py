"""What has been rendered so far in one judgement, and what is wanted next.

The judge reads pages through a `View`. A page that is not there yet is noted as wanted and the
judge goes on with what it can do without it; when the page has come, it runs again from the start.
So the judge is a plain function of what was observed: it needs no browser, no clock and no state,
and a judgement that was cut off is taken up again by showing it the same pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from miqps.content_id import ContentId, Identity
from miqps.page import Page


@dataclass(frozen=True, slots=True, order=True)
class Render:
    """One visit of a URL; further visits of the same URL have higher numbers."""

    url: str
    repeat: int = 0

    sent: str = ""
    """What the server is asked for in place of `url`, below the page, which does not know of it:
    what the proxy does. Empty: the URL itself."""


Place = str | Render
"""Where to look: a URL, or a render (of any number) with what is sent in place of its URL."""


class View:
    """The pages of one judgement."""

    def __init__(self, content_id: ContentId) -> None:
        self._content_id = content_id
        self._pages: Mapping[Render, Page] = {}
        self._identities: dict[tuple[Render, ...], Identity] = {}
        self._same: dict[tuple[int, int], bool] = {}
        self.wanted: dict[Render, None] = {}

    def refresh(self, pages: Mapping[Render, Page]) -> None:
        """Look at what was rendered by now; nothing is wanted yet."""
        self._pages = pages
        self.wanted = {}

    def page(self, place: Place, repeat: int = 0) -> Page | None:
        """The page, or None and the page is wanted."""
        render = visit(place, repeat)
        page = self._pages.get(render)
        if page is None:
            self.wanted[render] = None
        return page

    def pages(self, place: Place, count: int) -> list[Page] | None:
        """The first `count` renders of a place, or None while some are wanted."""
        found = [self.page(place, repeat) for repeat in range(count)]
        return None if None in found else [page for page in found if page is not None]

    def look(self, place: Place, repeat: int = 0) -> Identity:
        """The content of one render, which must be there."""
        return self._identity((visit(place, repeat),))

    def identity(self, place: Place, count: int) -> Identity:
        """The content of a place as its first `count` renders show it, which must be there."""
        return self._identity(tuple(visit(place, repeat) for repeat in range(count)))

    def _identity(self, renders: tuple[Render, ...]) -> Identity:
        if renders not in self._identities:
            first, *others = (self._pages[render] for render in renders)
            self._identities[renders] = self._content_id.of(first, *others)
        return self._identities[renders]

    def same(self, a: Identity, b: Identity) -> bool:
        """Whether two identities of this view are the same content."""
        # Identities live as long as the view, so their numbers are theirs.
        key = (id(a), id(b))
        if key not in self._same:
            self._same[key] = self._content_id.same(a, b)
        return self._same[key]

    def alike(self, one: str, other: str, repeats: int) -> bool:
        """Whether two URLs show the same, outside of what moves where both were repeated."""
        count = repeats if min(self.rendered(one), self.rendered(other)) >= repeats else 1
        return self.same(self.identity(one, count), self.identity(other, count))

    def volatile_cookies(self) -> frozenset[str]:
        """Cookies that differ between two visits of one URL: session ids, times, coins."""
        return frozenset(
            name
            for render, page in self._pages.items()
            if render.repeat and page.seen
            for first in (self._pages.get(visit(render, 0)),)
            if first is not None and first.seen
            for name in {*first.cookies, *page.cookies}
            if first.cookies.get(name) != page.cookies.get(name)
        )

    def rendered(self, place: Place) -> int:
        """How often a place was rendered, from the first visit on, without a gap."""
        count = 0
        while visit(place, count) in self._pages:
            count += 1
        return count


def visit(place: Place, repeat: int) -> Render:
    """One of the visits of a place."""
    return Render(place, repeat) if isinstance(place, str) else replace(place, repeat=repeat)
