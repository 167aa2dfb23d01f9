"""What a map holds, for people: its versions, its sites, and one site with everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table

from miqps.difference import in_words
from miqps.gate import GateDecision
from miqps.mapping import Map, SiteMap
from miqps.store.maps import Version
from miqps.tables import in_80_columns, table

_LAST_DECISIONS = 5


def of_versions(versions: Sequence[Version]) -> str:
    """The versions that are kept, the newest first."""
    rows = [(v.version, v.created, v.note, f"{v.bytes:,}") for v in versions]
    return in_80_columns([table(("version", "created", "by", "bytes"), rows, words=3)])


def of_map(map: Map) -> str:
    """The sites of a map, with how many parameters are what."""
    rows = []
    for site in map.sites.values():
        counts = counts_of(site)
        pinned = len(site.pins)
        rows.append(
            (site.site, len(site.contexts), counts["important"], counts["neutral"],
             counts["undecided"], pinned)
        )  # fmt: skip
    columns = ("site", "contexts", "important", "neutral", "undecided", "pinned")
    return in_80_columns([table(columns, rows), f"Version {map.version} of {map.created}."])


def of_site(site: SiteMap, decisions: Sequence[GateDecision]) -> str:
    """All that is known of a site: verdicts by context, pins, and what the gate decided last."""
    return in_80_columns(_parts(site, decisions))


def counts_of(site: SiteMap) -> Counter[str]:
    """How many parameters of a site are important, neutral, undecided."""
    return Counter(v.decision for found in site.contexts for v in found.verdicts)


def _parts(site: SiteMap, decisions: Sequence[GateDecision]) -> Iterator[Table | str]:
    yield site.site
    for found in (*site.contexts, *site.inferred):
        yield f"\n{found.context.path}  {' '.join(found.context.names) or '(every pattern)'}"
        yield table(
            ("", "", ""), [(v.name, in_words(v), v.reason) for v in found.verdicts], words=3
        )
    if site.pins:
        yield "\npinned by hand"
        yield table(
            ("", "", ""), [(p.name, p.action, f"below {p.path}") for p in site.pins], words=3
        )
    if decisions:
        yield "\nwhat the gate decided, the newest first"
    for decision in decisions[:_LAST_DECISIONS]:
        yield f"  {'let through' if decision.accepted else 'refused'}: {decision.reason}"
        for change in decision.changes:
            said = "let through" if change.accepted else "held back"
            yield f"    {change.name} of {change.path}, {said}: {change.reason}"


def _columns(rows: Iterable[tuple[str, str, str]]) -> Table:
    return table(("", "", ""), list(rows), words=3)
