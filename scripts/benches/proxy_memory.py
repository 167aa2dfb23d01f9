"""The bench of a long run: the memory of mitmdump with the addon, and the size of the database."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
from benches.made_site import made_map
from benches.servers import (
    ADDON,
    Proxy,
    Site,
    check_tools,
    proxying,
    run_wrk,
    serving,
)

from miqps.store import Store
from miqps.store.maps import Edition

_ROWS = 4
_LONGEST_SLICE = 5
"""Seconds between two looks."""


@click.command()
@click.option("--flows", default=40_000, show_default=True, help="Page loads through each proxy.")
def proxy_memory(flows: int) -> None:
    """Memory of mitmdump and of the writing process over many flows. Needs wrk.

    Example: python scripts/bench.py proxy-memory --flows 200000
    """
    check_tools()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, serving() as site:
        folder, db = Path(name), Path(name) / "bench.db"
        with Store.open(db) as store:
            store.maps.publish(Edition(made_map(site.name), "for the bench"))
        print(f"{'':12}{'flows':>10}{'flows/s':>10}{'mitmdump':>12}{'writing':>10}{'database':>12}")
        with proxying(folder, site, ADDON, db=db) as proxy:
            _watch("with miqps", folder, site, proxy, flows, db)
            seconds = proxy.wait_until_written()
            counts = proxy.end()
        kept = ("recorded", "links", "not_read", "lost_queue_full", "lost_disk")
        said = ", ".join(f"{counts.get(name, 0):,} {name.replace('_', ' ')}" for name in kept)
        print(f"  written {seconds:.0f} s after the last flow, {_size(db) / 1e6:.1f} MB: {said}")
        with proxying(folder, site) as proxy:
            _watch("without", folder, site, proxy, flows, None)


def _watch(name: str, folder: Path, site: Site, proxy: Proxy, flows: int, db: Path | None) -> None:
    """Send page loads until there were so many; print what is taken at intervals, MB."""
    done = shown = 0
    seconds = 0.0
    length = min(1 + flows // 10_000, _LONGEST_SLICE)
    while True:
        if done >= shown * flows / _ROWS:
            shown = int(done / flows * _ROWS) + 1
            mitmdump, writing = (f"{size / 1e6:.1f} MB" for size in proxy.memory())
            size = f"{_size(db) / 1e6:.1f} MB" if db else ""
            speed = done / seconds if seconds else 0
            print(
                f"{name:12}{done:10,}{speed:10,.0f}{mitmdump:>12}{writing:>10}{size:>12}",
                flush=True,
            )
        if done >= flows:
            return
        run = run_wrk(folder, proxy.port, site, "documents", "http", length)
        done += run.requests
        seconds += run.seconds


def _size(db: Path) -> int:
    """Bytes of the database with its log."""
    return sum(path.stat().st_size for path in db.parent.glob(f"{db.name}*"))
