"""The bench of importing: its list is what it says, and it measures the process it started."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from miqps.formats.urllist import BadLine, read

ROOT = Path(__file__).parents[1]


@pytest.fixture
def benches(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    import benches

    return benches


def made(count: int) -> bytes:
    from benches.made_lines import write_lines

    file = io.BytesIO()
    write_lines(file, count)
    return file.getvalue()


def test_the_list_looks_real_and_is_the_same_every_time(benches) -> None:
    text = made(12_000)
    assert text == made(12_000)
    lines = text.splitlines()
    assert len(lines) == 12_000
    entries = list(read(lines))
    unfit = [entry.reason for entry in entries if isinstance(entry, BadLine)]
    assert 0.18 < len(unfit) / len(entries) < 0.22
    assert {"no named parameter", "not UTF-8", "deed", "not http or https"} <= set(unfit)
    # The first site has more than its share, and values come again.
    sites = [re.match(rb"\w+://([^/]+)/", line) for line in lines]
    assert sum(bool(site and site[1] == b"red-red0.example") for site in sites) > 600
    values = re.findall(rb"=([^&\n]*)", text)
    assert len(set(values)) < 0.5 * len(values)


def measured(*command: str) -> dict[str, float]:
    launcher = [sys.executable, "-S", str(ROOT / "scripts" / "benches" / "measured.py")]
    done = subprocess.run([*launcher, *command], stderr=subprocess.PIPE, text=True, timeout=60)
    return json.loads(done.stderr)


def test_the_peak_is_that_of_the_process_alone() -> None:
    here = bytearray(300_000_000)
    small = measured(sys.executable, "-S", "-c", "pass")
    big = measured(sys.executable, "-S", "-c", "x = b'x' * 100_000_000; raise SystemExit(3)")
    assert len(here) > 100_000_000 + small["peak"]
    assert 1_000_000 < small["peak"] < 100_000_000 < big["peak"] < 200_000_000
    assert (small["code"], big["code"]) == (0, 3)
    assert big["seconds"] > 0
    assert big["cpu"] > 0


def test_table(script, tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="needs the extra: pip install 'miqps[bench]'")
    done = script("bench.py", "corpus", "--lines", 3_000, "--rounds", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3,000 lines, ")
    for name in (
        "corpus.py add",
        "floor: for line in file",
        "DuckDB: count by site",
        "DuckDB: count by context",
    ):
        row = rf"^{name} +[\d.]+ +[\d.]+ +[\d,]+ +[\d.]+x +\d+$"
        assert re.search(row, done.stdout, re.MULTILINE), done.stdout
    found = json.loads(done.stdout.rpartition("add: ")[2])
    # Each round begins with an empty database.
    assert 2_300 < found["hits"] < 2_500
    assert list(tmp_path.iterdir()) == []


def test_without_duckdb_it_says_so_in_one_line(benches, monkeypatch) -> None:
    from benches import corpus

    monkeypatch.setattr(corpus, "find_spec", lambda name: None)
    done = CliRunner().invoke(corpus.corpus, ["--lines", "200"])
    assert done.exit_code == 0, done.output
    assert "without DuckDB, which is not installed: pip install 'miqps[bench]'\n" in done.output
    assert "DuckDB: " not in done.output
