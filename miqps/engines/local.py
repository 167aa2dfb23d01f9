"""Renders on this machine: long-lived threads, each with a browser of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Protocol, Self

from miqps.page import Page
from miqps.view import Render


class Renderer(Protocol):
    """What a thread holds: a browser, or what stands for one in a test."""

    def render(self, url: str, sent: str = "") -> Page: ...

    def close(self) -> None: ...


class LocalEngine:
    """`slots` threads with a browser each.

    A browser is made in the thread that uses it and lives as long as it does: the signal that ends
    a browser with its owner is bound to the thread that started it.
    """

    def __init__(self, slots: int, start: Callable[[], Renderer]) -> None:
        self.slots = slots
        self._start = start
        self._wanted: queue.SimpleQueue[Render | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Render, Page] | Exception] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._begun = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"miqps-browser-{n}", daemon=True)
            for n in range(slots)
        ]
        for thread in self._threads:
            thread.start()

    def ready(self) -> None:
        self._begun.wait()
        # Nothing was submitted yet: what is done by now is an error.
        self.wait(0)

    def submit(self, render: Render) -> None:
        self._wanted.put(render)

    def wait(self, timeout: float | None = None) -> tuple[Render, Page] | None:
        try:
            done = self._done.get(timeout=timeout)
        except queue.Empty:
            return None
        if isinstance(done, Exception):
            raise done
        return done

    def close(self) -> None:
        self._closing.set()
        for _ in self._threads:
            self._wanted.put(None)
        for thread in self._threads:
            thread.join(timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self) -> None:
        try:
            renderer = self._start()
        except Exception as error:
            self._done.put(error)
            return
        finally:
            self._begun.set()
        try:
            while (render := self._wanted.get()) is not None and not self._closing.is_set():
                self._done.put((render, renderer.render(render.url, render.sent)))
        except Exception as error:
            self._done.put(error)
        finally:
            renderer.close()
