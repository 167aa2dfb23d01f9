"""When two pages are the same content: one small protocol, one file for each answer to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from miqps.page import Page


@dataclass(frozen=True, eq=False)
class Identity:
    """What a content ID knows of one URL; each content ID extends it with what it compares."""

    digest: str
    """Hex; equal exactly when one render looks byte for byte the same."""
    unstable: str = ""
    """Why this cannot be judged ("the main heading moves"), or ""."""
    outline: str = ""
    """Hex; what is shown, outside of what moves by itself: equal for pages that say the same."""


class ContentId(Protocol):
    """A way to tell whether two URLs show the same content."""

    name: str

    def of(self, page: Page, *repeats: Page) -> Identity:
        """One URL's identity.

        Args:
            page: the render that speaks for the URL.
            repeats: further renders of the same URL, which teach what moves by itself.
        """
        ...

    def same(self, a: Identity, b: Identity) -> bool:
        """Whether both are the same content, outside of what moves on either side.

        Symmetric. Never true where one side could not be judged.
        """
        ...


def _visual() -> ContentId:
    from miqps.content_id.visual import Visual

    return Visual()


_KNOWN: dict[str, Callable[[], ContentId]] = {"visual": _visual}


def get(name: str) -> ContentId:
    """The content ID of that name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in _KNOWN:
        raise ValueError(f"no content ID {name!r}; there are: {', '.join(sorted(_KNOWN))}")
    return _KNOWN[name]()
