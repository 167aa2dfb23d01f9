"""The last verification of a context: parameters are removed as the proxy removes them.

A proxy takes a parameter out of the request, and page scripts still see it in the address. So a
name that made no difference in a visit to the shorter URL may make one on the wire, where script
and server no longer agree; and one that only scripts read makes none there, though the shorter URL
shows something else.
"""

from __future__ import annotations

from collections.abc import Sequence

from miqps import query
from miqps.hearing import Hearing
from miqps.minimal_set import Answer, minimal_set
from miqps.sampling import Sample
from miqps.view import Render


def verify(hearing: Hearing, samples: Sequence[Sample], removable: frozenset[str]) -> None:
    """Make the trials on the wire.

    Args:
        hearing: the evidence so far.
        samples: observed URLs that were judged, or may be.
        removable: the names that may go from the URL.

    Raises:
        NotYet: pages are wanted.
    """
    if removable:
        _as_well(hearing, hearing.usable(samples[: hearing.rules.wire_samples]), removable)
    if hearing.rules.wire_only and removable != frozenset(hearing.names):
        _only_there(hearing, samples[: hearing.rules.whole_samples])


def _as_well(hearing: Hearing, samples: Sequence[Sample], removable: frozenset[str]) -> None:
    """Whether what may go from the URL may go on the wire; if not, which names may not."""
    while removable:
        found = hearing.compare_all(samples, removable, on_wire=True)
        for sample, compared in zip(samples, found, strict=True):
            hearing.note(sample, removable, compared, on_wire=True)
        differing = [s for s, c in zip(samples, found, strict=True) if c.needs_it]
        if not differing:
            return
        needed = _needed(hearing, differing[0], removable)
        for name in sorted(needed):
            gone = removable - (needed - {name})
            compared = hearing.compared(differing[0].url, gone, on_wire=True)
            hearing.note_blame(differing[0], gone, compared, name, on_wire=True)
        removable -= needed


def _needed(hearing: Hearing, sample: Sample, removable: frozenset[str]) -> frozenset[str]:
    def same_when_kept(kept: frozenset[str]) -> Answer:
        return hearing.compared(sample.url, removable - kept, on_wire=True).outcome

    return minimal_set(sorted(removable), same_when_kept).kept


def _only_there(hearing: Hearing, samples: Sequence[Sample]) -> None:
    """Whether the server reads none of the names: then it is only scripts that do.

    One sample that changes is enough to know better, and is not looked at twice.
    """
    everything = frozenset(hearing.names)
    for batch in (samples[:1], samples[1:]):
        usable = hearing.usable(batch)
        alike = [_looks_the_same(hearing, sample, everything) for sample in usable]
        hearing.wait()
        if not all(alike):
            return
        found = hearing.compare_all(usable, everything, on_wire=True)
        for sample, compared in zip(usable, found, strict=True):
            hearing.note(sample, everything, compared, on_wire=True)


def _looks_the_same(hearing: Hearing, sample: Sample, removed: frozenset[str]) -> bool:
    """Whether two single renders are alike; not while one is wanted."""
    view = hearing.view
    bare = Render(sample.url, sent=query.remove(sample.url, removed))
    page = view.page(bare)
    return page is not None and page.seen and view.same(view.look(sample.url), view.look(bare))
