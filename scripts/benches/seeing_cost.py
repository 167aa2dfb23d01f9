"""The bench of what one render costs: beside a floor, and beside the plain way of Selenium."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median

import click
from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from miqps.browser import Browser, chromium_driver

_LIGHT = "<title>Light</title><h1>Light</h1>" + "<p>Some words that stay the same.</p>" * 12
_SCRIPTED = """<title>Scripted</title><div id=list></div><script>
fetch("/rows").then((answer) => answer.json()).then((rows) => {
  for (const row of rows) {
    const line = document.createElement("p");
    line.textContent = row;
    list.append(line);
  }
});</script>"""
_TALL = (
    "<title>Tall</title><style>p{height:60px;margin:0;background:linear-gradient(#fed,#def)}"
    "</style>" + "<p>A line of a page that goes on and on.</p>" * 133
)
_PAGES = {"light": _LIGHT, "scripted": _SCRIPTED, "8,000 px": _TALL}
_HEIGHTS = {"light": 1_024, "scripted": 9_000, "8,000 px": 8_000}

Way = Callable[[str], object]


@click.command("seeing-cost")
@click.option("--rounds", type=click.IntRange(1), default=9, show_default=True)
@click.option(
    "--side-by-side",
    type=click.IntRange(0),
    default=12,
    show_default=True,
    help="Renders a browser when 1, 2 and 4 work at once; 0: leave that out.",
)
def seeing_cost(rounds: int, side_by_side: int) -> None:
    """Milliseconds a render: ours, the floor in the same kind of browser, and the plain way.

    Example: python scripts/bench.py seeing-cost --rounds 5
    """
    with _site() as base, Browser() as browser, Browser() as other, _plain() as driver:
        print(
            f"medians of {rounds} alternating rounds, milliseconds; with the least and the most\n"
        )
        print(
            f"{'':12}{'ours':>24}{'floor':>24}{'plain':>24}{'ours / floor':>14}{'plain / ours':>14}"
        )
        for name in _PAGES:
            url = f"{base}/{name.split()[0].strip(',')}"
            ways: dict[str, Way] = {
                "ours": browser.render,
                "floor": _floor(other, _HEIGHTS[name]),
                "plain": _by_hand(driver, _HEIGHTS[name]),
            }
            _print_row(name, _alternate(ways, url, rounds))
        if side_by_side:
            _several(f"{base}/8", side_by_side)


def _alternate(ways: dict[str, Way], url: str, rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, way in ways.items():
            begun = time.perf_counter()
            way(url)
            found[name].append((time.perf_counter() - begun) * 1_000)
    # The first round warms up.
    return {name: times[1:] for name, times in found.items()}


def _print_row(name: str, found: dict[str, list[float]]) -> None:
    cells = [f"{median(t):.0f} ({min(t):.0f}-{max(t):.0f})" for t in found.values()]
    over = median(a / b for a, b in zip(found["ours"], found["floor"], strict=True))
    faster = median(a / b for a, b in zip(found["plain"], found["ours"], strict=True))
    print(f"{name:12}" + "".join(f"{cell:>24}" for cell in cells) + f"{over:14.2f}{faster:14.2f}")


def _floor(browser: Browser, height: int) -> Way:
    """Navigation and one small picture of the same area, in a tab that stays."""
    connection = browser._start().connection

    def call(method: str, /, **params: object) -> dict[str, object]:
        return connection.call(method, time.monotonic() + 30, **params)

    context = call("browsingContext.create", type="tab")["context"]
    session = call("goog:cdp.getSession", context=context)["session"]
    clip = {"x": 0, "y": 0, "width": 1_280, "height": height, "scale": 0.25}
    shot = {"format": "png", "optimizeForSpeed": True, "captureBeyondViewport": True, "clip": clip}

    def way(url: str) -> object:
        connection.forget()
        call("browsingContext.navigate", context=context, url=url, wait="complete")
        return call(
            "goog:cdp.sendCommand", session=session, method="Page.captureScreenshot", params=shot
        )

    return way


@contextmanager
def _plain() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = chromium_driver.find_browser()
    for flag in chromium_driver.quiet_flags():
        options.add_argument(flag)
    path = chromium_driver.find_driver(options.binary_location)
    driver = webdriver.Chrome(options=options, service=Service(path) if path else Service())
    try:
        yield driver
    finally:
        driver.quit()


def _by_hand(driver: webdriver.Chrome, height: int) -> Way:
    """What a script does that has read the first page of Selenium's documentation."""

    def way(url: str) -> object:
        driver.delete_all_cookies()
        driver.set_window_size(1_280, height)
        driver.get(url)
        with Image.open(io.BytesIO(driver.get_screenshot_as_png())) as image:
            return image.convert("RGB").resize((image.width // 4, image.height // 4))

    return way


def _several(url: str, renders: int) -> None:
    print(f"\n{'browsers':12}{'renders/s of the 8,000 px page':>34}")
    for number in (1, 2, 4):
        ready = threading.Barrier(number + 1)

        def work(ready: threading.Barrier = ready) -> None:
            with Browser() as browser:
                browser.render(url)
                ready.wait()
                for _ in range(renders):
                    browser.render(url)
                ready.wait()

        with ThreadPoolExecutor(number) as pool:
            jobs = [pool.submit(work) for _ in range(number)]
            ready.wait()
            begun = time.perf_counter()
            ready.wait()
            seconds = time.perf_counter() - begun
            for job in jobs:
                job.result()
        print(f"{number:<12}{number * renders / seconds:34.2f}")


@contextmanager
def _site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Request)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        kind, body = "text/html; charset=utf-8", ""
        if self.path == "/rows":
            kind = "application/json"
            body = json.dumps([f"Row {n} of a list that a script wrote" for n in range(250)])
        else:
            body = next((p for name, p in _PAGES.items() if name.startswith(self.path[1:2])), "")
        raw = ("<!doctype html>" * (kind != "application/json") + body).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""
