"""The benches of the proxy: they run, say what they measured, and leave no process behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from miqps.normalizer import Normalizer

psutil = pytest.importorskip("psutil", reason="needs the extra: pip install 'miqps[bench]'")

ROOT = Path(__file__).parents[1]
BENCH = [sys.executable, str(ROOT / "scripts" / "bench.py")]

needs_wrk = pytest.mark.skipif(not shutil.which("wrk"), reason="needs wrk: apt-get install wrk")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BENCH, *arguments],
        text=True,
        capture_output=True,
        timeout=600,
        env={**os.environ, **environment},
    )


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    from benches import made_site

    return made_site


def targets(requests: list[str]) -> list[str]:
    return [request.split(" ")[1] for request in requests]


def test_one_page_load_in_five_has_a_query(made) -> None:
    asked = targets(made.made_requests("documents", "a.example", is_tls=False))
    assert sum("?" in target for target in asked) / len(asked) == 0.2


def test_one_in_twenty_of_the_mix_is_a_page_load(made) -> None:
    asked = made.made_requests("mix", "a.example", is_tls=False)
    assert sum("Accept: text/html" in request for request in asked) / len(asked) == 0.05


@pytest.mark.parametrize(("is_tls", "says"), [(False, False), (True, True)])
def test_only_over_tls_a_browser_says_what_it_wants(made, is_tls: bool, says: bool) -> None:
    for request in made.made_requests("mix", "a.example", is_tls=is_tls):
        assert ("\r\nSec-Fetch-Dest: " in request) is says
        assert request.endswith("\r\n\r\n")


def test_the_map_cleans_every_query_of_the_load(made) -> None:
    normalizer = Normalizer(made.made_map("a.example:8000"))
    asked = set(targets(made.made_requests("documents", "x", is_tls=False)))
    for target in filter(lambda target: "?" in target, asked):
        cleaned = normalizer.clean(f"http://a.example:8000{target.replace('{}', '7')}")
        names = set(re.findall(r"[?&](\w+)=", cleaned))
        assert names
        assert names.isdisjoint(made.NEUTRAL)


def test_without_wrk_it_says_what_to_do(tmp_path: Path) -> None:
    done = run("proxy", PATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == "Error: wrk is missing: apt-get install wrk, or brew install wrk\n"


@needs_wrk
def test_proxy() -> None:
    done = run("proxy", "--rounds", "1", "--seconds", "1", "--load", "documents")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    number = r"\d[\d,.]*"
    for pattern in (
        r"^ +documents, http +documents, https +goal$",
        rf"^without: flows/s +{number} +{number}$",
        r"^with miqps / without:$",
        r"^  throughput( +[\d.]+ \([\d.]+-[\d.]+\)){2} +>= 0.97$",
        r"^  CPU a flow( +[\d.]+ \([\d.]+-[\d.]+\)){2} *$",
        rf"^lost with miqps( +0 of {number}){{2}}$",
        rf"^documents +page with a query( +{number}){{4}} +<= 25$",
        rf"^documents +page without a query( +{number}){{4}} *$",
    ):
        assert re.search(pattern, done.stdout, re.MULTILINE), (pattern, done.stdout)
    asked, recorded, rewritten = (
        int(re.search(rf"({number}) {word}", done.stdout)[1].replace(",", ""))
        for word in ("asked for", "recorded", "rewritten")
    )
    # How many of them is a matter of speed.
    assert 0 < recorded <= asked
    assert 0 < rewritten <= asked
    assert re.search(r"lost: \d+ queue full, \d+ disk, 0 unstorable", done.stdout)
    assert ", 0 came with a tracker;" in done.stdout
    assert "; 0 errors" in done.stdout


@needs_wrk
def test_proxy_memory() -> None:
    done = run("proxy-memory", "--flows", "50")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("with")]
    ours = [row for row in rows if row.startswith("with miqps ")]
    # At least the beginning and the end.
    assert 2 <= len(ours) <= len(rows) - 2
    for row in ours:
        assert len(re.findall(r" \d+\.\d MB", row)) == 3
    assert re.search(r"written \d+ s after the last flow, .* \d+ recorded, ", done.stdout)


@needs_wrk
def test_a_signal_ends_all_processes() -> None:
    command = [*BENCH, "proxy-memory"]
    bench = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    # The site, mitmdump, its writing process, wrk.
    until = time.monotonic() + 60
    while len(started := bench.children(recursive=True)) < 4:
        assert bench.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    bench.send_signal(signal.SIGTERM)
    _, said = bench.communicate(timeout=60)
    assert said.endswith(b"Aborted!\n")
    assert b"Traceback" not in said
    assert bench.returncode == 1
    assert not psutil.wait_procs(started, timeout=30)[1]
