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
from itertools import chain

from miqps import query, urls

VISITED, LISTED, REDACTED = range(3)
"""The standing of a URL; smaller is better."""

_Rank = tuple[int, int]
_SIGN = 1 << 63
_number = int.from_bytes


def digest(text: str) -> int:
    """A hash of a text that is the same everywhere, as a signed 64-bit integer."""
    raw = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return _number(raw, "big") - _SIGN


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

    def takes(self, path: int, values: Iterable[str], standing: int, url: str) -> bool:
        """Whether `offer` would take a URL, at a fraction of the cost: most are not taken.

        For reservoirs in which paths count.

        Args:
            path: the hash of its path.
            values: of each name, several of one joined by `&`.
            standing: its standing.
            url: the URL.
        """
        id_ = None
        for slot, value in zip(self._slots, chain((path,), map(digest, values)), strict=True):
            known = slot.best.get(value)
            if known is None:
                worst = slot.worst
                if worst is None or (
                    value < worst[1] if standing == worst[0] else standing < worst[0]
                ):
                    return True
            elif standing <= known.standing:
                if standing < known.standing:
                    return True
                id_ = digest(url) if id_ is None else id_
                if id_ < known.id:
                    return True
        return False

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

    __slots__ = ("_most", "best", "worst")

    def __init__(self, most: int) -> None:
        self._most = most
        self.best: dict[int, Sample] = {}
        self.worst: _Rank | None = None
        """Standing and value of what goes next; None while there is room."""

    def offer(self, value: int, sample: Sample) -> tuple[bool, Sample | None]:
        """Whether the sample is taken, and which one goes for it."""
        out = self.best.get(value)
        if out is not None:
            if out.rank <= sample.rank:
                return False, None
        elif self.worst is not None:
            if (sample.standing, value) > self.worst:
                return False, None
            out = self.best.pop(self.worst[1])
        self.best[value] = sample
        if len(self.best) == self._most:
            self.worst = max((known.standing, value) for value, known in self.best.items())
        return True, out
