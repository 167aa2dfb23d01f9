"""What a probe run says at its end: a short table for people, or a dictionary for programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass

from rich.table import Table

from miqps.gate import GateDecision
from miqps.probe import Progress
from miqps.publish import Published
from miqps.store import Store
from miqps.tables import in_80_columns, table

_MOST_CHANGES = 5
"""Held back parameters of a site that are named."""


@dataclass(frozen=True, slots=True)
class SiteSummary:
    """How many parameters of a site's contexts were found to be what."""

    site: str
    contexts: int
    important: int
    neutral: int
    undecided: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One run, in numbers."""

    contexts: int
    judged: int
    renders: int
    shared: int
    version: int
    is_new: bool
    sites: tuple[SiteSummary, ...]
    gate: tuple[GateDecision, ...]
    """What the publish gate did not let through as it was."""

    outcomes: dict[str, int]
    down: dict[str, str]
    disallowed: int
    out_of_budget: bool

    @property
    def troubles(self) -> list[str]:
        """What went wrong, one line each; the run has failed when there are any."""
        return [f"{site} could not be asked: {why}; nothing of it was changed, run again when it"
                " can be" for site, why in self.down.items()]  # fmt: skip

    def as_dict(self) -> dict[str, object]:
        """The summary as plain values."""
        return asdict(self)

    def as_text(self) -> str:
        """The summary as a table of at most 80 columns."""
        parts: list[Table | str] = []
        if self.sites:
            rows = [(s.site, s.contexts, s.important, s.neutral, s.undecided) for s in self.sites]
            parts.append(table(("site", "contexts", "important", "neutral", "undecided"), rows))
        parts.append(
            f"{self.judged} of {self.contexts} due contexts judged with {self.renders} renders,"
            f" {self.shared} more were shared."
        )
        for decision in self.gate:
            parts += in_words(decision)
        if self.disallowed:
            parts.append(f"{self.disallowed} renders were left out: robots.txt disallows them.")
        if self.out_of_budget:
            parts.append("The budget is used up; run again to go on.")
        news = "is published" if self.is_new else "is still in force" if self.version else ""
        parts.append(f"Map version {self.version} {news}." if news else "No map yet.")
        return in_80_columns(parts)


def in_words(decision: GateDecision) -> list[str]:
    """What the gate held back of a site, and what a person can do about it."""
    if not decision.accepted:
        accept = f"scripts/maps.py publish --accept {decision.site}"
        return [f"Not published: {decision.site}: {decision.reason}. If the site has changed"
                f" indeed: {accept}"]  # fmt: skip
    held = decision.held_back
    said = [
        f"Held back: {change.name} of {decision.site}{change.path}: {change.reason}."
        for change in held[:_MOST_CHANGES]
    ]
    if len(held) > _MOST_CHANGES:
        said.append(f"And {len(held) - _MOST_CHANGES} more of {decision.site}.")
    return said


def summarize(store: Store, progress: Progress, published: Published) -> Summary:
    """What a run has done, and what is known of the sites it was about."""
    sites = []
    for site in sorted(progress.sites):
        found = store.evidence.verdicts(site)
        counts = Counter(v.decision for context in found for v in context.verdicts)
        sites.append(
            SiteSummary(
                site,
                len(found),
                counts["important"],
                counts["neutral"],
                counts["undecided"],
            )
        )
    return Summary(
        contexts=progress.contexts,
        judged=progress.judged,
        renders=progress.renders,
        shared=progress.shared,
        version=published.version,
        is_new=published.is_new,
        sites=tuple(sites),
        gate=tuple(d for d in published.decisions if not d.accepted or d.held_back),
        outcomes=dict(progress.outcomes),
        down=dict(progress.down),
        disallowed=progress.disallowed,
        out_of_budget=progress.out_of_budget,
    )
