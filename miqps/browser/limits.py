"""Where a visit ends whatever the page does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a visit ends whatever the page does."""

    render: float = 60.0
    """Seconds for all of it; then the browser is killed."""
    load: float = 30.0
    """Seconds until the load event; a page without one is never pictured."""
    answer: float = 15.0
    """Seconds for one command; an endless script is given up after that."""
    idle: float = 8.0
    """Seconds for the network to become quiet, all steps together. Some pages never are."""
    quiet: float = 0.05
    """Seconds without a request that count as quiet. Scripts start theirs within that."""
    documents: int = 12
    """Documents one visit may load in its tab; more is a page that reloads itself for ever."""
    page_time: int = 2_000
    """Milliseconds of the page's own time: banners that show at once are in, carousels have not
    turned yet."""
    leap: int = 8_000
    """Milliseconds after that in which only what a page does once still happens: late content and
    late offers, but no carousel."""
    standing: float = 1.0
    """Seconds that a page with workers or open connections is watched, because nothing else shows
    whether they have said all."""
    window: int = 20_000
    """CSS px the window is made high at most, so that all of a page is loaded and drawn."""
    height: int = 60_000
    """CSS px captured; Chromium draws that right. Below it, the leaves alone speak."""
