"""Which URLs of a context are worth keeping: few, and with as many values and paths as possible.

For each name of the pattern, and for the path, the k values with the smallest hashes are kept, and
for each of these values the one URL with the smallest hash (bottom-k sampling: Cohen and Kaplan,
"Summarizing data using bottom-k sketches", PODC 2007). A value that is among the smallest k of all
was so at any time before, so the outcome depends neither on the order in which URLs arrive, nor on
how they are split over files, runs and stores that are put together later.

Standing comes before the hash: what was visited outranks what was only seen in a list, and what
was redacted comes last, because it can never be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from miqps import query, urls

VISITED, LISTED, REDACTED = range(3)
"""The standing of a URL; smaller is better."""

_Rank = tuple[int, int]
_SIGN = 1 << 63


def digest(text: str) -> int:
    """A hash of a text that is the same everywhere, as a signed 64-bit integer."""
    raw = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "big") - _SIGN


@dataclass(frozen=True, slots=True)
class Sample:
    """A URL, its hash, and how it came to be known."""

    url: str
    id: int
    standing: int

    @property
    def rank(self) -> _Rank:
        return self.standing, self.id


class Reservoir:
    """The samples of one context.

    Args: the pattern; whether the URLs have different paths; how many URLs there is room for; how
    many values of each name are kept even where that takes more room.
    """

    def __init__(self, names: tuple[str, ...], has_paths: bool, room: int, least: int) -> None:
        self._names = names
        self._has_paths = has_paths
        number = len(names) + has_paths
        self._slots = [_Slot(max(room // number, least)) for _ in range(number)]
        self._uses: dict[int, int] = {}

    def __contains__(self, id: int) -> bool:
        return id in self._uses

    def __len__(self) -> int:
        return len(self._uses)

    def __iter__(self) -> Iterator[int]:
        return iter(self._uses)

    def offer(self, sample: Sample) -> None:
        """Take a sample in, if it is better than what is there; others may have to go."""
        for slot, value in zip(self._slots, self._values_of(sample.url), strict=True):
            is_in, out = slot.offer(value, sample)
            if is_in:
                self._uses[sample.id] = self._uses.get(sample.id, 0) + 1
            if out is not None:
                left = self._uses[out.id] - 1
                if left:
                    self._uses[out.id] = left
                else:
                    del self._uses[out.id]

    def _values_of(self, url: str) -> Iterable[int]:
        by_name: dict[str, list[str]] = {name: [] for name in self._names}
        for item in query.items(query.split(url)[1] or ""):
            if item and (found := by_name.get(query.name_of(item))) is not None:
                found.append(query.value_of(item) or "")
        if self._has_paths:
            yield digest(urls.path(url))
        for values in by_name.values():
            yield digest("&".join(values))


class _Slot:
    """The best values of one name, each with its best sample."""

    __slots__ = ("_best", "_most", "_worst")

    def __init__(self, most: int) -> None:
        self._most = most
        self._best: dict[int, Sample] = {}
        self._worst: tuple[_Rank, int] | None = None

    def offer(self, value: int, sample: Sample) -> tuple[bool, Sample | None]:
        """Whether the sample is taken, and which one goes for it."""
        known = self._best.get(value)
        if known is not None:
            if known.rank <= sample.rank:
                return False, None
            self._best[value], self._worst = sample, None
            return True, known
        if len(self._best) < self._most:
            self._best[value], self._worst = sample, None
            return True, None
        if self._worst is None:
            self._worst = max(((s.standing, v), v) for v, s in self._best.items())
        rank, worst = self._worst
        if (sample.standing, value) > rank:
            return False, None
        out = self._best.pop(worst)
        self._best[value], self._worst = sample, None
        return True, out
