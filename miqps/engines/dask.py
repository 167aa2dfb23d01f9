"""Renders on a Dask cluster: its workers hold the browsers, and this process all the rest.

A unit is one render. The driver alone asks: it hands a unit to one worker by name, so a unit whose
worker was killed is not started elsewhere behind its back, at a site that may not be asked yet. It
comes back as *crashed*, and the driver asks again when it is the site's turn.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self
from uuid import uuid4

from distributed import Client, Future, LocalCluster, get_worker

from miqps.browser import BrowserError
from miqps.engines.dask_browsers import Browsers, Farewell, Undisturbed
from miqps.engines.local import Renderer
from miqps.page import Page
from miqps.view import Render

_CONNECT_SECONDS = 5
_WORKER_SECONDS = 60
"""How long a cluster may be without any worker."""

_LOOK_SECONDS = 1.0
"""Between two looks which workers are there."""

_FETCH_SECONDS = 60
"""How long a finished page may take from its worker to here."""


@contextmanager
def cluster(address: str | None, workers: int) -> Iterator[Client]:
    """A client of the cluster at an address, or of one made here, which ends with it.

    Args:
        address: of a scheduler, as `tcp://host:8786`; None for worker processes of this machine.
        workers: how many of them.

    Raises:
        BrowserError: no scheduler answers there.
    """
    # What goes wrong with workers is told by what becomes of their renders.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if address is None:
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=None,
                silence_logs=logging.CRITICAL,
            ) as local,
            Client(local, set_as_default=False) as client,
        ):
            client.register_plugin(Undisturbed(), name="miqps-undisturbed")
            yield client
        return
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        raise BrowserError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        yield client


@dataclass(slots=True, eq=False)
class _Unit:
    render: Render
    worker: str
    future: Future[Page]


class DaskEngine:
    """The workers of a cluster as an engine: as many renders at once as they have threads.

    Workers may come and go. One that has no browser is left alone.

    Args:
        client: speaks to the cluster. Its workers must have this package, of the same version.
        start: makes a browser, on the worker.

    Raises:
        BrowserError: the cluster does not take it in.
    """

    def __init__(self, client: Client, start: Callable[[], Renderer]) -> None:
        self._client = client
        self._plugin = f"miqps-{client.id}-{uuid4().hex}"
        self._lock = threading.Lock()
        self._places: dict[str, int] = {}
        self._wanted: deque[Render] = deque()
        self._units: set[_Unit] = set()
        self._unfit: dict[str, BrowserError] = {}
        self._done: queue.SimpleQueue[tuple[Render, Page] | Exception] = queue.SimpleQueue()
        self._closing = False
        self._looked = self._alone_since = time.monotonic()
        try:
            client.register_plugin(Browsers(start), name=self._plugin)
            client.register_plugin(Farewell(client.id, self._plugin), name=f"{self._plugin}-end")
        except Exception as error:
            # Whatever the other side could not do with what it was sent: versions differ.
            raise BrowserError(f"the Dask cluster cannot run miqps: {error}") from error

    @property
    def slots(self) -> int:
        """How many renders run at once, with the workers that are there now."""
        return max(sum(self._places.values()), 1)

    def ready(self) -> None:
        ends = time.monotonic() + _WORKER_SECONDS
        tried: dict[str, Future[None]] = {}
        while time.monotonic() < ends:
            self._look()
            for worker in self._places.keys() - tried.keys():
                tried[worker] = self._client.submit(
                    _begin, self._plugin, workers=[worker], pure=False
                )
            for worker, future in tried.items():
                if future.status == "finished":
                    return
                if future.status == "error":
                    self._dismiss(worker, future.exception())
            if self._unfit and not self._places:
                raise next(iter(self._unfit.values()))
            time.sleep(0.05)
        raise BrowserError(self._nobody())

    def submit(self, render: Render) -> None:
        with self._lock:
            self._wanted.append(render)
        self._assign()

    def wait(self, timeout: float | None = None) -> tuple[Render, Page] | None:
        ends = float("inf") if timeout is None else time.monotonic() + timeout
        while True:
            left = min(ends - time.monotonic(), _LOOK_SECONDS)
            with suppress(queue.Empty):
                done = self._done.get(timeout=max(left, 0))
                if isinstance(done, Exception):
                    raise done
                return done
            if time.monotonic() - self._looked >= _LOOK_SECONDS:
                self._look()
            if time.monotonic() >= ends:
                return None

    def close(self) -> None:
        self._closing = True
        with suppress(OSError, RuntimeError, TimeoutError):
            self._client.cancel([unit.future for unit in self._units])
            self._client.unregister_worker_plugin(name=self._plugin)
            self._client.unregister_scheduler_plugin(f"{self._plugin}-end")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look(self) -> None:
        """Notice which workers have come, and which have gone with what they were given."""
        try:
            there = dict(self._client.nthreads())
        except OSError as error:
            raise BrowserError(f"the Dask scheduler is gone: {error}") from error
        self._looked = time.monotonic()
        with self._lock:
            self._places = {w: int(n) for w, n in there.items() if w not in self._unfit}
            lost = [unit for unit in self._units if unit.worker not in there]
            self._units.difference_update(lost)
            if self._places:
                self._alone_since = self._looked
        for unit in lost:
            unit.future.cancel()
            self._done.put((unit.render, _lost(unit)))
        if self._looked - self._alone_since > _WORKER_SECONDS:
            raise BrowserError(self._nobody())
        self._assign()

    def _assign(self) -> None:
        """Give what is wanted to workers that have room."""
        with self._lock:
            room = dict(self._places)
            for unit in self._units:
                room[unit.worker] = room.get(unit.worker, 0) - 1
            while self._wanted and not self._closing:
                worker = max(room, key=room.__getitem__, default=None)
                if worker is None or room[worker] < 1:
                    return
                room[worker] -= 1
                render = self._wanted.popleft()
                future = self._client.submit(
                    _render, self._plugin, render, workers=[worker], pure=False
                )
                unit = _Unit(render, worker, future)
                self._units.add(unit)
                # Calls back from a thread of the client, so that no worker waits for the driver.
                future.add_done_callback(lambda _, unit=unit: self._finished(unit))

    def _finished(self, unit: _Unit) -> None:
        if self._closing or unit not in self._units:
            return
        done: tuple[Render, Page] | Exception | None
        try:
            done = unit.render, unit.future.result(timeout=_FETCH_SECONDS)
        except BrowserError as error:
            done = None
            self._dismiss(unit.worker, error)
        except Exception as error:
            done = (unit.render, _lost(unit)) if _is_loss(unit.future, error) else error
        with self._lock:
            if unit not in self._units:
                return
            self._units.discard(unit)
            if done is None:
                self._wanted.appendleft(unit.render)
        if done is not None:
            self._done.put(done)
        elif not self._places:
            self._done.put(self._unfit[unit.worker])
        self._assign()

    def _dismiss(self, worker: str, error: object) -> None:
        """Ask no more of a worker that has no browser."""
        if not isinstance(error, BrowserError):
            error = BrowserError(f"the Dask worker {worker} cannot render: {error}")
        with self._lock:
            self._unfit[worker] = error
            self._places.pop(worker, None)

    def _nobody(self) -> str:
        where = self._client.scheduler_info()["address"]
        return f"no Dask worker at {where}: dask worker {where} --nthreads 1 starts one"


def _lost(unit: _Unit) -> Page:
    why = "the worker that rendered it ended"
    return Page(url=unit.render.url, outcome="crashed", reason=why)


def _is_loss(future: Future[Page], error: Exception) -> bool:
    """Whether the worker is gone, and not: its work has failed."""
    return future.status != "error" or type(error).__module__.startswith("distributed")


def _browsers(plugin: str) -> Browsers:
    worker: Any = get_worker()
    found: Browsers = worker.plugins[plugin]
    return found


def _begin(plugin: str) -> None:
    """Run on a worker: start its browser."""
    _browsers(plugin).begin()


def _render(plugin: str, render: Render) -> Page:
    """Run on a worker."""
    return _browsers(plugin).render(render.url, render.sent)
