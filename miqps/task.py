"""What is to be judged: a context, the URLs that speak for it, and what its site knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from miqps.urls import Context


@dataclass(frozen=True, slots=True)
class Task:
    """One context to be judged."""

    context: Context
    urls: tuple[str, ...]
    """The URLs that were observed for the context."""

    pool: Mapping[str, Sequence[str]]
    """For each name, raw values seen elsewhere on the site, the nearest first."""

    known: frozenset[str] = frozenset()
    """Names that matter elsewhere on the site: they are the first that a search keeps."""

    listed: frozenset[str] = frozenset()
    """Names that hand-kept lists take out of such URLs: the last that a search keeps."""
