"""What was cleaned today, by site and parameter, and the last rewrites: for the dashboard."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock

_MOST_SITES = 2_000
_MOST_NAMES = 500
_RECENT = 50


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One request that was cleaned, or would have been. Targets are text for people."""

    when: str
    site: str
    before: str
    after: str
    names: tuple[str, ...]
    what: str


@dataclass(slots=True)
class Cleaned:
    """What was cleaned of one site."""

    requests: int = 0
    bytes: int = 0
    """That did not have to be sent."""
    names: Counter[str] = field(default_factory=Counter)


class Ledger:
    """The sums of one day, in UTC, and the last rewrites. Two threads read and write it."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._lock = Lock()
        self._day = ""
        self._sites: dict[str, Cleaned] = {}
        self._recent: deque[Rewrite] = deque(maxlen=_RECENT)

    def note(
        self, site: str, before: bytes, after: bytes, names: tuple[str, ...], what: str
    ) -> None:
        """Add a request. What there is no room for is counted with its site or not at all."""
        now = self._clock()
        rewrite = Rewrite(f"{now:%H:%M:%S}", site, _text(before), _text(after), names, what)
        with self._lock:
            self._begin_day(now)
            self._recent.append(rewrite)
            if site not in self._sites and len(self._sites) >= _MOST_SITES:
                return
            cleaned = self._sites.setdefault(site, Cleaned())
            cleaned.requests += 1
            cleaned.bytes += len(before) - len(after)
            if len(cleaned.names) < _MOST_NAMES:
                cleaned.names.update(names)

    def today(self) -> dict[str, Cleaned]:
        """What was cleaned today, by site, most first."""
        with self._lock:
            self._begin_day(self._clock())
            found = {
                site: Cleaned(c.requests, c.bytes, Counter(c.names))
                for site, c in self._sites.items()
            }
        return dict(sorted(found.items(), key=lambda item: -item[1].requests))

    def recent(self) -> list[Rewrite]:
        """The last rewrites, the newest first."""
        with self._lock:
            return list(reversed(self._recent))

    def _begin_day(self, now: datetime) -> None:
        day = f"{now:%Y-%m-%d}"
        if day != self._day:
            self._day = day
            self._sites = {}


def _text(target: bytes) -> str:
    return target.decode("utf-8", "backslashreplace")
