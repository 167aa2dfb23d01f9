"""What is different between two maps, parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from miqps.mapping import ContextVerdicts, Map, Pin, SiteMap, Verdict
from miqps.urls import Context


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """A parameter with another verdict. A verdict that is not there is ""."""

    name: str
    before: str
    after: str
    reason: str
    """Of the new verdict, or of the old one where there is no new one."""


@dataclass(frozen=True, slots=True)
class ContextChange:
    """A context in which something changed. `names` is empty where a verdict is inferred."""

    path: str
    names: tuple[str, ...]
    what: str
    """`new`, `gone` or `changed`."""

    parameters: tuple[ParameterChange, ...]


@dataclass(frozen=True, slots=True)
class SiteChange:
    """What changed on a site."""

    site: str
    contexts: tuple[ContextChange, ...]
    pinned: tuple[Pin, ...] = ()
    unpinned: tuple[Pin, ...] = ()


def difference(before: Map, after: Map) -> list[SiteChange]:
    """What the second map says otherwise than the first, in the order of sites and paths.

    Reasons and counts that are other ones for the same verdict are no change.
    """
    changes = (_of_site(site, before, after) for site in sorted({*before.sites, *after.sites}))
    return [c for c in changes if c.contexts or c.pinned or c.unpinned]


def as_lines(changes: list[SiteChange]) -> Iterator[str]:
    """The changes for people: a site, its contexts, their parameters, each below the other."""
    for site in changes:
        yield site.site
        for context in site.contexts:
            sign = {"new": "+", "gone": "-", "changed": " "}[context.what]
            yield f"{sign} {context.path}  {' '.join(context.names) or '(every pattern)'}"
            width = max((len(p.name) for p in context.parameters), default=0)
            for parameter in context.parameters:
                said = [parameter.before, parameter.after]
                yield f"    {parameter.name:{width}}  {' -> '.join(filter(None, said))}"
                yield f"    {'':{width}}  {parameter.reason}"
        for sign, pins in (("+", site.pinned), ("-", site.unpinned)):
            for pin in pins:
                yield f"{sign} pin: {pin.action} {pin.name} below {pin.path}"


def _of_site(site: str, before: Map, after: Map) -> SiteChange:
    nothing = SiteMap(site, ())
    old, new = before.sites.get(site, nothing), after.sites.get(site, nothing)
    then, now = _entries(old), _entries(new)
    contexts = (_of_context(c, then.get(c), now.get(c)) for c in sorted({*then, *now}))
    return SiteChange(
        site,
        tuple(c for c in contexts if c is not None),
        tuple(sorted(set(new.pins) - set(old.pins))),
        tuple(sorted(set(old.pins) - set(new.pins))),
    )


def _entries(site: SiteMap) -> dict[Context, ContextVerdicts]:
    return {found.context: found for found in (*site.inferred, *site.contexts)}


def _of_context(
    context: Context, old: ContextVerdicts | None, new: ContextVerdicts | None
) -> ContextChange | None:
    then = {v.name: v for v in old.verdicts} if old is not None else {}
    now = {v.name: v for v in new.verdicts} if new is not None else {}
    parameters = tuple(
        ParameterChange(name, *said, {**then, **now}[name].reason)
        for name in sorted({*then, *now})
        for said in ((in_words(then.get(name)), in_words(now.get(name))),)
        if said[0] != said[1]
    )
    what = "new" if old is None else "gone" if new is None else "changed"
    if what == "changed" and not parameters:
        return None
    return ContextChange(context.path, context.names, what, parameters)


def in_words(verdict: Verdict | None) -> str:
    """A verdict in a word, or in two where wire and key differ."""
    if verdict is None:
        return ""
    if verdict.in_key == verdict.decision:
        return verdict.decision
    return f"{verdict.decision} on the wire, {verdict.in_key} in a key"
