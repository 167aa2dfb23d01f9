"""Whether a page stays the same without some of its parameters.

A difference is believed only after both sides were rendered again. A page that differs from itself
is noisy: what moves is learned from repeats, and the sides are compared outside of it. Everything
that keeps the page from being seen makes the comparison invalid, never *same*.
"""

from __future__ import annotations

from dataclasses import dataclass

from miqps import query
from miqps.content_id import Identity
from miqps.page import Page
from miqps.trial import CONTENT_CHANGED, NOT_WITHOUT, TrialOutcome
from miqps.view import Place, Render, View

_GONE = frozenset({400, 404, 410, 422})
"""Answers to the URL itself. Others (401, 403, 429, 5xx) are answers to the visitor or the hour."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a comparison."""

    outcome: TrialOutcome
    reason: str = ""

    @property
    def needs_it(self) -> bool:
        """Whether the parameter makes a difference, or without it nothing could be seen."""
        return self.outcome == "different" or self.reason.startswith(NOT_WITHOUT)


def compare(
    view: View, original: str, removed: frozenset[str], repeats: int, *, on_wire: bool = False
) -> Compared | None:
    """Compare a URL with itself less the `removed` names; None while pages are wanted.

    Args:
        view: where the pages are.
        original: the URL with all its parameters.
        removed: names to take out, percent-decoded.
        repeats: renders of each side when a page differs from itself.
        on_wire: take them out of the request only; the page still sees them in its address.
    """
    without = query.remove(original, removed)
    stripped = Render(original, sent=without) if on_wire else Render(without)
    a, b = view.page(original), view.page(stripped)
    if a is None or b is None:
        return None
    if not a.seen:
        return Compared("invalid", f"the page was not seen: {_why(a)}")
    if not b.seen:
        return _missing(view, original, stripped)
    # Below the page nothing was taken out of the address; what is asked for next tells.
    addresses = [hop.url for hop in b.hops[1:]] if on_wire else [b.final_url]
    back = removed & {name for address in addresses for name in query.names(address)}
    if back:
        return Compared("different", f"the site puts {_listed(back)} back")
    if view.same(view.look(original), view.look(stripped)):
        return _stateful(view, original, stripped, Compared("same"))
    return _confirmed(view, original, stripped, repeats)


def _is_gone(page: Page) -> bool:
    """Whether the site itself says that there is nothing at this URL."""
    return page.outcome == "not-found" or (page.outcome == "status" and page.status in _GONE)


def _missing(view: View, original: str, stripped: Render) -> Compared | None:
    """The page is there only with the parameter: is it so on two visits of both?"""
    first, a, b = view.page(stripped), view.page(original, 1), view.page(stripped, 1)
    if first is None or a is None or b is None:
        return None
    if not a.seen or b.seen:
        return Compared("invalid", "the page was not always seen")
    if _is_gone(first) and _is_gone(b):
        return Compared("different", f"without it the site answers {_why(b)}")
    return Compared("invalid", f"{NOT_WITHOUT}: {_why(b)}")


def _confirmed(view: View, original: str, stripped: Render, repeats: int) -> Compared | None:
    """The pages differ: is it the parameter, or are they never twice the same?

    The original's repeats serve all its comparisons, so they are asked for first: what they teach
    about its noise is often enough to see that the other side is the same.
    """
    again = view.page(original, 1)
    if again is None:
        return None
    if not again.seen:
        return Compared("invalid", f"the page was not always seen: {_why(again)}")
    if view.same(view.look(original), view.look(original, 1)):
        stripped_again = view.page(stripped, 1)
        if stripped_again is None:
            return None
        if not stripped_again.seen:
            return Compared("invalid", f"the page was not always seen: {_why(stripped_again)}")
        if view.same(view.look(stripped), view.look(stripped, 1)):
            return Compared("different", CONTENT_CHANGED)
    return _beside_noise(view, original, stripped, repeats)


def _beside_noise(view: View, original: str, stripped: Render, repeats: int) -> Compared | None:
    """Compare outside of what moves by itself, learned from repeats."""
    a = _learned(view, original, repeats, "the page was not always seen")
    if not isinstance(a, Identity):
        return a
    beside = Compared("same", "outside of what moves by itself")
    if view.same(a, view.look(stripped)):
        return _stateful(view, original, stripped, beside)
    b = _learned(view, stripped, repeats, f"{NOT_WITHOUT} every time")
    if not isinstance(b, Identity):
        return b
    if view.same(a, b):
        return _stateful(view, original, stripped, beside)
    return Compared("different", f"{CONTENT_CHANGED}, beside what moves by itself")


def _learned(view: View, place: Place, repeats: int, unseen: str) -> Identity | Compared | None:
    """What a place shows and what of it moves; or why that cannot be said, or None for now."""
    pages = view.pages(place, repeats)
    if pages is None:
        return None
    if not all(page.seen for page in pages):
        return Compared("invalid", unseen)
    identity = view.identity(place, repeats)
    if identity.unstable:
        return Compared("invalid", f"the page is never twice the same: {identity.unstable}")
    return identity


def _stateful(view: View, original: str, stripped: Render, seen: Compared) -> Compared | None:
    """What was `seen` to be the same may still leave a cookie behind, or a value in a store."""
    a, b = view.page(original), view.page(stripped)
    if a is None or b is None:
        return None
    if not _kept_cookies(a, b, view.volatile_cookies()):
        return seen
    again_a, again_b = view.page(original, 1), view.page(stripped, 1)
    if again_a is None or again_b is None:
        return None
    volatile = view.volatile_cookies()
    cookies = _kept_cookies(a, b, volatile) & _kept_cookies(again_a, again_b, volatile)
    if cookies:
        return Compared("different", f"it leaves {_listed(cookies)} behind")
    return seen


def _kept_cookies(a: Page, b: Page, volatile: frozenset[str]) -> frozenset[str]:
    return frozenset(
        name
        for name, value in a.cookies.items()
        if name not in b.cookies or (name not in volatile and b.cookies[name] != value)
    )


def _why(page: Page) -> str:
    return page.reason or page.outcome


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
