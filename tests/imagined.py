"""Imagined sites: pages made by a function of the URL, and a content ID that reads their titles.

They stand in for the browser where the judge is tested: a site is a function from the URL and the
number of the visit to a title, or to a whole page.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from miqps import query, urls
from miqps.classify import Judge, Judgement
from miqps.content_id import Identity
from miqps.mapping import Verdict
from miqps.page import Hop, Page
from miqps.settings import JUDGING, Judging
from miqps.task import Task
from miqps.urls import context_of
from miqps.view import Render

SITE = "http://shop.example"

using = "minimal-set"
"""The algorithm that judges where a test does not say; a module of tests may set another one."""

Site = Callable[[str, int], "str | Page"]


def page(url: str, title: str, **more: object) -> Page:
    """A page that was seen, or with outcome=... one that was not."""
    more = {"outcome": "seen", "status": 200, "final_url": url, **more}
    return Page(url=url, title=title, **more)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Words(Identity):
    """Identity by the words of the title; words that move between repeats are left out."""

    words: tuple[str, ...] = ()
    moving: frozenset[int] = frozenset()


class ByTitle:
    """A content ID over titles. More than half of the words moving is unstable."""

    name = "title"

    def of(self, page: Page, *repeats: Page) -> Words:
        words = tuple(page.title.split())
        moving = frozenset(
            place
            for place, word in enumerate(words)
            if any(other.title.split()[place : place + 1] != [word] for other in repeats)
        )
        return Words(
            digest=hashlib.sha256(page.title.encode()).hexdigest(),
            unstable="too much moves" if len(moving) * 2 > len(words) else "",
            outline=" ".join(w for n, w in enumerate(words) if n not in moving),
            words=words,
            moving=moving,
        )

    def same(self, a: Identity, b: Identity) -> bool:
        assert isinstance(a, Words)
        assert isinstance(b, Words)
        if a.unstable or b.unstable:
            return False
        if len(a.words) != len(b.words):
            return a.outline == b.outline
        moving = a.moving | b.moving
        return all(a.words[n] == b.words[n] for n in range(len(a.words)) if n not in moving)


@dataclass
class World:
    """An imagined site with a log of what was rendered."""

    site: Site
    scripts: Callable[[str, Page], Page] = lambda url, page: page
    """What scripts make of a page, from its address."""

    log: Counter[Render] = field(default_factory=Counter)

    def render(self, render: Render) -> Page:
        self.log[render] += 1
        asked = render.sent or render.url
        shown = self.site(asked, sum(self.log.values()))
        seen = shown if isinstance(shown, Page) else page(asked, shown)
        if seen.final_url not in ("", asked):
            seen = replace(seen, hops=(Hop(render.url, 302), Hop(seen.final_url, 200)))
        elif seen.final_url:
            seen = replace(seen, final_url=render.url)
        return self.scripts(render.url, replace(seen, url=render.url))


def judged(
    world: World,
    samples: list[str],
    *,
    pool: dict[str, list[str]] | None = None,
    rules: Judging = JUDGING,
    algorithm: str = "",
    known: frozenset[str] = frozenset(),
) -> Judgement:
    """Let the judge ask until it tells; every render is made once."""
    full = [SITE + sample for sample in samples]
    context = context_of(full[0])
    assert context is not None
    judge = Judge(
        Task(context, tuple(full), pool or {}, known), ByTitle(), rules, algorithm or using
    )
    pages: dict[Render, Page] = {}
    for _ in range(10_000):
        found = judge.next(pages)
        if isinstance(found, Judgement):
            return found
        assert found, "the judge neither asks nor tells"
        assert not set(found) & set(pages), "the judge asks for what it has"
        pages |= {render: world.render(render) for render in found}
    raise AssertionError("the judge never ends")


def decisions(verdicts: tuple[Verdict, ...]) -> dict[str, str]:
    """Name -> decision."""
    return {verdict.name: verdict.decision for verdict in verdicts}


def reads(*names: str) -> Site:
    """A site whose pages depend on the path and on these names only."""

    def show(url: str, visit: int) -> str:
        values = [query.values(url, name) for name in names]
        return f"{urls.path(url)} {values}".replace(", ", ",")

    return show
