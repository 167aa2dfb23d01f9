"""A normalizer that goes by a newly published map without being asked to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from miqps.following import Follower
from miqps.mapping import Map
from miqps.normalizer import Explanation, Normalizer
from miqps.settings import RECORDING

logger = logging.getLogger(__name__)


class LiveNormalizer(Normalizer):
    """Cleans by the newest map that could be read. `Normalizer.load(..., watch=True)` makes it.

    A thread of its own looks for a new map, and makes all of it ready before it takes the place of
    the old one at once: each call goes by one map from its beginning to its end, and none waits.
    The thread ends with the process, or with `close`.

    Args:
        map: what there is at the beginning.
        make: gives the normalizer for a map.
        follower: looks for another one.
    """

    def __init__(self, map: Map, make: Callable[[Map], Normalizer], follower: Follower) -> None:
        self._make = make
        self._follower = follower
        self._current = make(map)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="miqps map follower", daemon=True)
        self._thread.start()

    @property
    def version(self) -> int:  # type: ignore[override]  # of the map in force, which changes
        """The version of the map, 0 without one."""
        return self._current.version

    @property
    def contexts(self) -> int:  # type: ignore[override]
        """How many contexts the map has verdicts on."""
        return self._current.contexts

    def clean(self, url: str) -> str:
        return self._current.clean(url)

    def clean_target(self, scheme: str, host: str, port: int, target: bytes) -> bytes:
        return self._current.clean_target(scheme, host, port, target)

    def key(self, url: str) -> str:
        return self._current.key(url)

    def explain(self, url: str) -> Explanation:
        return self._current.explain(url)

    def close(self) -> None:
        """Follow no longer. What is in force stays."""
        self._stop.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self) -> None:
        while not self._stop.wait(RECORDING.reload_seconds):
            try:
                map = self._follower.look()
                if map is not None:
                    self._current = self._make(map)
                    logger.info(f"miqps: map version {map.version} from {self._follower.name}")
            except Exception:
                # Whatever one map does to its reader, the next one may be right.
                logger.warning("miqps: a map could not be used", exc_info=True)
