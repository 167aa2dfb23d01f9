"""Which words of a run of text stay when the page is loaded again.

A clock stands in a sentence, and the sentence has a price: the words that move are left out, the
others count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

# A time, a date and a price are one word each: their parts move at different speeds.
_WORD = re.compile(r"\d+(?:[:.,/-]\d+)+|\w+|[^\w\s]")
_MOST = 400
"""Words of a text that are compared one by one; of a longer one that moves, none are."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The runs of words that stay, in order; between them, before and after, others may stand.

    `room[i]` is how many words stood before run i at most, the last one behind the last run.
    """

    runs: tuple[tuple[str, ...], ...]
    room: tuple[int, ...]

    @property
    def stays(self) -> int:
        """How many words stay."""
        return sum(map(len, self.runs))


def words(text: str) -> tuple[str, ...]:
    """The words and marks of a text."""
    return tuple(_WORD.findall(text))


def learn(texts: Sequence[str]) -> Wording:
    """What stays of a text over several loads, the first one first."""
    first, *others = map(words, texts)
    if max(map(len, (first, *others))) > _MOST:
        return Wording((), (_MOST,))
    stays = [True] * len(first)
    # Behind each word, and before the first one: how many stood there that did not stay.
    extra = [0] * (len(first) + 1)
    for other in others:
        kept = [False] * len(first)
        i = j = 0
        blocks = SequenceMatcher(None, first, other, autojunk=False).get_matching_blocks()
        for block in blocks:
            extra[i] = max(extra[i], block.b - j)
            for at in range(block.a, block.a + block.size):
                kept[at] = True
            i, j = block.a + block.size, block.b + block.size
        stays = [a and b for a, b in zip(stays, kept, strict=True)]
    return _wording(first, stays, extra)


def _wording(first: Sequence[str], stays: Sequence[bool], extra: Sequence[int]) -> Wording:
    runs: list[tuple[str, ...]] = []
    room = [extra[0]]
    run: list[str] = []
    for word, stayed, behind in zip(first, stays, extra[1:], strict=True):
        if stayed:
            run.append(word)
        if (not stayed or behind) and run:
            runs.append(tuple(run))
            run = []
            room.append(0)
        room[-1] += max(behind, not stayed)
    if run:
        runs.append(tuple(run))
        room.append(0)
    return Wording(tuple(runs), tuple(room))


def fits(text: str, wording: Wording) -> bool:
    """Whether a text is made of the words that stay, with no more than what moved in between."""
    found = words(text)
    # Each place that a run may end at: the first place where it stands may be what moved.
    ends = [0]
    for run, room in zip(wording.runs, wording.room, strict=False):
        ends = _ends(found, run, ends, _roomy(room))
    return bool(ends) and len(found) - ends[-1] <= _roomy(wording.room[-1])


def _roomy(room: int) -> int:
    # What moves may become longer: a server's name, a number of milliseconds, a weekday.
    return 2 * room + 4 if room else 0


def _ends(found: Sequence[str], run: Sequence[str], after: Sequence[int], room: int) -> list[int]:
    """Where a run ends that begins at most `room` words behind one of the places, in order."""
    wanted, ends, start = tuple(run), list[int](), 0
    last = len(found) - len(run)
    for at in after:
        for begin in range(max(at, start), min(at + room, last) + 1):
            if tuple(found[begin : begin + len(run)]) == wanted:
                ends.append(begin + len(run))
        start = max(start, at + room + 1)
    return ends
