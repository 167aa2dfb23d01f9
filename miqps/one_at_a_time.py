"""The paper's procedure, MIQPS (Pinterest, 2026): each parameter is removed alone.

From up to S samples with distinct values each name is removed by itself; one that changes the
content of at least T of them is important. Then, what the paper leaves out: all that seem neutral
are removed *together*, from these samples and from further ones, because of two parameters that say
the same thing each alone looks neutral.
"""

from __future__ import annotations

from collections.abc import Sequence

from miqps import query, sampling
from miqps.hearing import Hearing
from miqps.sampling import Sample
from miqps.trackers import is_tracker

_ALONE_VALUES = 3
"""Values that a name is tried with by itself; two renders each, mostly shared by its sisters."""


def hear(hearing: Hearing) -> None:
    """Make the trials that the verdicts are weighed from.

    Raises:
        NotYet: pages are wanted.
    """
    rules, urls = hearing.rules, hearing.task.urls
    chosen = sampling.choose(urls, hearing.names, rules.samples + rules.verify_samples)
    samples = hearing.usable(chosen[: rules.samples])
    removable = _together(hearing, samples, _alone(hearing, samples))
    if removable:
        samples = [*samples, *hearing.usable(chosen[rules.samples :])]
    removable = _together(hearing, samples, removable)
    samples = [*samples, *hearing.with_swaps(samples, removable)]
    removable = _together(hearing, samples, removable)
    _stand_alone(hearing, samples, removable)
    if removable:
        hearing.look_back(samples)


def _alone(hearing: Hearing, samples: Sequence[Sample]) -> frozenset[str]:
    """The paper's step: each name removed alone. Gives the names that made no difference."""
    found = [name for name in hearing.names if _makes_no_difference(hearing, name, samples)]
    hearing.wait()
    return frozenset(found)


def _makes_no_difference(hearing: Hearing, name: str, samples: Sequence[Sample]) -> bool:
    """Remove one name from one sample after another, until its verdict cannot change."""
    removed = frozenset({name})
    same = changed = 0
    enough = max(hearing.rules.threshold * len(samples), 1)
    for left, sample in zip(range(len(samples), 0, -1), samples, strict=True):
        if changed >= enough or changed + left < enough:
            break
        found = hearing.compare(sample.url, removed)
        if found is None:
            return False
        hearing.note(sample, removed, found, name if found.needs_it else None)
        if found.needs_it and found.outcome == "invalid":
            return False
        same += found.outcome == "same"
        changed += found.outcome == "different"
    return same > 0 and changed < enough


def _together(
    hearing: Hearing, samples: Sequence[Sample], removable: frozenset[str]
) -> frozenset[str]:
    """Remove all of them at once; gives those that may really go together.

    The first sample is settled before the others are looked at: what must stay there, mostly must
    stay everywhere.
    """
    for batch in (samples[:1], samples):
        while removable:
            differing = _differing(hearing, batch, removable)
            if len(differing) < max(hearing.rules.threshold * len(batch), 1):
                break
            removable -= _attribute(hearing, differing[0], removable)
    return removable


def _differing(
    hearing: Hearing, samples: Sequence[Sample], removed: frozenset[str]
) -> list[Sample]:
    """The samples whose content changes without these names."""
    alone = next(iter(removed)) if len(removed) == 1 else None
    differing = []
    found = hearing.compare_all(samples, removed)
    for sample, compared in zip(samples, found, strict=True):
        if compared.needs_it:
            differing.append(sample)
        hearing.note(sample, removed, compared, alone if compared.needs_it else None)
    return differing


def _attribute(hearing: Hearing, sample: Sample, removable: frozenset[str]) -> frozenset[str]:
    """Which names must stay, on a sample that changes when all go: one more is taken at a time."""
    gone: frozenset[str] = frozenset()
    for name in sorted(removable):
        found = hearing.compared(sample.url, gone | {name})
        if found.outcome == "same":
            gone |= {name}
        else:
            hearing.note_blame(sample, gone | {name}, found, name)
    return removable - gone or removable


def _stand_alone(hearing: Hearing, samples: Sequence[Sample], removable: frozenset[str]) -> None:
    """Try each name by itself on the bare path, where no other name can hide what it does.

    An empty list looks the same in every order. A name that changes the page there is noted as
    important, unless it shows what the whole URL shows: then it says the same as another name,
    which stays.
    """
    for name in sorted(n for n in removable if not is_tracker(n)):
        alone = {query.keep_only(sample.url, {name}): sample.url for sample in samples}
        for url, whole in sorted(alone.items())[:_ALONE_VALUES]:
            hearing.try_alone(url, whole, name)
    hearing.wait()
