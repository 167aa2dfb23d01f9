"""What a Dask cluster keeps for a driver: browsers on its workers, until the driver is gone."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from distributed import SchedulerPlugin, WorkerPlugin

from miqps.engines.local import Renderer
from miqps.page import Page


class Browsers(WorkerPlugin):
    """One browser for each thread of the worker, made there when it is first asked for.

    A browser that died replaces itself; one whose worker dies goes with it.
    """

    def __init__(self, start: Callable[[], Renderer]) -> None:
        self._start = start

    def setup(self, worker: Any) -> None:
        self._of_thread = threading.local()
        self._all: list[Renderer] = []
        self._ended = False

    def begin(self) -> Renderer:
        """The browser of the thread that asks. Raises BrowserError: there is none."""
        found: Renderer | None = getattr(self._of_thread, "renderer", None)
        if found is None:
            found = self._of_thread.renderer = self._start()
            self._all.append(found)
        return found

    def render(self, url: str, sent: str) -> Page:
        """What the thread's browser sees. Raises BrowserError: there is none."""
        renderer = self.begin()
        try:
            return renderer.render(url, sent)
        finally:
            # A browser that is ended under a render replaces itself as if it had died.
            if self._ended:
                renderer.close()

    async def teardown(self, worker: Any) -> None:
        self._ended = True
        for renderer in self._all:
            await asyncio.to_thread(renderer.close)


class Undisturbed(WorkerPlugin):
    """Leaves Ctrl-C to the driver, which has the terminal that its own workers have too."""

    def setup(self, worker: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class Farewell(SchedulerPlugin):
    """Has the workers close their browsers when the driver is gone, also when it was killed.

    Args:
        client: the driver's, for the scheduler.
        browsers: the name of its plugin on the workers.
    """

    def __init__(self, client: str, browsers: str) -> None:
        self._client = client
        self._browsers = browsers
        self._leaving: set[asyncio.Task[None]] = set()

    def remove_client(self, scheduler: Any, client: str) -> None:
        if client != self._client:
            return
        scheduler.remove_plugin(f"{self._browsers}-end")
        task = asyncio.ensure_future(self._leave(scheduler))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _leave(self, scheduler: Any) -> None:
        # A driver that ended in order has done it itself.
        with suppress(ValueError):
            await scheduler.unregister_worker_plugin(None, self._browsers)
