"""When two pages are the same content: one small protocol, one file for each answer to it.

Another package adds its own by an entry point in the group `miqps.content_ids`, whose value is a
class that can be called without arguments and answers to the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol, cast

from miqps.page import PARTS, Page, Part

GROUP = "miqps.content_ids"

_OWN = {
    name: EntryPoint(name, f"miqps.content_id.{name}:{name.capitalize()}", GROUP)
    for name in ("visual", "dom", "body", "metadata")
}


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
    needs: frozenset[Part]
    """What it looks at of a page, beside what every page has."""

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


def get(name: str) -> ContentId:
    """The content ID of that name.

    Raises:
        ValueError: there is none of that name, or the package that has it does not work.
    """
    known = {each.name: each for each in entry_points(group=GROUP)} | _OWN
    if name not in known:
        raise ValueError(f"no content ID {name!r}; there are: {', '.join(sorted(known))}")
    try:
        found = cast(ContentId, known[name].load()())
        if not found.needs <= PARTS:
            raise ValueError(f"a page has no part {', '.join(sorted(found.needs - PARTS))}")
        return found
    except Exception as error:
        # Somebody else's package: whatever is wrong with it, it is one line here.
        said = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(f"content ID {name!r} ({known[name].value}) fails: {said}") from error
