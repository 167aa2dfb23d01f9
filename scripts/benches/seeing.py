"""The bench of seeing: which content IDs miss a change, and which see one where there is none."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import click
import numpy as np
from benches import made_pages
from PIL import Image
from rich.console import Console
from rich.progress import track

from miqps import content_id
from miqps.browser import Browser
from miqps.page import PARTS, Page

OURS = ("visual", "dom", "body", "metadata")
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides, each rendered a few times, and whether they are the same content."""

    what: str
    """The change, or the noise where nothing was changed."""
    noise: str
    same: bool
    one: tuple[Page, ...]
    two: tuple[Page, ...]


@click.command()
@click.option("--kinds", type=click.IntRange(1, 10), default=10, show_default=True)
@click.option("--changes", type=click.IntRange(1, 15), default=15, show_default=True)
@click.option("--seed", default=int(time.time()), help="Of the pages; another one at every run.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def seeing(kinds: int, changes: int, seed: int, as_json: bool) -> None:
    """Missed changes and false alarms of every content ID and of peers, on made pages.

    Example: python scripts/bench.py seeing --kinds 2 --changes 3
    """
    console = Console(stderr=True)
    with site() as base, Browser(needs=PARTS) as browser:
        see = _Seer(browser, base, seed)
        jobs = list(_jobs(made_pages.KINDS[:kinds], made_pages.CHANGES[:changes]))
        shown = track(jobs, "rendering", console=console, disable=not console.is_terminal)
        pairs = [see.pair(*job) for job in shown]
    counted = {name: _count(pairs, answer) for name, answer in _answers().items()}
    if as_json:
        print(json.dumps({"seed": seed, "renders": see.renders, "counts": counted}, indent=2))
    else:
        print(f"{len(pairs)} pairs from {see.renders} renders, seed {seed}\n")
        _print(counted)


Job = tuple[str, str, str, str]


def _jobs(kinds: Sequence[str], changes: Sequence[str]) -> Iterator[Job]:
    """Kind, change, place and noise of each pair; without a change, the noise alone."""
    for number, kind in enumerate(kinds):
        for change in changes:
            for where in made_pages.PLACES:
                if change == "language" and where == "below":
                    continue
                yield kind, change, where, ""
        for turn, change in enumerate(changes):
            # Each change under another noise on each kind of page.
            noise = made_pages.ON_SERVER[(number + turn) % len(made_pages.ON_SERVER)]
            yield kind, change, "above", noise
        for noise in (*made_pages.IN_BROWSER, *made_pages.ON_SERVER):
            yield kind, "", "", noise


class _Seer:
    """Renders what pairs need; a quiet page is rendered once, as every repeat is the same."""

    def __init__(self, browser: Browser, base: str, seed: int) -> None:
        self._browser, self._base, self._seed = browser, base, seed
        self._known: dict[str, tuple[Page, ...]] = {}
        self.renders = 0

    def pair(self, kind: str, change: str, where: str, noise: str) -> Pair:
        original = self._side({"kind": kind, "noise": noise})
        if change:
            other = self._side({"kind": kind, "noise": noise, "change": change, "where": where})
        else:
            other = self._side({"kind": kind, "noise": noise, "again": "1"})
        return Pair(change or noise, noise, not change, original, other)

    def _side(self, query: Mapping[str, str]) -> tuple[Page, ...]:
        url = f"{self._base}?{urlencode({**query, 'seed': str(self._seed)})}"
        if url not in self._known:
            number = _REPEATS if query["noise"] else 1
            self._known[url] = tuple(self._render(url) for _ in range(number))
        return self._known[url]

    def _render(self, url: str) -> Page:
        self.renders += 1
        page = self._browser.render(url)
        if not page.seen:
            raise click.ClickException(f"{url}: {page.outcome} {page.reason}")
        return page


@contextmanager
def site() -> Iterator[str]:
    """A site on loopback that serves the made pages; gives its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Request)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class _Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        if parts.path == "/picture":
            time.sleep(0.1 * bool(query.get("slow")))
            kind, body = "image/png", made_pages.picture(int(query["n"]))
        else:
            kind, body = "text/html", made_pages.page(query).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


Answer = Callable[[Pair], str]
"""same, different or unstable."""


def _answers() -> dict[str, Answer]:
    ours = {name: _ours(content_id.get(name)) for name in OURS}
    return ours | _peers()


def _ours(way: content_id.ContentId) -> Answer:
    def answer(pair: Pair) -> str:
        one, two = way.of(*pair.one), way.of(*pair.two)
        if one.unstable or two.unstable:
            return "unstable"
        return "same" if way.same(one, two) else "different"

    return answer


def _peers() -> dict[str, Answer]:
    """What others do with two pictures: they know of no repeats, so the first of each counts."""
    try:
        imagehash = import_module("imagehash")
        metrics = import_module("skimage.metrics")
    except ImportError as error:
        raise click.ClickException(f"{error}: pip install 'miqps[bench]'") from None

    def told(same: Callable[[Any, Any], bool]) -> Answer:
        def answer(pair: Pair) -> str:
            one, two = _level(pair.one[0], pair.two[0])
            return "same" if same(one, two) else "different"

        return answer

    def hashed(name: str) -> Answer:
        make = getattr(imagehash, name)
        return told(lambda a, b: make(Image.fromarray(a)) - make(Image.fromarray(b)) <= 2)

    def ssim(a: Any, b: Any) -> bool:
        return bool(metrics.structural_similarity(a, b, channel_axis=2) > 0.999)

    def changed(a: Any, b: Any) -> float:
        return float((np.abs(a.astype(int) - b).max(axis=2) > 25).mean())

    return {
        "pHash, distance <= 2": hashed("phash"),
        "dHash, distance <= 2": hashed("dhash"),
        "SSIM > 0.999": told(ssim),
        "pixelmatch-like, <= 0.1 %": told(lambda a, b: changed(a, b) <= 0.001),
        "mean difference <= 0.5": told(lambda a, b: bool(np.abs(a.astype(int) - b).mean() <= 0.5)),
        "equal pixels": told(lambda a, b: bool((a == b).all())),
    }


def _level(one: Page, two: Page) -> tuple[Any, Any]:
    """The two pictures, the shorter one filled up with white."""
    assert one.pixels is not None
    assert two.pixels is not None
    height = max(len(one.pixels), len(two.pixels))
    return tuple(
        np.pad(p, ((0, height - len(p)), (0, 0), (0, 0)), constant_values=255)
        for p in (one.pixels, two.pixels)
    )


_COLUMNS = ("changes", "changes under noise", "noise in the browser", "noise of the server")


def _count(pairs: Sequence[Pair], answer: Answer) -> dict[str, dict[str, int]]:
    """By kind of pair: how many, how many were answered wrongly, and how many not at all."""
    found = {column: Counter(pairs=0, wrong=0, unstable=0) for column in _COLUMNS}
    for pair in pairs:
        if pair.same:
            column = _COLUMNS[2 if pair.noise in made_pages.IN_BROWSER else 3]
        else:
            column = _COLUMNS[1 if pair.noise else 0]
        said = answer(pair)
        found[column]["pairs"] += 1
        found[column]["unstable"] += said == "unstable"
        found[column]["wrong"] += said == ("different" if pair.same else "same")
    return {column: dict(counted) for column, counted in found.items()}


def _print(counted: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    first = next(iter(counted.values()))
    print(f"{'':28}" + "".join(f"{column:>24}" for column in _COLUMNS))
    sizes = [f"of {first[column]['pairs']}" for column in _COLUMNS]
    print(f"{'missed, or false alarms':28}" + "".join(f"{size:>24}" for size in sizes))
    for name, columns in counted.items():
        cells = []
        for column in _COLUMNS:
            wrong, unstable = columns[column]["wrong"], columns[column]["unstable"]
            cells.append(f"{wrong}" + (f" ({unstable} unstable)" if unstable else ""))
        print(f"{name:28}" + "".join(f"{cell:>24}" for cell in cells))
    print("\nPeers judge the same pictures, a quarter of the page's size, and see each side once.")
