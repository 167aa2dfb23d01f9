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
    while removable and (differing := hearing.differing(samples, removable, on_wire=True)):
        removable -= hearing.needed(differing[0], sorted(removable), on_wire=True)


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
        hearing.differing(usable, everything, on_wire=True)


def _looks_the_same(hearing: Hearing, sample: Sample, removed: frozenset[str]) -> bool:
    """Whether two single renders are alike; not while one is wanted."""
    view = hearing.view
    bare = Render(sample.url, sent=query.remove(sample.url, removed))
    page = view.page(bare)
    return page is not None and page.seen and view.same(view.look(sample.url), view.look(bare))
