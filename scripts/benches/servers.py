"""The processes of the proxy bench: the site, mitmdump in front of it, and wrk."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from benches.made_site import made_requests

HERE = Path(__file__).parent
ADDON = HERE.parents[1] / "addons" / "miqps.py"
IDLE = HERE / "idle_addon.py"
HOOK_TIMES = HERE / "hook_times.py"

_CONNECTIONS = 4
_TRIES = 5
_START_SECONDS = 30.0
_END_SECONDS = 30.0
_WRITE_SECONDS = 60.0
_QUIET_SECONDS = 0.8
"""Longer than the addon lets an observation wait."""
_NUMBERS = itertools.count(10_000_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Run:
    """What wrk saw: milliseconds until the answer, and requests that got none or no 2xx."""

    requests: int
    seconds: float
    p50: float
    p99: float
    lost: int

    @property
    def speed(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


class Site:
    """The running site."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.name = f"127.0.0.1:{port}"

    def counts(self) -> dict[str, int]:
        """What it was asked for since the last look: `pages`, of these `with_query`, …."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_START_SECONDS)
        try:
            connection.request("GET", "/counts")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


class Proxy:
    """A running mitmdump in reverse mode, which serves HTTP and TLS on one port."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, site: Site) -> None:
        self.site = site
        self._process = process
        self._log = log
        self._processes = _psutil().Process(process.pid)
        self.port = int(self._wait_for(r"listening at \S*:(\d+)"))

    def cpu_seconds(self) -> float:
        """What mitmdump has used so far, its writing process left out."""
        times = self._processes.cpu_times()
        return float(times.user + times.system)

    def memory(self) -> tuple[int, int]:
        """Resident bytes of mitmdump and of the writing process."""
        writing = sum(child.memory_info().rss for child in self._processes.children())
        return int(self._processes.memory_info().rss), int(writing)

    def wait_until_written(self) -> float:
        """Wait until the writing process has nothing to do, for a while at most; gives seconds."""
        began = quiet_since = time.monotonic()
        used = -1.0
        while time.monotonic() < min(quiet_since + _QUIET_SECONDS, began + _WRITE_SECONDS):
            time.sleep(0.05)
            before, used = used, self._writing_seconds()
            if used != before or self._wants_to_write():
                quiet_since = time.monotonic()
        return quiet_since - began

    def end(self) -> dict[str, int]:
        """End it; returns what the addon counted, by name."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(_END_SECONDS)
        counts = re.findall(r"miqps/(\S+) (\d+)", self._said())
        return {name: int(number) for name, number in counts}

    def _writing_seconds(self) -> float:
        times = [child.cpu_times() for child in self._processes.children()]
        return float(sum(each.user + each.system for each in times))

    def _wants_to_write(self) -> bool:
        # On a busy machine it may get no time for long, and wait for it.
        return any(child.status() != "sleeping" for child in self._processes.children())

    def _wait_for(self, pattern: str) -> str:
        until = time.monotonic() + _START_SECONDS
        while not (found := re.search(pattern, self._said())):
            if self._process.poll() is not None or time.monotonic() > until:
                raise click.ClickException(f"mitmdump does not start: {self._said().strip()}")
            time.sleep(0.05)
        return found[1]

    def _said(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")


@contextmanager
def serving() -> Iterator[Site]:
    """Run the site in a process of its own."""
    command = [sys.executable, str(HERE.parent / "bench.py"), "upstream"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with _ended(process):
        assert process.stdout
        yield Site(int(process.stdout.readline()))


@contextmanager
def proxying(
    folder: Path, site: Site, *scripts: Path, db: Path | None = None, times: Path | None = None
) -> Iterator[Proxy]:
    """Run mitmdump with these scripts in front of the site; it says little, so as to lose no time.

    Args:
        folder: where it finds its certificates and leaves its log.
        site: where all requests go.
        scripts: addons to load.
        db: the database of the addon.
        times: the file for what `hook_times.py` measures.
    """
    command = [Path(sys.executable).with_name("mitmdump"), "--listen-host", "127.0.0.1", "-p", "0"]
    command += ["--mode", f"reverse:http://{site.name}", "--set", f"confdir={folder / 'certs'}"]
    command += ["--set", "flow_detail=0"]
    for script in scripts:
        command += ["-s", script]
    if db:
        command += ["--set", f"miqps_db={db}", "--set", "miqps_canary=0"]
    log = folder / f"{next(_NUMBERS)}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "MIQPS_BENCH_TIMES": str(times or "")},
        )
    with _ended(process):
        yield Proxy(process, log, site)


def check_tools() -> None:
    """Raise ClickException with one line when something that the bench needs is not there."""
    if not shutil.which("wrk"):
        raise click.ClickException("wrk is missing: apt-get install wrk, or brew install wrk")
    _psutil()


def run_wrk(folder: Path, port: int, site: Site, load: str, scheme: str, seconds: int) -> Run:
    """Send a load for so many seconds; no URL comes twice in a bench.

    Raises ClickException when wrk does not run, or nothing is answered.
    """
    texts = made_requests(load, site.name, is_tls=scheme == "https")
    path = folder / f"{load}-{scheme}.requests"
    path.write_text("\0".join(texts))
    command = ["wrk", "-t", "1", "-c", str(_CONNECTIONS), "-d", f"{seconds}s", "--timeout", "20s"]
    command += ["-s", str(HERE / "load.lua"), f"{scheme}://127.0.0.1:{port}", "--", str(path)]
    for _ in range(_TRIES):
        done = subprocess.run([*command, str(next(_NUMBERS))], capture_output=True, text=True)
        if done.returncode:
            raise click.ClickException(f"wrk: {(done.stderr or done.stdout).strip()}")
        run = Run(**json.loads(done.stdout.splitlines()[-1]))
        if run.requests:
            return run
    raise click.ClickException(f"no answer within {seconds} s: ask for more --seconds")


def used_seconds() -> tuple[float, float]:
    """CPU seconds that this bench, and that all programs of the machine have used so far."""
    psutil = _psutil()
    me = psutil.Process()
    ours = sum(sum(each.cpu_times()[:4]) for each in (me, *me.children(recursive=True)))
    times = psutil.cpu_times()
    return ours, sum(times) - times.idle - getattr(times, "iowait", 0.0)


@contextmanager
def _ended(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Make sure that a process has ended at the end, whatever happens."""
    try:
        yield
    finally:
        if process.stdin:
            # The site ends with it.
            process.stdin.close()
        else:
            process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()


def _psutil() -> Any:
    try:
        return import_module("psutil")
    except ImportError as error:
        raise click.ClickException(f"{error}: pip install 'miqps[bench]'") from None
