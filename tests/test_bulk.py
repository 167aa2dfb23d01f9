"""Samples of a crawl: against brute force, however it was split, and after interruptions."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from distributed import LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st

from miqps import query, urls
from miqps.bulk import reducing, runs, samples, splits, tables
from miqps.bulk.gathering import Gathering
from miqps.bulk.runs import Paths
from miqps.eligibility import unfit
from miqps.formats import FormatError
from miqps.redaction import redact
from miqps.rehearsal import ROOT
from miqps.reservoir import LISTED, REDACTED, digest
from miqps.settings import CORPUS, JUDGING

CORPUS_SCRIPT = [sys.executable, str(ROOT / "scripts" / "corpus.py")]

Found = dict[tuple[str, str, tuple[str, ...]], dict[str, int]]


def crawl(number: int, seed: int) -> list[str]:
    """URLs of shops, with trackers, identifiers, open paths, secrets, deeds and rubbish."""
    rnd = random.Random(seed)
    word = "abcdefghijklmnopqrstuvwxyz"
    found = []
    for _ in range(number):
        host = f"https://shop{int(rnd.paretovariate(0.7)) % 40}.example"
        match rnd.randrange(12):
            case 0:
                name = "".join(rnd.choices(word, k=6))
                found.append(f"{host}/wiki/{name}?action={rnd.choice(['raw', 'edit'])}")
            case 1:
                found.append(f"{host}/q?s={rnd.choice(word)}&s={rnd.choice(word)}&&x")
            case 2:
                found.append(
                    f"{host}/user?mail=ada{rnd.randrange(9)}@mail.example&n={rnd.random()}"
                )
            case 3:
                found.append(f"{host}/cart/add?id={rnd.randrange(99)}")
            case 4:
                found.append(rnd.choice(["", "# a line", "ftp://x/?a=1", f"{host}/plain", "x?y=1"]))
            case 5:
                found.append(f"{host}/p/{rnd.randrange(9)}?token={rnd.getrandbits(60):x}&id=1#top")
            case _:
                found.append(
                    f"{host}/p/{rnd.randrange(2_000)}?id={rnd.randrange(2_000)}"
                    f"&colour={rnd.choice(['red', 'blue', '%C3%BC'])}"
                    f"&utm_source=m{rnd.randrange(300)}"
                )
    return found


def by_brute_force(lines: Iterable[str], top: int) -> Found:
    """What `miqps.bulk` should find, by its definition and with no regard to time or memory."""
    wanted, seen, paths = defaultdict(set), defaultdict(int), defaultdict(set)
    counted: dict[str, int] = defaultdict(int)
    for line in map(str.strip, lines):
        context = urls.context_of(line) if line and not line.startswith("#") else None
        if context is None:
            continue
        paths[context.site].add(urls.path(line))
        counted[line] += 1
    open_of = {}
    for site, known in paths.items():
        sampled = sorted(known, key=digest)[: samples._PATHS]
        clean = [redact(f"https://{site}{path}?x") for path in sampled]
        open_of[site] = urls.learn_open_prefixes(urls.path(each) for each in clean if each)
    hits_of: dict[str, int] = defaultdict(int)
    for line, hits in counted.items():
        site = urls.site(line)
        assert site is not None
        context = urls.context_of(line, open_of[site])
        seen[context] += hits
        clean = None if unfit(line) else redact(line)
        if clean is not None:
            wanted[context].add((REDACTED if clean != line else LISTED, digest(clean), clean))
            hits_of[clean] += hits
    found: Found = {}
    for site in paths:
        contexts = [context for context in wanted if context.site == site]
        ranked = sorted(contexts, key=lambda c: (-seen[c], (c.path, c.names)))[:top]
        for context in ranked:
            chosen = best_of(context, wanted[context])
            found[context.site, context.path, context.names] = {u: hits_of[u] for u in chosen}
    return found


def best_of(context: urls.Context, candidates: Iterable[tuple[int, int, str]]) -> set[str]:
    """Of each name, and of the path if it is open, the values with the smallest hashes."""
    views = [lambda url, name=name: "&".join(query.values(url, name)) for name in context.names]
    if "*" in context.path:
        views.append(urls.path)
    room = max(CORPUS.urls_per_context // len(views), CORPUS.values_per_name)
    chosen: set[str] = set()
    for view in views:
        best: dict[int, tuple[int, int, str]] = {}
        for candidate in candidates:
            value = digest(view(candidate[2]))
            best[value] = min(best.get(value, candidate), candidate)
        ranked = sorted(best, key=lambda value: (best[value][0], value))
        chosen |= {best[value][2] for value in ranked[:room]}
    return chosen


def stored(*files: Path) -> Found:
    found: Found = defaultdict(dict)
    for file in files:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as reader:
            for site, path, names, url, hits in reader.execute(
                "SELECT s.site, c.path, c.names, u.url, u.hits FROM urls u"
                " JOIN contexts c ON c.id = u.context_id JOIN sites s ON s.id = c.site_id"
            ):
                found[site, path, tuple(json.loads(names))][url] = hits
    return dict(found)


def bulk(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*CORPUS_SCRIPT, "bulk", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def in_parts(folder: Path, lines: list[str], number: int, seed: int) -> list[Path]:
    """The lines in another order, in so many files; every other one is compressed."""
    lines = random.Random(seed).sample(lines, len(lines))
    files = []
    for part in range(number):
        raw = "".join(f"{line}\n" for line in lines[part::number]).encode()
        files.append(folder / (f"{part}.txt.gz" if part % 2 else f"{part}.txt"))
        files[-1].write_bytes(gzip.compress(raw) if part % 2 else raw)
    return files


def test_it_finds_what_brute_force_finds_however_it_is_split(tmp_path: Path) -> None:
    lines = crawl(60_000, 1)
    whole = tmp_path / "whole.txt"
    whole.write_text("\n".join(lines))
    wanted = by_brute_force(lines, JUDGING.top_patterns)
    assert any("/wiki/*" in path for _, path, _ in wanted)
    done = bulk(whole, "--db", tmp_path / "whole.db", "--json")
    assert done.returncode == 0, done.stderr
    assert stored(tmp_path / "whole.db") == wanted
    counts = json.loads(done.stdout)
    assert counts["urls"] == sum(urls.context_of(line.strip()) is not None for line in lines)
    assert counts["contexts"] == len(wanted)
    assert not (tmp_path / "whole.db.bulk").exists()
    for number in (4, 16):
        folder = tmp_path / str(number)
        folder.mkdir()
        out = folder / "out"
        done = bulk(*in_parts(folder, lines, number, number), "--out", out, "--shares", number)
        assert done.returncode == 0, done.stderr
        files = sorted(out.iterdir())
        assert [file.name for file in files] == [f"{share:03}.db" for share in range(number)]
        assert stored(*files) == wanted
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(crawl(3_000, 2)), max_size=400),
    st.integers(1, 60),
    st.integers(1, 4),
    st.data(),
)
def test_no_order_and_no_spill_changes_what_is_kept(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], every: int, parts: int, data
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    written = []

    def spill(gathering: Gathering) -> None:
        path = folder / f"run-{len(written)}"
        written.append(runs.write(path, gathering.spilled(), 3))

    for part in range(parts):
        gathering = Gathering()
        for number, line in enumerate(data.draw(st.permutations(lines[part::parts])), 1):
            if line and not line.startswith("#"):
                gathering.add(line)
            if number % every == 0:
                spill(gathering)
        spill(gathering)
    found = {
        (site.site, context.path, context.names): {url: hits for url, _, hits, _ in kept}
        for share in range(3)
        for site in reducing.sites(runs.merged(folder, written, share), 5)
        for context, kept in site.contexts
    }
    wanted = by_brute_force(lines, 5)
    assert found.keys() == wanted.keys()
    for key, urls_ in wanted.items():
        # The store drops what is beyond its own room; no part of what it keeps may be missing.
        assert urls_.items() <= found[key].items()


def test_more_runs_than_can_be_open_at_once_are_merged_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_MOST_AT_ONCE", 2)
    written = [
        runs.write(tmp_path / str(n), [Paths(f"{letter}.example", [f"/{n}"]) for letter in "ab"], 1)
        for n in range(7)
    ]
    found = list(runs.merged(tmp_path, written, 0))
    assert [record.site for record in found] == ["a.example"] * 7 + ["b.example"] * 7
    assert {path for record in found for path in record.paths} == {f"/{n}" for n in range(7)}
    assert len(list(tmp_path.iterdir())) == 7, "what was merged on the way is gone"


def test_little_memory_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = crawl(20_000, 3)
    gathering = Gathering()
    most = 0
    written = []
    for line in filter(None, lines):
        gathering.add(line)
        most = max(most, gathering.weight)
        if gathering.weight > 1_000_000:
            written.append(runs.write(tmp_path / str(len(written)), gathering.spilled(), 1))
            assert gathering.weight == 0
    written.append(runs.write(tmp_path / "last", gathering.spilled(), 1))
    assert len(written) > 3
    assert most < 1_100_000
    for_all = reducing.sites(runs.merged(tmp_path, written, 0), JUDGING.top_patterns)
    kept = {url for site in for_all for _, each in site.contexts for url, *_ in each}
    wanted = by_brute_force(lines, JUDGING.top_patterns)
    assert {url for urls_ in wanted.values() for url in urls_} <= kept


def test_a_site_with_far_too_many_contexts_keeps_the_most_seen(tmp_path: Path) -> None:
    gathering = Gathering()
    for n in range(12_000):
        gathering.add(f"https://a.example/p?n{n}=1&id={n}")
    for n in range(3):
        for id_ in range(4):
            gathering.add(f"https://a.example/often?x{n}=1&id={id_}")
    run = runs.write(tmp_path / "run", gathering.spilled(), 1)
    (site,) = reducing.sites(runs.merged(tmp_path, [run], 0), 3)
    assert [context.path for context, _ in site.contexts] == ["/often"] * 3
    assert site.left == 12_000


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_list_in_parts_has_each_line_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    file = tmp_path / "list.txt"
    lines = [f"https://a.example/?{'n' * (n % 11)}={n}" for n in range(200)]
    file.write_text("\n".join(lines) + end)
    for size in range(1, 120):
        monkeypatch.setattr(splits, "_MOST", size)
        monkeypatch.setattr(splits, "_LEAST", 1)
        parts = splits.splits_of(str(file))
        assert len(parts) == -(-file.stat().st_size // size)
        assert [e.url for part in parts for e in splits.entries(part)] == lines


def test_it_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    lines = crawl(30_000, 4)
    files = in_parts(tmp_path, lines, 8, 4)
    out = tmp_path / "out"
    arguments = [*CORPUS_SCRIPT, "bulk", *map(str, files), "--out", str(out), "--workers", "1"]
    with subprocess.Popen(arguments, start_new_session=True) as job:
        while len(list(out.glob("work/split-*.json"))) < 3:
            assert job.poll() is None
            time.sleep(0.02)
        os.killpg(job.pid, signal.SIGKILL)
    done_before = {file: file.stat().st_mtime_ns for file in out.glob("work/split-*.json")}
    other = bulk(*files[1:], "--out", out)
    assert other.returncode == 1
    assert "belongs to another job" in other.stderr
    with subprocess.Popen(arguments, start_new_session=True, stderr=subprocess.PIPE) as job:
        while len(list(out.glob("*.db"))) < 3:
            assert job.poll() is None
            time.sleep(0.02)
            for file, changed in done_before.items():
                assert not file.exists() or file.stat().st_mtime_ns == changed
        os.killpg(job.pid, signal.SIGINT)
        assert job.stderr is not None
        said = job.stderr.read().decode()
        assert job.wait(60) == 1
    assert said == "Error: stopped; what is stored stays\n"
    assert bulk(*files, "--out", out, "--workers", "1").returncode == 0
    assert stored(*out.glob("*.db")) == by_brute_force(lines, JUDGING.top_patterns)
    again = bulk(*files, "--out", out)
    assert (again.returncode, "holds stores already" in again.stderr) == (1, True)


def test_a_store_that_was_interrupted_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from miqps.store import Store

    gathering = Gathering()
    for line in filter(None, crawl(3_000, 5)):
        gathering.add(line)
    run = runs.write(tmp_path / "run", gathering.spilled(), 1)

    def found() -> Iterable[reducing.Site]:
        return reducing.sites(runs.merged(tmp_path, [run], 0), 200)

    def cut() -> Iterable[reducing.Site]:
        for number, site in enumerate(found()):
            if number == 20:
                raise KeyboardInterrupt
            yield site

    monkeypatch.setattr(reducing, "_BATCH", 50)
    with Store.open(tmp_path / "whole.db") as store:
        reducing.fill(store, found(), "mark")
    with Store.open(tmp_path / "cut.db") as store:
        with pytest.raises(KeyboardInterrupt):
            reducing.fill(store, cut(), "mark")
        reducing.fill(store, found(), "mark")
        reducing.fill(store, found(), "mark")
    assert stored(tmp_path / "cut.db") == stored(tmp_path / "whole.db")
    hits = "SELECT sum(hits) FROM contexts"
    counted = []
    for name in ("cut.db", "whole.db"):
        with closing(sqlite3.connect(tmp_path / name)) as reader:
            counted.append(reader.execute(hits).fetchone())
    assert counted[0] == counted[1]


def test_bad_files_cost_nothing_else(tmp_path: Path) -> None:
    good, binary = tmp_path / "good.txt", tmp_path / "broken.gz"
    good.write_text("".join(f"https://a.example/?id={n}\n" for n in range(9)) + "no URL\n")
    binary.write_bytes(gzip.compress(b"https://b.example/?id=1\n" * 50)[:-20])
    done = bulk(good, binary, tmp_path / "missing.txt", "--db", tmp_path / "x.db", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["failed"] == [f"{tmp_path}/missing.txt: No such file or directory"]
    assert found["passed_over"]["no named parameter"] == 1
    assert "Traceback" not in done.stderr
    assert len(stored(tmp_path / "x.db")["a.example", "/", ("id",)]) == 9


def test_wrong_usage_is_exit_2(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.touch()
    assert bulk(file).returncode == 2
    assert bulk(file, "--db", "a.db", "--out", "b").returncode == 2


def test_tables_are_read_and_patterns_stand_for_files(tmp_path: Path) -> None:
    import duckdb

    lines = [f"https://a.example/?id={n}" for n in range(40)]
    for part in range(4):
        rows = ", ".join(f"({n}, '{url}')" for n, url in enumerate(lines[part::4]))
        path = tmp_path / f"part-{part}.parquet"
        duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) t(n, url)) TO '{path}' (FORMAT parquet)")
    files = sorted(tmp_path.glob("*.parquet"))
    assert bulk(*files, "--db", tmp_path / "own.db").returncode == 0
    pattern = f"{tmp_path}/part-*.parquet"
    done = bulk(pattern, "--db", tmp_path / "duck.db")
    assert done.returncode == 0, done.stderr
    assert stored(tmp_path / "duck.db") == stored(tmp_path / "own.db")
    assert len(stored(tmp_path / "own.db")["a.example", "/", ("id",)]) == 40
    assert tables.files_of(pattern) == [str(file) for file in files]
    with pytest.raises(FormatError):
        tables.files_of(f"{tmp_path}/none-*.parquet")


def test_a_cluster_gives_the_same(tmp_path: Path) -> None:
    lines = crawl(5_000, 6)
    files = in_parts(tmp_path, lines, 4, 6)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        done = bulk(*files, "--out", tmp_path / "out", "--shares", 4, "--scheduler", address)
    assert done.returncode == 0, done.stderr
    assert stored(*(tmp_path / "out").iterdir()) == by_brute_force(lines, JUDGING.top_patterns)
    gone = bulk(*files, "--out", tmp_path / "other", "--scheduler", "tcp://127.0.0.1:9")
    assert (gone.returncode, len(gone.stderr.splitlines())) == (1, 1)
