"""The gate between what was found out and the map that traffic is rewritten by. Pure decisions.

The dangerous change is from important to neutral. A parameter that mattered once must be found
neutral by several runs, or with many values at once, before that counts (hysteresis). When more
than a set share of a site's contexts make such a change at once, the site or the run is broken far
likelier than the site has changed (the paper's rule): nothing more of it may go than went before.
What turns out to matter always gets through.

What mattered is remembered beyond the map: a context that vanished, or was in doubt for a while, is
compared with what was known of it when it comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from miqps.mapping import ALL_PATHS, ContextVerdicts, Decision, SiteMap, Verdict
from miqps.settings import PUBLISHING, Publishing
from miqps.urls import Context, refolded

_STRICTNESS: dict[Decision, int] = {"neutral": 0, "undecided": 1, "important": 2}

Place = tuple[str, tuple[str, ...], str]
"""Path, pattern and name: a parameter of a site."""


@dataclass(frozen=True, slots=True)
class Mattered:
    """That a parameter mattered, on the wire or in a key, and which runs say otherwise since."""

    path: str
    names: tuple[str, ...]
    name: str
    wire: bool
    key: bool
    run: int = 0
    """The run that saw it last; runs up to this one confirm nothing."""

    doubted: tuple[int, ...] = ()
    """Later runs that found it neutral, on a site that was not refused."""

    asked: int = 0
    """The last run that wanted to let it go."""

    @property
    def place(self) -> Place:
        """Where it mattered."""
        return self.path, self.names, self.name


@dataclass(frozen=True, slots=True)
class Change:
    """A parameter that mattered before, and is neutral now."""

    path: str
    names: tuple[str, ...]
    name: str
    accepted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether a site's new verdicts may be published."""

    site: str
    accepted: bool
    contexts: int
    """Contexts that were known before and are known still."""

    lost: int
    """Those of them in which an important parameter would become neutral."""

    reason: str
    changes: tuple[Change, ...] = ()
    """The dangerous ones, let through or held back."""

    @property
    def held_back(self) -> tuple[Change, ...]:
        """Those that more runs have to confirm."""
        return tuple(change for change in self.changes if not change.accepted)


@dataclass(frozen=True, slots=True)
class Passage:
    """What comes of a site at the gate."""

    decision: GateDecision
    site: SiteMap
    """What may be published."""

    mattered: tuple[Mattered, ...]
    """What is to be remembered of the site from now on."""


def decide(
    old: SiteMap | None,
    new: SiteMap,
    mattered: Iterable[Mattered] = (),
    runs: Mapping[Context, int] | None = None,
    rules: Publishing = PUBLISHING,
    *,
    accept: bool = False,
) -> Passage:
    """Compare a site's new verdicts with what is known of it.

    Args:
        old: what is published; None for a site that is not.
        new: what was found out.
        mattered: what is remembered of the site.
        runs: the run that a context's evidence comes from; 0, or not there: no run of ours.
        rules: how much is enough.
        accept: a person has seen the changes, and lets them all through.
    """
    memory = _memory(old, mattered, new)
    runs = runs or {}
    before = {place[:2] for place in memory}
    before |= {(c.context.path, c.context.names) for c in (old.contexts if old else ())}
    known = [c for c in new.contexts if _known(c.context, before)]
    losing = {c.context for c in known if any(_lost(memory, c.context, v) for v in c.verdicts)}
    share = len(losing) / len(known) if known else 0.0
    if share > rules.max_lost_share and not accept:
        said = _of(len(losing), len(known)) + f": more than {rules.max_lost_share:.0%};"
        said += " nothing more may go there than before"
        for found in known:
            for verdict in found.verdicts:
                was = _lost(memory, found.context, verdict)
                if was is not None:
                    asked = max(was.asked, runs.get(found.context, 0))
                    memory[was.place] = replace(was, asked=asked)
        site = _strictest(old or SiteMap(new.site, ()), new)
        decision = GateDecision(new.site, False, len(known), len(losing), said)
        return Passage(decision, site, _remembered(memory, new, runs, frozenset()))
    contexts, changes = [], list[Change]()
    for found in new.contexts:
        verdicts = []
        for verdict in found.verdicts:
            was = _lost(memory, found.context, verdict)
            if was is not None:
                run = runs.get(found.context, 0)
                verdict, was, change = _weigh(was, verdict, found.context, run, rules, accept)
                memory[was.place] = was
                changes.append(change)
            verdicts.append(verdict)
        contexts.append(replace(found, verdicts=tuple(verdicts)))
    site = replace(new, contexts=tuple(contexts))
    held = frozenset((c.path, c.names, c.name) for c in changes if not c.accepted)
    said = "new site" if not before else _of(len(losing), len(known))
    if held:
        said += f"; {len(held)} held back until more runs confirm it"
    decision = GateDecision(new.site, True, len(known), len(losing), said, tuple(changes))
    return Passage(decision, site, _remembered(memory, new, runs, held))


def taken_back(now: SiteMap | None, then: SiteMap | None, run: int) -> list[Mattered]:
    """What a person takes back by going from one map of a site to an earlier one.

    What may go now and might not go then counts as important, until runs after this one confirm
    that it is not.
    """
    stood = {c.context: {v.name: v for v in c.verdicts} for c in (then.contexts if then else ())}
    found = []
    for entry in now.contexts if now else ():
        for verdict in entry.verdicts:
            before = stood.get(entry.context, {}).get(verdict.name)
            wire = verdict.decision == "neutral" and not (before and before.decision == "neutral")
            key = verdict.in_key == "neutral" and not (before and before.in_key == "neutral")
            if wire or key:
                where = entry.context
                found.append(Mattered(where.path, where.names, verdict.name, wire, key, run))
    return found


def unconfirmed(
    site: SiteMap, mattered: Iterable[Mattered], runs: Mapping[Context, int]
) -> frozenset[Context]:
    """The contexts that have to be looked at once more: what they say was held back at the gate.

    Args:
        site: what was found out.
        mattered: what is remembered of the site.
        runs: the run that a context's evidence comes from.
    """
    memory = _memory(None, mattered, site)
    return frozenset(
        found.context
        for found in site.contexts
        for verdict in found.verdicts
        if (was := _lost(memory, found.context, verdict)) is not None
        and runs.get(found.context, 0) <= max(was.run, was.asked)
    )


# --- memory -------------------------------------------------------------------------------------


def _memory(
    old: SiteMap | None, mattered: Iterable[Mattered], new: SiteMap
) -> dict[Place, Mattered]:
    """What is remembered, and what is published, under the paths as the site is cut up now."""
    memory: dict[Place, Mattered] = {}
    for each in (*mattered, *_in_map(old)):
        path = each.path
        if path != ALL_PATHS:
            path = refolded(path, new.open_prefixes)
        moved = replace(each, path=path)
        known = memory.get(moved.place)
        if known is not None:
            wire, key = known.wire or moved.wire, known.key or moved.key
            first = known if known.run >= moved.run else moved
            moved = replace(first, wire=wire, key=key)
        memory[moved.place] = moved
    return memory


def _in_map(site: SiteMap | None) -> Iterable[Mattered]:
    for found in site.contexts if site is not None else ():
        for v in found.verdicts:
            if "important" in (v.decision, v.in_key):
                wire, key = v.decision == "important", v.in_key == "important"
                yield Mattered(found.context.path, found.context.names, v.name, wire, key)


def _known(context: Context, before: set[tuple[str, tuple[str, ...]]]) -> bool:
    return (context.path, context.names) in before or (ALL_PATHS, context.names) in before


def _lost(memory: Mapping[Place, Mattered], context: Context, verdict: Verdict) -> Mattered | None:
    """What a verdict contradicts: the parameter mattered, on the wire or in a key."""
    for path in (context.path, ALL_PATHS):
        was = memory.get((path, context.names, verdict.name))
        if was is None:
            continue
        wire = was.wire and verdict.decision == "neutral"
        key = was.key and verdict.in_key == "neutral"
        return was if wire or key else None
    return None


def _remembered(
    memory: Mapping[Place, Mattered],
    new: SiteMap,
    runs: Mapping[Context, int],
    held: frozenset[Place],
) -> tuple[Mattered, ...]:
    """The memory from now on: what was found to matter is fresh in it, the rest stays."""
    after = {place: was for place, was in memory.items() if was.wire or was.key}
    for found in new.contexts:
        run = runs.get(found.context, 0)
        for each in _in_map(replace(new, contexts=(found,))):
            was = after.get(each.place, each)
            wire, key = was.wire or each.wire, was.key or each.key
            doubted = was.doubted if each.place in held else ()
            after[each.place] = replace(
                was, wire=wire, key=key, run=max(was.run, run), doubted=doubted
            )
    return tuple(sorted(after.values(), key=lambda was: was.place))


# --- one change ---------------------------------------------------------------------------------


def _weigh(
    was: Mattered, verdict: Verdict, context: Context, run: int, rules: Publishing, accept: bool
) -> tuple[Verdict, Mattered, Change]:
    """The verdict to publish in the place of one that was lost, and what is remembered then."""
    doubted = tuple(sorted({*was.doubted, run})) if run > was.run else was.doubted
    is_fresh = run > was.run
    if accept:
        why = "accepted by hand"
    elif is_fresh and verdict.values >= rules.joint_values:
        why = f"no change with {verdict.values} values in one run"
    elif len(doubted) >= rules.confirming_runs:
        why = f"no change in {len(doubted)} runs"
    else:
        why = f"{len(doubted)} of {rules.confirming_runs} runs confirm it"
        kept = _as_it_was(was, verdict, why)
        change = Change(context.path, context.names, verdict.name, False, why)
        return kept, replace(was, doubted=doubted, asked=max(was.asked, run)), change
    wire = was.wire and verdict.decision != "neutral"
    key = was.key and verdict.in_key != "neutral"
    change = Change(context.path, context.names, verdict.name, True, why)
    return verdict, replace(was, wire=wire, key=key, doubted=()), change


def _as_it_was(was: Mattered, verdict: Verdict, why: str) -> Verdict:
    decision: Decision = "important" if was.wire else verdict.decision
    key: Decision = "important" if was.key else verdict.in_key
    reason = f"it mattered before; now {verdict.reason}, but only {why}"
    return replace(verdict, decision=decision, key=None if key == decision else key, reason=reason)


# --- a whole site -------------------------------------------------------------------------------


def _of(lost: int, known: int) -> str:
    return f"{lost} of {known} contexts lose an important parameter"


def _strictest(old: SiteMap, new: SiteMap) -> SiteMap:
    """What is published, with all that turned out to matter since; nothing more may go."""
    found = {c.context: c for c in new.contexts}
    contexts = [
        replace(c, verdicts=_stricter(c.verdicts, found[c.context].verdicts))
        if c.context in found
        else c
        for c in old.contexts
    ]
    known = {c.context for c in old.contexts}
    for context, entry in found.items():
        matters = tuple(v for v in entry.verdicts if v.decision == "important")
        if context not in known and matters:
            contexts.append(ContextVerdicts(context, matters))
    return replace(old, contexts=tuple(contexts), pins=new.pins)


def _stricter(old: tuple[Verdict, ...], new: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    now = {v.name: v for v in new}
    merged = []
    for verdict in old:
        other = now.pop(verdict.name, None)
        if other is not None and "important" in (other.decision, other.in_key):
            decision = _max(verdict.decision, other.decision)
            key = _max(verdict.in_key, other.in_key)
            if (decision, key) != (verdict.decision, verdict.in_key):
                verdict = replace(other, decision=decision, key=None if key == decision else key)
        merged.append(verdict)
    return (*merged, *(v for v in now.values() if v.decision == "important"))


def _max(one: Decision, other: Decision) -> Decision:
    return max(one, other, key=_STRICTNESS.__getitem__)
