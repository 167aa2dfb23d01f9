"""The judge's own procedure: everything is removed at once, and what must stay is searched for.

While nothing is known to matter, all names of a sample go together. A page that stays the same
speaks for all of them with two renders; one that changes is searched for the smallest set of names
that brings it back (`minimal_set`), and the next sample starts from there. So what is removed was
always removed together, and was seen to be right.

How many values a name is tried with depends on how much is believed of it: few of a tag that its
vendor names, more of a token, most of a plain word, which may be the one voucher in ten that works.
"""

from __future__ import annotations

from collections.abc import Sequence

from miqps import as_deployed, query, sampling
from miqps.hearing import Hearing
from miqps.sampling import Sample
from miqps.trackers import is_tracker
from miqps.weighing import values_needed

_CROSSED = 2
"""Samples that are given the values of another one."""

_ALONE_SAMPLES = 3
"""Samples whose names are tried without those that matter."""


def hear(hearing: Hearing) -> None:
    """Make the trials that the verdicts are weighed from.

    Raises:
        NotYet: pages are wanted.
    """
    rules = hearing.rules
    whole = min(rules.samples, rules.whole_samples)
    chosen = sampling.choose(hearing.task.urls, hearing.names, whole + rules.held_back)
    samples, kept = _without_conflict(hearing, chosen[:whole])
    if not samples:
        return
    if kept.issuperset(hearing.names):
        as_deployed.verify(hearing, chosen, frozenset())
        return
    samples, kept = _with_more_values(hearing, samples, chosen, kept)
    swapped = hearing.with_swaps(samples, frozenset(hearing.names) - kept)
    kept = _settled(hearing, swapped, kept)
    held_back = hearing.usable(chosen[whole:])
    kept = _settled(hearing, held_back, kept)
    samples = [*samples, *swapped, *held_back]
    removable = frozenset(hearing.names) - kept
    _without_what_matters(hearing, samples, removable)
    if removable:
        as_deployed.verify(hearing, [s for s in samples if not s.swapped], removable)
        hearing.look_back(samples)


# --- what must stay -----------------------------------------------------------------------------


def _without_conflict(
    hearing: Hearing, chosen: Sequence[Sample]
) -> tuple[list[Sample], frozenset[str]]:
    """What must stay on the samples, and still is enough when their values are crossed.

    Of two names that say the same, the one to keep is that which the site believes when they say
    different things. A name that has an effect only then is the default of another one everywhere
    (the variant that a product is shown in anyway), and stays.
    """
    first: frozenset[str] = frozenset()
    while True:
        samples, kept = _learned(hearing, chosen, first)
        crossed = _with_an_effect_when_crossed(hearing, samples, kept)
        if not crossed:
            return samples, kept
        if first:
            for sample, gone, name in crossed:
                hearing.note_blame(sample, gone, hearing.compared(sample.url, gone), name)
            return samples, kept | {name for *_, name in crossed}
        first = frozenset(name for *_, name in crossed)
        hearing.forget()


def _learned(
    hearing: Hearing, chosen: Sequence[Sample], first: frozenset[str]
) -> tuple[list[Sample], frozenset[str]]:
    """The samples that could be used, and what must stay on them."""
    samples, kept = list[Sample](), frozenset[str]()
    for part in (chosen[:1], chosen[1:]):
        new = hearing.usable(part)
        kept = _settled(hearing, new, kept, first)
        samples += new
        if kept.issuperset(hearing.names):
            break
    return samples, kept


def _with_an_effect_when_crossed(
    hearing: Hearing, samples: Sequence[Sample], kept: frozenset[str]
) -> list[tuple[Sample, frozenset[str], str]]:
    """Names that matter in a sample that has the values of another one: with what was removed.

    A URL that the site does not answer says nothing: it was never one of its own.
    """
    removable = frozenset(hearing.names) - kept
    words = frozenset(name for name in removable if not is_tracker(name))
    crossed = sampling.crossed(samples, words)[:_CROSSED] if kept else []
    found = hearing.compare_all(crossed, removable)
    for sample, compared in zip(crossed, found, strict=True):
        if compared.outcome == "different":
            needed = hearing.minimal(sample.url, _likeliest_first(hearing, removable))
            return [(sample, removable - (needed - {name}), name) for name in sorted(needed)]
        if compared.outcome == "same":
            hearing.note(sample, removable, compared)
    return []


def _settled(
    hearing: Hearing,
    samples: Sequence[Sample],
    kept: frozenset[str],
    first: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """What must stay on these samples, beside what is known to; all else goes from each of them.

    The first sample is settled before the others are looked at: what must stay there, mostly must
    stay everywhere.
    """
    for batch in (samples[:1], samples):
        while removable := frozenset(hearing.names) - kept:
            differing = hearing.differing(batch, removable)
            if not differing:
                break
            kept |= hearing.needed(differing[0], _likeliest_first(hearing, removable, first))
    return kept


def _likeliest_first(
    hearing: Hearing, names: frozenset[str], first: frozenset[str] = frozenset()
) -> list[str]:
    """What matters elsewhere on the site stands behind `first`; tags, what lists call one, and
    tokens stand last."""
    task = hearing.task

    def rank(name: str) -> tuple[bool, bool, bool, bool, str]:
        is_tag = is_tracker(name) or name in task.listed
        return name not in first, name not in task.known, is_tag, _is_token(hearing, name), name

    return sorted(names, key=rank)


# --- more values --------------------------------------------------------------------------------


def _with_more_values(
    hearing: Hearing, samples: list[Sample], chosen: Sequence[Sample], kept: frozenset[str]
) -> tuple[list[Sample], frozenset[str]]:
    """Try the further values that were observed, in the place of those of the samples.

    A URL that was put together may be one that the site never makes. Where it does not answer, the
    one that lent the values is looked at instead.
    """
    removable = frozenset(hearing.names) - kept
    known = sampling.tried([*samples, *chosen], removable)
    lacking = {name: _enough(hearing, name) - len(values) for name, values in known.items()}
    used = {sample.url for sample in chosen}
    unused = [url for url in hearing.task.urls if url not in used]
    most = hearing.rules.samples + hearing.rules.verify_samples - len(chosen)
    made = sampling.transplants(samples, unused, lacking, known)[: max(most, 0)]
    for batch in (made[:1], made[1:]):
        found = hearing.compare_all(batch, frozenset(hearing.names) - kept)
        good = [s for s, c in zip(batch, found, strict=True) if c.outcome != "invalid"]
        doubted = [sample.origin for sample in batch if sample not in good]
        if doubted and batch == made[:1]:
            doubted = unused
        lent = sampling.choose(doubted, hearing.names, hearing.rules.whole_samples)
        new = hearing.usable([*good, *lent])
        kept = _settled(hearing, new, kept)
        samples = [*samples, *new]
        if doubted:
            break
    return samples, kept


def _enough(hearing: Hearing, name: str) -> int:
    """Values that a name should be tried with before it is believed not to matter."""
    rules = hearing.rules
    if is_tracker(name):
        rate = rules.tag_rate
    else:
        rate = rules.token_rate if _is_token(hearing, name) else rules.word_rate
    return values_needed(rate, rules.confidence)


def _is_token(hearing: Hearing, name: str) -> bool:
    """Whether all values that were observed of a name say nothing by themselves."""
    return all(
        sampling.opaque(value) for url in hearing.task.urls for value in query.values(url, name)[:1]
    )


# --- where nothing else is seen -----------------------------------------------------------------


def _without_what_matters(
    hearing: Hearing, samples: Sequence[Sample], removable: frozenset[str]
) -> None:
    """Try what may go on the bare path, where no name that matters can hide what it does.

    An empty list looks the same in every order. A name that changes the page there is noted as
    important, unless it shows what the whole URL shows: then it says the same as another name,
    which stays. That can only be told where both have the values they were seen with.
    """
    words = frozenset(name for name in removable if not is_tracker(name))
    own = [sample for sample in samples if not sample.swapped]
    alone = {query.keep_only(sample.url, words): sample for sample in own}
    for url, sample in sorted(alone.items())[:_ALONE_SAMPLES] if words else ():
        found = hearing.compare(url, words)
        if found is None or found.outcome != "different":
            continue
        if hearing.view.alike(url, sample.url, hearing.rules.repeats):
            continue
        for name in sorted(hearing.minimal(url, _likeliest_first(hearing, words))):
            hearing.try_alone(query.keep_only(url, {name}), sample.url, name)
    hearing.wait()
