"""Lists cut into numbered pages, as the shop and the newspaper show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from flask import abort

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """One page of a list; pages count from 1."""

    items: Sequence[T]
    number: int
    last: int


def cut(items: Sequence[T], wanted: str | None, size: int) -> Slice[T]:
    """Gives page `wanted` (absent: the first) of `size` items; answers 404 when there is none."""
    last = max(1, -(-len(items) // size))
    number = int(wanted) if wanted and wanted.isdecimal() else 1 if wanted is None else 0
    if not 1 <= number <= last:
        abort(404)
    return Slice(items[(number - 1) * size : number * size], number, last)
