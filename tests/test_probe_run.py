"""Whole runs against the sample site: killed in the middle, and polite by the site's own log."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from miqps.mapping import SiteMap
from miqps.rehearsal import HOST, ROOT, free_port, sample_site, serving
from miqps.settings import PROBER_TOKEN
from miqps.store import Observation, Store

PROBE = [sys.executable, str(ROOT / "scripts" / "probe.py")]
BROWSERS = 2

PRODUCTS = (1007, 1012, 1019, 1023)
THREADS = (8101, 8107, 8114, 8120)
DEEDS = (
    *(f"/shop/cart/add?id={n}&ref=r{n}" for n in PRODUCTS),
    *(f"/forum/logout?sid={n}&ref=r{n}" for n in THREADS),
    *(f"/forum/vote?post={n}&dir=up" for n in THREADS),
    *(f"/news/unsubscribe?mc_eid={n}&ref=r{n}" for n in PRODUCTS),
)

ROBOTS = f"""\
User-agent: *
Disallow: /

User-agent: {PROBER_TOKEN}
Crawl-delay: 0.1
Disallow: /forum/
Disallow: /shop/product?ref=
"""


def recorded(db: Path, port: int, targets: Iterable[str]) -> None:
    with Store.open(db) as store:
        store.corpus.add(Observation(f"http://{HOST}:{port}{target}") for target in targets)


def renders(db: Path) -> list[tuple[int, str, str]]:
    """The journal: number, what the site was asked for, and when."""
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as reader:
        return reader.execute(
            "SELECT id, coalesce(nullif(sent, ''), url), rendered FROM renders ORDER BY id"
        ).fetchall()


def run(db: Path, *options: str) -> dict:
    done = subprocess.run(
        [*PROBE, "--db", str(db), "--browsers", str(BROWSERS), "--json", *options],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def killed_after(db: Path, more: int) -> None:
    """Run the prober until it has made so many more renders, and kill it."""
    enough = len(renders(db)) + more
    command = [*PROBE, "--db", str(db), "--browsers", str(BROWSERS)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while len(renders(db)) < enough and process.poll() is None:
            time.sleep(0.05)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL, "it was done before it was killed"


def learned(db: Path) -> dict[str, SiteMap]:
    with Store.open(db) as store:
        newest = store.maps.newest()
        assert newest is not None
        return dict(newest.sites)


def pages(log: Path) -> list[dict[str, str]]:
    """What the prober asked the site for, without what belongs to a page."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(PROBER_TOKEN in line["user_agent"] for line in lines)
    return [line for line in lines if not re.search("/static/|picture", line["target"])]


def test_killed_twice_it_ends_with_the_same_map(tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "requests.jsonl"
    disturbed, undisturbed = tmp_path / "killed.db", tmp_path / "whole.db"
    targets = [f"/shop/product?id={n}&ref=r{n}" for n in PRODUCTS]
    for db in (disturbed, undisturbed):
        recorded(db, port, targets)
    with serving(sample_site(port, log), port, tmp_path / "site.log"):
        killed_after(disturbed, 4)
        first = renders(disturbed)
        killed_after(disturbed, 6)
        second = renders(disturbed)
        run(disturbed)
        asked = Counter(f"http://{HOST}:{port}{line['target']}" for line in pages(log))
        summary = run(undisturbed)
    all_of_it = renders(disturbed)
    assert second[: len(first)] == first
    assert all_of_it[: len(second)] == second
    assert len(all_of_it) == summary["renders"]
    # Only what was being rendered when it was killed may have been asked for once more.
    made = Counter(url for _, url, _ in all_of_it)
    assert not made - asked
    again = {url: number for url, number in (asked - made).items() if "robots.txt" not in url}
    assert sum(again.values()) <= 2 * BROWSERS, again
    assert learned(disturbed) == learned(undisturbed)
    assert {"important", "neutral"} == {
        v.decision for s in learned(disturbed).values() for c in s.contexts for v in c.verdicts
    }


def test_no_deed_and_nothing_disallowed_is_asked_for_and_the_pause_is_kept(tmp_path: Path) -> None:
    port, log, db = free_port(), tmp_path / "requests.jsonl", tmp_path / "miqps.db"
    targets = [
        *(f"/shop/product?id={n}&ref=r{n}" for n in PRODUCTS),
        *(f"/forum/thread?t={n}&gclid=G{n}h{n}" for n in THREADS),
        *DEEDS,
    ]
    recorded(db, port, targets)
    robots = tmp_path / "robots.txt"
    robots.write_text(ROBOTS)
    site = [*sample_site(port, log), "--robots", str(robots)]
    with serving(site, port, tmp_path / "site.log"):
        summary = run(db, "--delay", "1", "--contact", "ops@shop.example")
        asked = pages(log)
        assert summary["disallowed"] > 0
        targets = [line["target"] for line in asked]
        assert targets.count("/robots.txt") == 1
        assert targets[0] == "/robots.txt"
        assert len(targets) == summary["renders"] + 1
        assert not [t for t in targets if re.search("cart|logout|vote|unsubscribe", t)]
        assert not [t for t in targets if t.startswith(("/forum/", "/shop/product?ref="))]
        assert any(t.startswith("/shop/product?id=") for t in targets)
        assert all("(+ops@shop.example)" in line["user_agent"] for line in asked)
        times = [datetime.fromisoformat(line["time"]) for line in asked]
        # The log has milliseconds, cut off.
        assert min(b - a for a, b in pairwise(times)) >= timedelta(milliseconds=999)
        assert run(db, "--ignore-robots", "--max-renders", "3")["renders"] == 3
        assert [line["target"] for line in pages(log)].count("/robots.txt") == 1


@pytest.mark.parametrize("status", ["403", "503"])
def test_where_robots_txt_is_refused(tmp_path: Path, status: str) -> None:
    """A file that may not be seen forbids nothing; a server in trouble is left alone."""
    port, db = free_port(), tmp_path / "miqps.db"
    recorded(db, port, (f"/p?id={n}" for n in range(4)))
    serve = (
        "import sys; from http.server import *\n"
        "class H(BaseHTTPRequestHandler):\n"
        "  def do_GET(self):\n"
        "    print(self.path, file=open(sys.argv[2], 'a'))\n"
        f"    self.send_response({status} if 'robots' in self.path else 200)\n"
        "    self.send_header('Content-Type', 'text/html'); self.end_headers()\n"
        "    self.wfile.write(b'<h1>' + self.path.encode() + b'</h1>')\n"
        "ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()\n"
    )
    log = tmp_path / "log"
    command = [sys.executable, "-c", serve, str(port), str(log)]
    with serving(command, port, tmp_path / "site.log"):
        done = subprocess.run(
            [*PROBE, "--db", str(db), "--json", "--max-renders", "2"],
            capture_output=True,
            text=True,
            timeout=300,
        )
    asked = log.read_text().splitlines()
    if status == "503":
        assert done.returncode == 1
        assert "could not be asked: robots.txt: status 503" in done.stderr
        assert asked == ["/robots.txt"]
    else:
        assert done.returncode == 0, done.stderr
        assert asked[0] == "/robots.txt"
        assert len(asked) > 1
