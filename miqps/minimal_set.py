"""The smallest set of names that must stay so that a page stays the same: a search over an oracle.

Taking names out one at a time asks once a name, and is wrong where two say the same: each alone
seems not to matter, and both go. Here a set is only believed when it was itself seen to be enough.

The search is of the family of QuickXplain (Junker, 2004) and ddmin (Zeller and Hildebrandt, 2002):
names stand in order of preference, and the shortest beginning of that order that suffices ends in a
name that is needed. A name that was guessed right costs one question, any other one O(log k).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Answer = Literal["same", "different", "invalid"]
Oracle = Callable[[frozenset[str]], Answer]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to the oracle, and its answer."""

    kept: frozenset[str]
    answer: Answer


@dataclass(frozen=True, slots=True)
class MinimalSet:
    """What the search found."""

    kept: frozenset[str]
    """Enough by itself (seen, unless it is all names), and no longer enough without any of them."""

    unsettled: frozenset[str]
    """Those of `kept` without which nothing could be seen: they stay, but not for what they do."""

    trace: tuple[Asked, ...]
    """All questions, in the order in which they were asked."""


def minimal_set(names: Iterable[str], same_when_kept: Oracle) -> MinimalSet:
    """The smallest set of names that is enough, as far as single names can be left out.

    Args:
        names: all names, the likeliest to be needed first. With all of them kept the page is the
            original; that is not asked.
        same_when_kept: whether the page stays the same when these names are kept and all others
            go. *invalid* counts as not the same. Each set is asked about once.

    Returns:
        A set that is 1-minimal by the oracle's word. For a monotone oracle (more names never harm)
        that is d names after O(d log k) questions; for any other one the set is still one that was
        seen to be enough, after O(k²) at most.

    >>> answer = lambda kept: "same" if "id" in kept else "different"
    >>> found = minimal_set(["id", "page", "utm_source"], answer)
    >>> sorted(found.kept), len(found.trace)
    (['id'], 2)
    """
    order = tuple(dict.fromkeys(names))
    search = _Search(order, same_when_kept)
    kept = search.shrunk(search.enough())
    unsettled = frozenset(name for name in kept if search.ask(kept - {name}) == "invalid")
    return MinimalSet(kept, unsettled, tuple(search.trace))


class _Search:
    def __init__(self, order: Sequence[str], oracle: Oracle) -> None:
        self._order = order
        self._oracle = oracle
        self._answers: dict[frozenset[str], Answer] = {frozenset(order): "same"}
        self.trace: list[Asked] = []

    def ask(self, kept: frozenset[str]) -> Answer:
        if kept not in self._answers:
            self._answers[kept] = self._oracle(kept)
            self.trace.append(Asked(kept, self._answers[kept]))
        return self._answers[kept]

    def enough(self) -> frozenset[str]:
        """A set that is enough: as long as what is needed is not, one more name is found."""
        needed: frozenset[str] = frozenset()
        length = len(self._order)
        while self.ask(needed) != "same":
            length = self._shortest(needed, length)
            needed |= {self._order[length - 1]}
            length -= 1
        return needed

    def _shortest(self, needed: frozenset[str], longest: int) -> int:
        """The length of a beginning that is enough beside `needed`, and one name less is not.

        The longest is known to be enough, none not to be. First in strides that double, since
        what is needed stands in front when the guess was good.
        """
        low, high, stride = 0, longest, 1
        while high - low > 1:
            middle = min(low + stride, (low + high) // 2)
            if self.ask(needed.union(self._order[:middle])) == "same":
                high, stride = middle, longest
            else:
                low, stride = middle, 2 * stride
        return high

    def shrunk(self, kept: frozenset[str]) -> frozenset[str]:
        """Leave out single names while what remains is enough, the unlikeliest ones first."""
        while True:
            for name in reversed(self._order):
                if name in kept and self.ask(kept - {name}) == "same":
                    kept -= {name}
                    break
            else:
                return kept
