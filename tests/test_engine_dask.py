"""Renders on a real Dask cluster, while its workers, their browsers and the driver are killed."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from distributed import Client, LocalCluster

from miqps.browser import BrowserError
from miqps.engines.dask import DaskEngine, cluster
from miqps.page import Page
from miqps.rehearsal import ROOT
from miqps.store import Observation, Store
from miqps.view import Render
from tests.pages import Request, site
from tests.test_probe_run import learned

PROBE = [sys.executable, str(ROOT / "scripts" / "probe.py"), "--json"]
DELAY = 0.3
HOSTS = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for a page, by the site's own log."""

    host: str
    target: str
    begun: float


class Shop:
    """Pages that depend on `id` only, and can be held back while somebody does harm."""

    def __init__(self) -> None:
        self.log: list[Asked] = []
        self._catching = threading.Event()
        self._caught: queue.Queue[int] = queue.Queue()
        self._go = threading.Event()

    def page(self, request: Request) -> None:
        host = request.headers["Host"]
        self.log.append(Asked(host, request.path, time.monotonic()))
        if self._catching.is_set():
            self._catching.clear()
            self._caught.put(request.client_address[1])
            self._go.wait(60)
            self._go.clear()
        number = request.path.partition("id=")[2].partition("&")[0] or "none"
        request.html(f"<title>Item {number}</title><h1>Item {number}</h1><p>of this shop</p>")

    @contextmanager
    def catch(self) -> Iterator[int]:
        """Holds the next request; gives the port it came from."""
        self._catching.set()
        port = self._caught.get(timeout=120)
        try:
            yield port
        finally:
            self._go.set()


def line_of(process: psutil.Process) -> str:
    return " ".join(process.cmdline())


def ancestors(driver: int, port: int) -> list[psutil.Process]:
    """The processes between the one that holds a port and the driver, the nearest first."""
    for process in psutil.Process(driver).children(recursive=True):
        try:
            if any(c.laddr and c.laddr.port == port for c in process.net_connections("tcp")):
                line = [process, *process.parents()]
                return line[: [each.pid for each in line].index(driver)]
        except psutil.Error:
            continue
    raise AssertionError("no process of this driver has asked")


def workers(driver: int) -> list[int]:
    return [c.pid for c in psutil.Process(driver).children() if "spawn_main" in line_of(c)]


def recorded(db: Path, port: int) -> Path:
    with Store.open(db) as store:
        store.corpus.add(
            Observation(f"http://{host}:{port}/item?id={n}&utm_source=s{n}")
            for host in HOSTS
            for n in range(3)
        )
    return db


def probe(db: Path, *options: str) -> dict:
    command = [*PROBE, "--db", str(db), "--delay", str(DELAY), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_whatever_is_killed_the_map_is_that_of_one_machine(tmp_path: Path) -> None:
    shop = Shop()
    with site() as server:
        server.pages["/item"] = shop.page
        whole = recorded(tmp_path / "whole.db", server.server_port)
        disturbed = recorded(tmp_path / "disturbed.db", server.server_port)
        probe(whole)
        alone, shop.log = shop.log, []
        arguments = ["--db", str(disturbed), "--delay", str(DELAY), "--engine", "dask"]
        with subprocess.Popen([*PROBE, *arguments], stderr=subprocess.PIPE, text=True) as driver:
            with shop.catch() as port:
                first, doomed = workers(driver.pid), ancestors(driver.pid, port)[-1]
                assert doomed.pid in first
                assert len(first) == 2
                doomed.kill()
            others = {"chrom": "--headless", "chromedriver": "--port="}
            while others:
                with shop.catch() as port:
                    *browser, worker = ancestors(driver.pid, port)
                    if worker.pid not in first:
                        continue
                    # The outermost that is a browser, or its driver.
                    name, mark = others.popitem()
                    next(
                        p for p in reversed(browser) if name in p.name() and mark in line_of(p)
                    ).kill()
            with shop.catch():
                everything = psutil.Process(driver.pid).children(recursive=True)
                assert set(workers(driver.pid)) - set(first), "no worker in the place of the other"
                driver.kill()
        assert psutil.wait_procs(everything, timeout=60)[1] == []
        summary = probe(disturbed, "--engine", "dask")
    assert learned(disturbed) == learned(whole)
    assert summary["renders"] > 0
    made = Counter((each.host, each.target) for each in alone)
    asked = Counter((each.host, each.target) for each in shop.log)
    assert not made - asked
    # Three were killed with what they held, and with the driver what both browsers did.
    assert (asked - made).total() <= 5, asked - made
    for host in HOSTS:
        times = [each.begun for each in shop.log if each.host.startswith(host)]
        assert min(later - earlier for earlier, later in pairwise(times)) >= DELAY


# --- without a browser --------------------------------------------------------------------------


class Saying:
    """Stands for a browser: says which URL it was asked for, or dies of it."""

    def render(self, url: str, sent: str = "") -> Page:
        if "poison" in url:
            psutil.Process().kill()
        return Page(url=url, outcome="seen", final_url=sent)

    def close(self) -> None:
        """There is nothing to give back."""


class Closing(Saying):
    """Leaves a file when it is closed."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def close(self) -> None:
        self._mark.touch()


def missing() -> Saying:
    raise BrowserError("no browser here")


def broken() -> Saying:
    raise ZeroDivisionError("a fault of ours")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster(None, 2) as running:
        yield running


def test_what_is_wanted_comes_and_a_killed_worker_costs_its_own_only(client: Client) -> None:
    with DaskEngine(client, Saying) as engine:
        engine.ready()
        assert engine.slots == 2
        wanted = [Render(f"http://a.example/{n}", sent=f"http://a.example/s{n}") for n in range(20)]
        poison = Render("http://a.example/poison")
        for render in [*wanted[:10], poison, *wanted[10:]]:
            engine.submit(render)
        done = {}
        while len(done) < 21:
            came = engine.wait(60)
            assert came is not None
            done[came[0]] = came[1]
    assert {r: (p.outcome, p.final_url) for r, p in done.items() if r != poison} == {
        render: ("seen", render.sent) for render in wanted
    }
    assert (done[poison].outcome, done[poison].reason) == (
        "crashed",
        "the worker that rendered it ended",
    )


def test_nothing_comes_where_nothing_is_wanted(client: Client) -> None:
    with DaskEngine(client, Saying) as engine:
        assert engine.wait(0) is None
        assert engine.wait(0.1) is None


@pytest.mark.parametrize(
    ("start", "why"), [(missing, "no browser here"), (broken, "cannot render: a fault of ours")]
)
def test_without_a_browser_it_is_said(client: Client, start: Callable, why: str) -> None:
    with DaskEngine(client, start) as engine, pytest.raises(BrowserError, match=why):
        engine.ready()


def test_a_driver_that_leaves_without_a_word_leaves_no_browser(
    client: Client, tmp_path: Path
) -> None:
    mark = tmp_path / "closed"
    address = client.scheduler_info()["address"]
    code = f"""if True:
        import os, functools, pathlib
        from miqps.engines.dask import DaskEngine, cluster
        from tests.test_engine_dask import Closing
        with cluster({address!r}, 0) as client:
            DaskEngine(client, functools.partial(Closing, pathlib.Path({str(mark)!r}))).ready()
            os.kill(os.getpid(), 9)
        """
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60)
    ends = time.monotonic() + 30
    while not mark.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    assert mark.exists()
    assert not [plugin for plugin in client.run(_plugins).values() if plugin]


def _plugins(dask_worker) -> list[str]:
    return [name for name in dask_worker.plugins if name.startswith("miqps-Client")]


def test_no_scheduler_is_one_line(script, tmp_path: Path) -> None:
    db = recorded(tmp_path / "miqps.db", 1)
    done = script(
        "probe.py", "--db", db, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:9", cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: no Dask scheduler answers at tcp://127.0.0.1:9")
    assert len(done.stderr.splitlines()) == 1
    assert script("probe.py", "--db", db, "--scheduler", "x", cwd=tmp_path).returncode == 2


def test_a_cluster_without_workers_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miqps.engines.dask._WORKER_SECONDS", 2)
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=":0") as empty,
        cluster(empty.scheduler_address, 0) as client,
        DaskEngine(client, Saying) as engine,
        pytest.raises(BrowserError, match="dask worker tcp://"),
    ):
        engine.ready()
