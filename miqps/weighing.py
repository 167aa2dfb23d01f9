"""From trials to verdicts: what the evidence is enough for.

Errors are not symmetric: a parameter is *neutral* only when it was removed without effect, together
with all others that may go, from enough samples with distinct values that were certainly seen.
Everything else is kept, with the reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from miqps import query, urls
from miqps.mapping import ContextVerdicts, Decision, Verdict
from miqps.settings import JUDGING, Judging
from miqps.trackers import is_tracker
from miqps.trial import CONTENT_CHANGED, Trial
from miqps.urls import Context


@dataclass(frozen=True, slots=True)
class Judged:
    """A context and all the evidence there is of it."""

    context: Context
    trials: tuple[Trial, ...]


def mismatch_bound(samples: int, confidence: float = JUDGING.confidence) -> float:
    """The rate of change that `samples` trials without one exclude with that confidence.

    The exact binomial bound, with 95 % 1 - 0.05^(1/n); about 3/n (the "rule of three", Hanley
    1983).
    """
    return float(1 - (1 - confidence) ** (1 / samples)) if samples else 1.0


def values_needed(rate: float, confidence: float) -> int:
    """The fewest values without a change whose `mismatch_bound` is no more than a rate."""
    return math.ceil(math.log(1 - confidence) / math.log(1 - rate))


def weigh(
    names: Sequence[str],
    trials: Iterable[Trial],
    rules: Judging,
    walls: Collection[str] = frozenset(),
) -> tuple[Verdict, ...]:
    """One verdict for each of a context's names.

    Args:
        names: the context's pattern.
        trials: its evidence.
        rules: how much is enough.
        walls: looks that pages of different paths share: what such a page did not show, nobody saw.
    """
    known = [_unwalled(trial, walls) for trial in trials]
    evidence = [trial for trial in known if not trial.on_wire]
    on_wire = [trial for trial in known if trial.on_wire]
    important = {name: v for name in names if (v := _important(name, evidence, rules)) is not None}
    held_back = {t.blamed for t in evidence if t.outcome == "invalid"}
    removable = frozenset(
        name
        for name in names
        if name not in important
        and name not in held_back
        and any(name in t.removed for t in evidence if t.outcome == "same")
    )
    support = _support(evidence, removable, [n for n in names if n not in removable])
    verdicts = (
        important[name] if name in important else _open(name, evidence, support, removable, rules)
        for name in names
    )
    return tuple(_as_deployed(verdict, on_wire, rules) for verdict in verdicts)


def review(site: Sequence[Judged], rules: Judging) -> list[ContextVerdicts]:
    """The verdicts of a whole site, weighed with what its contexts say of each other.

    Some things show only here: pages of different paths that look the same (a consent wall, a block
    page, a log-in page; nothing was seen there); a pattern in which nothing was seen to matter,
    which may be such a wall; a name that matters on a path in one pattern but seems not to matter
    on the same path in another; and a name in a rare pattern that never mattered in the others.
    """
    walls = _walls(trial for judged in site for trial in judged.trials)
    weighed = [
        ContextVerdicts(j.context, weigh(j.context.names, j.trials, rules, walls)) for j in site
    ]
    matters: dict[tuple[str, str], list[ContextVerdicts]] = {}
    for found in weighed:
        for verdict in found.verdicts:
            if "important" in (verdict.decision, verdict.key):
                matters.setdefault((found.context.path, verdict.name), []).append(found)
    everywhere = {name for _, name in matters}
    neutral = Counter(name for found in weighed for name in found.neutral if name not in everywhere)
    reviewed = []
    for judged, found in zip(site, weighed, strict=True):
        path = found.context.path
        sisters = {
            v.name: [s for s in matters.get((path, v.name), []) if s is not found]
            for v in found.verdicts
        }
        inferred = [_infer(v, neutral[v.name], rules) for v in found.verdicts]
        verdicts = [_veto(found.context, v, sisters[v.name], rules) for v in inferred]
        if not _shows_content([_unwalled(trial, walls) for trial in judged.trials]):
            if any(sisters[name] for name in found.neutral):
                verdicts = [_doubt(v, _CONTRADICTED) for v in verdicts]
            verdicts = [v if is_tracker(v.name) else _doubt(v, _UNPROVEN) for v in verdicts]
        reviewed.append(ContextVerdicts(found.context, tuple(verdicts)))
    return reviewed


_TOO_FEW = "no change, but only"
"""How the reason of a verdict begins that lacks nothing but values."""

_LONGEST_DEFAULT = 16
"""Characters."""

_UNPROVEN = "nothing was seen to matter here, so only known trackers may go"
_CONTRADICTED = "what matters on this path in other patterns made no difference here"


def _doubt(verdict: Verdict, reason: str) -> Verdict:
    if "neutral" not in (verdict.decision, verdict.key):
        return verdict
    return replace(
        verdict,
        decision="undecided" if verdict.decision == "neutral" else verdict.decision,
        key="undecided" if verdict.key == "neutral" else verdict.key,
        reason=f"no change, but {reason}",
    )


def _shows_content(trials: Sequence[Trial]) -> bool:
    """Whether these pages were seen to depend on their address.

    A name made a difference, or samples look different from each other beside their noise: a wall
    looks the same to everybody.
    """
    if any(t.outcome == "different" and t.reason.startswith(CONTENT_CHANGED) for t in trials):
        return True
    return len({t.look for t in trials if t.outcome == "same" and t.look}) > 1


def _unwalled(trial: Trial, walls: Collection[str]) -> Trial:
    if trial.look not in walls:
        return trial
    return replace(trial, outcome="invalid", reason="pages of other paths look just the same")


def _important(name: str, trials: Sequence[Trial], rules: Judging) -> Verdict | None:
    mismatches = [t for t in trials if t.outcome == "different" and t.blamed == name]
    usable = {t.url for t in trials if t.outcome == "same" and name in t.removed}
    usable |= {t.url for t in mismatches}
    if not mismatches or len(mismatches) < rules.threshold * len(usable):
        return None
    changed = len({t.url for t in mismatches})
    reason = f"{mismatches[0].reason} in {changed} of {len(usable)} samples"
    default = _default(name, trials)
    if default:
        reason += f", not with {default}"
    return Verdict(name, "important", reason, len(usable), _values(name, usable), changed)


def _as_deployed(verdict: Verdict, on_wire: Sequence[Trial], rules: Judging) -> Verdict:
    """The verdict on what a proxy may take out of a request, where it is another one."""
    tried = [t for t in on_wire if verdict.name in t.removed]
    alike = {t.url for t in tried if t.outcome == "same"}
    if verdict.decision == "neutral" and tried:
        blamed = [t for t in tried if t.blamed == verdict.name]
        if blamed:
            kept: Decision = "important" if blamed[0].outcome == "different" else "undecided"
            reason = f"on the wire {blamed[0].reason}; in a key: {verdict.reason}"
            return replace(verdict, decision=kept, key="neutral", reason=reason)
        if not alike:
            reason = f"not seen on the wire: {tried[0].reason}; in a key: {verdict.reason}"
            return replace(verdict, decision="undecided", key="neutral", reason=reason)
    if verdict.decision == "important" and all(t.outcome == "same" for t in tried):
        values = _values(verdict.name, alike)
        if values >= rules.min_values:
            reason = f"only scripts read it: no change on the wire with {values} values"
            reason += f"; in a key: {verdict.reason}"
            return replace(verdict, decision="neutral", key="important", reason=reason)
    return verdict


def _default(name: str, trials: Sequence[Trial]) -> str:
    """The one value with which a parameter that matters made no difference: its default."""
    calm = {query.values(t.url, name) for t in trials if t.outcome == "same" and name in t.removed}
    calm -= {query.values(t.url, name) for t in trials if t.blamed == name}
    values = calm.pop() if len(calm) == 1 else ()
    # What is long may be a secret, and is no default.
    return values[0] if len(values) == 1 and len(values[0]) <= _LONGEST_DEFAULT else ""


def _support(
    trials: Sequence[Trial], removable: frozenset[str], others: Sequence[str]
) -> list[Trial]:
    """The trials that speak for removing `removable`: all of it at once, on a page of its own."""
    together = [t for t in trials if t.outcome == "same" and t.removed >= removable]
    shown: dict[str, set[tuple[tuple[str, ...], ...]]] = {}
    for trial in together:
        kept = tuple(query.values(trial.url, name) for name in others)
        shown.setdefault(trial.look, set()).add(kept)
    # One look for different values of what matters may be an error, an empty result or the default
    # page. However many samples show it, it is one page, and speaks once.
    heard: set[str] = set()
    support = []
    for trial in together:
        if not trial.look or len(shown[trial.look]) == 1 or trial.look not in heard:
            heard.add(trial.look)
            support.append(trial)
    return support


def _open(
    name: str,
    trials: Sequence[Trial],
    support: Sequence[Trial],
    removable: frozenset[str],
    rules: Judging,
) -> Verdict:
    urls_seen = {t.url for t in support} if name in removable else set()
    samples, values = len(urls_seen), _values(name, urls_seen)
    tried = {t.url for t in trials if name in t.removed}
    unseen = {t.url for t in trials if name in t.removed and t.outcome == "invalid"}
    if name in removable and len(unseen) > rules.max_unseen_share * len(tried):
        reason = f"could not be judged on {len(unseen)} of {len(tried)} samples"
        return Verdict(name, "undecided", f"{reason}: {_obstacle(name, trials)}", samples, values)
    if values >= rules.min_values:
        reason = f"no change in {samples} samples with {values} values"
        bound = mismatch_bound(values, rules.confidence)
        return Verdict(name, "neutral", f"{reason}; matters for < {bound:.0%}", samples, values)
    if name in removable and samples:
        reason = f"{_TOO_FEW} {values} of {rules.min_values} values could be tried"
    else:
        reason = _obstacle(name, trials)
    return Verdict(name, "undecided", reason, samples, values)


def _obstacle(name: str, trials: Sequence[Trial]) -> str:
    reasons = [
        t.reason for t in trials if t.outcome == "invalid" and (name in t.removed or not t.removed)
    ]
    return max(set(reasons), key=lambda r: (reasons.count(r), r)) if reasons else "never tried"


def _values(name: str, seen: Iterable[str]) -> int:
    return len({query.values(url, name) for url in seen})


def _walls(trials: Iterable[Trial]) -> frozenset[str]:
    """Looks that the pages of different paths share."""
    paths: dict[str, set[str]] = {}
    for trial in trials:
        if trial.look:
            paths.setdefault(trial.look, set()).add(_own_path(trial.url))
    return frozenset(look for look, shown in paths.items() if len(shown) > 1)


def _own_path(url: str) -> str:
    """The path without what is only another way to write it."""
    path = urls.path(url)
    head, _, last = path.rpartition("/")
    return head if last.partition(".")[0] in ("", "index", "default") else path


def _infer(verdict: Verdict, contexts: int, rules: Judging) -> Verdict:
    """Believe a name in a rare pattern by what it is in the others.

    One sample from which it was removed together with all others is enough where it made no
    difference in many contexts of the site, and never mattered in any.
    """
    if not rules.infer_after or contexts < rules.infer_after:
        return verdict
    if verdict.decision != "undecided" or not verdict.reason.startswith(_TOO_FEW):
        return verdict
    reason = f"inferred: no change in {verdict.samples} samples, nor in {contexts} other patterns"
    return replace(verdict, decision="neutral", reason=reason)


def _veto(
    context: Context, verdict: Verdict, sisters: Sequence[ContextVerdicts], rules: Judging
) -> Verdict:
    """Keep what matters in a sister pattern, unless it was seen not to matter here many times.

    Where this pattern is what cleaning leaves of the sister, it is always kept: the cleaned URL may
    be cleaned again.
    """
    if verdict.decision != "neutral" or not sisters:
        return verdict
    is_left_over = any(set(s.context.names) - s.neutral == set(context.names) for s in sisters)
    if verdict.values >= rules.sister_values and not is_left_over:
        return verdict
    names = ", ".join(sisters[0].context.names)
    return _doubt(verdict, f"it matters on this path in the pattern {names}")
