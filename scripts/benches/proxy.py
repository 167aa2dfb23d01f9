"""The bench of the proxy: mitmdump with the addon beside the same mitmdump without it."""

from __future__ import annotations

import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, quantiles

import click
from benches.made_site import LOADS, made_map
from benches.servers import (
    ADDON,
    HOOK_TIMES,
    IDLE,
    Proxy,
    Run,
    Site,
    check_tools,
    proxying,
    run_wrk,
    serving,
    used_seconds,
)

from miqps.store import Store
from miqps.store.maps import Edition

OURS, NOTHING, WITHOUT = "with miqps", "with an addon that does nothing", "without"
SCHEMES = ("http", "https")
_PAIRS = ((OURS, WITHOUT), (NOTHING, WITHOUT), (OURS, NOTHING))

_LOST = {"lost_queue_full": "queue full", "lost_disk": "disk", "lost_unstorable": "unstorable"}
_GOALS = {"page with a query": 25, "other without a query": 5}


@dataclass(frozen=True, slots=True)
class Measured:
    """A run, and the CPU microseconds that mitmdump took for each flow."""

    run: Run
    cpu: float


Case = tuple[str, str]
_Rounds = dict[Case, list[dict[str, Measured]]]

_MEASURES: dict[str, tuple[Callable[[Measured], float], str]] = {
    "throughput": (lambda each: each.run.speed, ">= 0.97"),
    "p50": (lambda each: each.run.p50, ""),
    "p99": (lambda each: each.run.p99, "<= 1.05"),
    "CPU a flow": (lambda each: each.cpu, ""),
}


@click.command()
@click.option("--rounds", default=4, show_default=True, help="Alternating rounds of each load.")
@click.option("--seconds", default=2, show_default=True, help="How long one load is sent.")
@click.option(
    "--load", "loads", type=click.Choice(LOADS), multiple=True, help="This load only; repeatable."
)
def proxy(rounds: int, seconds: int, loads: tuple[str, ...]) -> None:
    """Throughput, latency and hook times of mitmdump with the addon. Needs wrk.

    Example: python scripts/bench.py proxy --rounds 9 --seconds 4
    """
    check_tools()
    with ExitStack() as running:
        name = running.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        folder, db = Path(name), Path(name) / "bench.db"
        # Two, so that what comes to the site through ours can be counted.
        site, other = running.enter_context(serving()), running.enter_context(serving())
        with Store.open(db) as store:
            store.maps.publish(Edition(made_map(site.name), "for the bench"))
        alone = run_wrk(folder, other.port, other, LOADS[0], SCHEMES[0], 1)
        print(f"the site alone: {alone.speed:,.0f} requests/s, p99 {alone.p99:.1f} ms")
        cases = [(load, scheme) for load in loads or LOADS for scheme in SCHEMES]
        with ExitStack() as at_once:
            proxies = {
                OURS: at_once.enter_context(proxying(folder, site, ADDON, db=db)),
                NOTHING: at_once.enter_context(proxying(folder, other, IDLE)),
                WITHOUT: at_once.enter_context(proxying(folder, other)),
            }
            # The first time all is slow.
            _alternate(folder, proxies, cases[: len(SCHEMES)], 1)
            before = used_seconds()
            measured = _alternate(folder, proxies, cases * rounds, seconds)
            ours, everything = (
                now - then for now, then in zip(used_seconds(), before, strict=True)
            )
            counts = proxies[OURS].end()
        _print_ratios(measured)
        # With much of it the figures are worth little.
        print(f"CPU time meanwhile: {ours:.0f} s of the bench, {everything - ours:.0f} s of others")
        _print_counts(counts, site.counts())
        print("\nµs in the hooks a flow, in a run of their own")
        print(f"{'':34}{'flows':>8}{'mean':>10}{'median':>10}{'p99':>10}{'goal':>8}")
        for load in loads or LOADS:
            _print_hooks(load, _hook_times(folder, site, db, load, seconds))


def _alternate(
    folder: Path, proxies: dict[str, Proxy], cases: Iterable[Case], seconds: int
) -> _Rounds:
    """Send each load through all proxies, in another order each time."""
    measured: _Rounds = defaultdict(list)
    turns, draw = list(proxies), random.Random(1)
    for load, scheme in cases:
        found = {}
        for name in turns:
            proxy = proxies[name]
            before = proxy.cpu_seconds()
            run = run_wrk(folder, proxy.port, proxy.site, load, scheme, seconds)
            used = proxy.cpu_seconds() - before
            found[name] = Measured(run, used / max(run.requests, 1) * 1e6)
            if name == OURS:
                # What it has still to write would slow the next one down.
                proxy.wait_until_written()
        measured[load, scheme].append(found)
        draw.shuffle(turns)
    return measured


def _print_ratios(measured: _Rounds) -> None:
    rounds = len(next(iter(measured.values())))
    print(f"medians of {rounds} alternating rounds, with the least and the most\n")
    print(f"{'':18}" + "".join(f"{f'{load}, {scheme}':>21}" for load, scheme in measured), end="")
    print(f"{'goal':>10}")
    speeds = [median(each[WITHOUT].run.speed for each in found) for found in measured.values()]
    print(f"{'without: flows/s':18}" + "".join(f"{speed:21,.0f}" for speed in speeds))
    for name, base in _PAIRS:
        print(f"{name} / {base}:")
        for measure, (value, goal) in _MEASURES.items():
            cells = [
                _spread([value(each[name]) / value(each[base]) for each in found])
                for found in measured.values()
            ]
            print(f"  {measure:16}" + "".join(f"{cell:>21}" for cell in cells), end="")
            print(f"{goal if (name, base) == _PAIRS[0] else '':>10}")
    for name in (OURS, WITHOUT):
        cells = [
            f"{sum(each[name].run.lost for each in found)}"
            f" of {sum(each[name].run.requests for each in found):,}"
            for found in measured.values()
        ]
        print(f"{'lost ' + name:18}" + "".join(f"{cell:>21}" for cell in cells))


def _spread(ratios: list[float]) -> str:
    return f"{median(ratios):.3f} ({min(ratios):.2f}-{max(ratios):.2f})"


def _print_counts(counts: dict[str, int], asked: dict[str, int]) -> None:
    def count(name: str) -> str:
        return f"{counts.get(name, 0):,}"

    lost = ", ".join(f"{count(key)} {why}" for key, why in _LOST.items())
    print(
        f"\npage loads with a query: {asked.get('with_query', 0):,} asked for,"
        f" {count('recorded')} recorded; lost: {lost};\n{count('rewritten')} rewritten,"
        f" {asked.get('uncleaned', 0)} came with a tracker; {count('links')} links stored,"
        f" {count('not_read')} pages not read; {count('errors')} errors"
    )


def _hook_times(
    folder: Path, site: Site, db: Path, load: str, seconds: int
) -> dict[str, list[int]]:
    path = folder / f"{load}.times"
    with proxying(folder, site, ADDON, HOOK_TIMES, db=db, times=path) as proxy:
        run_wrk(folder, proxy.port, site, load, SCHEMES[0], seconds)
        proxy.end()
    return json.loads(path.read_text())


def _print_hooks(load: str, times: dict[str, list[int]]) -> None:
    for kind, found in sorted(times.items(), reverse=True):
        micro = [time / 1e3 for time in found]
        p99 = quantiles(micro, n=100, method="inclusive")[98] if len(micro) > 1 else micro[0]
        numbers = "".join(f"{number:10.1f}" for number in (fmean(micro), median(micro), p99))
        goal = f"<= {_GOALS[kind]}" if kind in _GOALS else ""
        print(f"{load:11}{kind:23}{len(micro):8,}{numbers}{goal:>8}")
