"""What the addon counts, and what it says once instead of each time."""

from __future__ import annotations

from collections import Counter
from threading import Lock

# A proxy runs for months and meets sites without end; beyond this many nothing new is announced.
_MOST_ANNOUNCED = 10_000


class Counters:
    """Counters named like paths, and the first event of a kind per site.

    Two threads count: the proxy's event loop and the writer.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._announced: set[tuple[str, str]] = set()

    def add(self, name: str, number: int = 1) -> None:
        """Count `number` more under `miqps/name`."""
        with self._lock:
            if number:
                self._counts[name] += number

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def first(self, kind: str, site: str) -> bool:
        """True the first time this kind of event is met on this site."""
        event = (kind, site)
        with self._lock:
            if event in self._announced or len(self._announced) >= _MOST_ANNOUNCED:
                return False
            self._announced.add(event)
            return True

    def __str__(self) -> str:
        """All counts in one line, in the order of their names."""
        with self._lock:
            counts = sorted(self._counts.items())
        return ", ".join(f"miqps/{name} {count}" for name, count in counts) or "nothing seen"
