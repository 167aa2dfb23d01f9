"""One comparison and what came of it: the unit of evidence that verdicts are weighed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TrialOutcome = Literal["same", "different", "invalid"]

CONTENT_CHANGED = "the content changed"
"""How the reason begins when another page was seen, not a cookie, a redirect or an error."""

NOT_WITHOUT = "without it the page was not seen"
"""How the reason begins when the page was seen with the parameter and never without."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A sample, the names that were removed from it, and whether the page stayed the same."""

    url: str
    """The sample as it was rendered with all its parameters."""

    removed: frozenset[str]
    outcome: TrialOutcome
    reason: str = ""

    blamed: str | None = None
    """The one name that made the difference, or without which nothing could be seen; removing the
    others did not, on this sample."""

    look: str = ""
    """Outline of the sample's own page; pages of different paths that share it were not seen."""

    swapped: bool = False
    """A value in this sample was taken from another URL of the site."""

    on_wire: bool = False
    """The names were taken out of the request only, as the proxy does; scripts still saw them."""
