"""The bench of the online step: URLs a second beside peers and floors, big maps."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median

import click
from benches.made_urls import CONTEXTS_A_SITE, TRACKERS, made_map, made_urls

from miqps.mapping import Map, to_json
from miqps.normalizer import Normalizer

Cleaner = Callable[[str], object]
OURS = "miqps clean"
LOOP = "floor: split and dict"
BIG = "miqps clean, big map"
# The slow ones get only the first URLs, so that a round ends.
SLOW_SHARE = 0.05


@click.command()
@click.option("--urls", type=click.File(encoding="utf-8"), help="A file of URLs, one a line.")
@click.option("--count", default=100_000, show_default=True, help="URLs to make without --urls.")
@click.option("--contexts", default=100_000, show_default=True, help="Contexts of the map.")
@click.option("--big", default=1_000_000, show_default=True, help="Contexts of the big map.")
@click.option("--rounds", default=7, show_default=True, help="Alternating rounds.")
def lookup(urls: click.utils.LazyFile | None, count: int, contexts: int, big: int, rounds: int):
    """URLs a second: `clean`, its peers and floors.

    Example: python scripts/bench.py lookup --rounds 5
    """
    known = made_map(contexts)
    if urls:
        lists = [[line.rstrip("\n") for line in urls]] * rounds
    else:
        # Other URLs in each round: a path seen before is cheaper than a new one.
        sites = contexts // CONTEXTS_A_SITE
        lists = [made_urls(count, sites, seed) for seed in range(rounds)]
    queries = [[url for url in made if "?" in url] for made in lists]
    print(f"{len(lists[0]):,} URLs, {len(queries[0]):,} with a query; {contexts:,} contexts")
    ours = Normalizer(known).clean
    changed = sum(ours(url) is not url for url in queries[0])
    print(f"{changed:,} lose a parameter; {rounds} rounds; CPU seconds of one core")
    cleaners = {OURS: Normalizer(known).clean, **_floors(known), **_peers()}
    if big:
        cleaners[BIG] = _big(big)
    with_query = _measure(cleaners, queries)
    _print_table(_measure(cleaners, lists), with_query)
    print("\nIn 'with a query' the paths are new to us, in 'all URLs' they have been seen before.")


@click.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False))
def load(path: str) -> None:
    """Load a map or a store; print seconds, peak memory (MB) and contexts as JSON.

    Example: python scripts/bench.py load data/miqps.db
    """
    before = time.process_time()
    contexts = Normalizer.load(path).contexts
    seconds = time.process_time() - before
    print(json.dumps({"seconds": round(seconds, 2), "MB": _peak(), "contexts": contexts}))


def _peak() -> int:
    """The most memory this process had, MB."""
    try:
        # `getrusage` would count the process that started this one.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) >> 10
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _big(contexts: int) -> Cleaner:
    """The cleaner of a big map; prints what it takes a fresh process to load that map."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.json"
        path.write_text(to_json(made_map(contexts)), encoding="utf-8")
        command = [sys.executable, str(Path(__file__).parents[1] / "bench.py"), "load", str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        print(f"big map, {path.stat().st_size >> 20} MB of JSON: {done.stdout.strip()}")
        return Normalizer.load(path).clean


def _floors(known: Map) -> dict[str, Cleaner]:
    """What no cleaner in Python can beat: finding the `?`; a bare loop over the same map."""
    drops: dict[str, dict[frozenset[str], frozenset[str]]] = {}
    for site in known.sites.values():
        for entry in site.contexts:
            if entry.neutral:
                by_names = drops.setdefault(site.site, {})
                by_names[frozenset(entry.context.names)] = entry.neutral

    def loop(url: str) -> str:
        head, mark, query = url.partition("?")
        if not mark:
            return url
        by_names = drops.get(head.split("/", 3)[2])
        if by_names is None:
            return url
        items = query.split("&")
        names = [item.partition("=")[0] for item in items]
        drop = by_names.get(frozenset(names))
        if drop is None:
            return url
        kept = [item for item, name in zip(items, names, strict=True) if name not in drop]
        return head + "?" + "&".join(kept) if kept else head

    return {"floor: partition": lambda url: url.partition("?"), LOOP: loop}


def _peers() -> dict[str, Cleaner]:
    try:
        w3lib = import_module("w3lib.url")
        courlan = import_module("courlan")
        url_normalize = import_module("url_normalize")
        yarl = import_module("yarl")
    except ImportError as error:
        raise click.ClickException(f"{error}: pip install 'miqps[bench]'") from None
    return {
        "w3lib url_query_cleaner": lambda url: w3lib.url_query_cleaner(
            url, TRACKERS, remove=True, unique=False, keep_fragments=True
        ),
        "w3lib canonicalize_url": w3lib.canonicalize_url,
        "courlan clean_url": courlan.clean_url,
        "url-normalize": url_normalize.url_normalize,
        "yarl without_query_params": lambda url: yarl.URL(url).without_query_params(*TRACKERS),
    }


def _measure(
    cleaners: dict[str, Cleaner], lists: Sequence[Sequence[str]]
) -> dict[str, tuple[float, float]]:
    """For each cleaner URLs a second, and the ratio to ours, each the median over the rounds."""
    speeds: dict[str, list[float]] = {name: [] for name in cleaners}
    for urls in lists:
        for name, cleaner in cleaners.items():
            is_fast = name.startswith(("miqps", "floor"))
            some = urls if is_fast else urls[: int(len(urls) * SLOW_SHARE) + 1]
            before = time.process_time()
            for url in some:
                cleaner(url)
            speeds[name].append(len(some) / (time.process_time() - before))
    ours = speeds[OURS]
    return {
        name: (median(found), median(a / b for a, b in zip(ours, found, strict=True)))
        for name, found in speeds.items()
    }


def _print_table(
    all_urls: dict[str, tuple[float, float]], with_query: dict[str, tuple[float, float]]
) -> None:
    print(f"\n{'':28}{'all URLs':>22}{'with a query':>24}")
    print(f"{'':28}{'URLs/s':>12}{'ours is':>10}{'URLs/s':>14}{'ours is':>10}")
    for name, (speed, ratio) in all_urls.items():
        speed_q, ratio_q = with_query[name]
        print(f"{name:28}{speed:12,.0f}{ratio:9.2f}x{speed_q:14,.0f}{ratio_q:9.2f}x")
