"""scripts/probe.py as people run it: what it says when something is missing or ends it."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from miqps import query, urls
from miqps.agent import check_contact, introduction
from miqps.classes import CLASSES
from miqps.probe import Plan, Prober, Progress
from miqps.progress import showing
from miqps.rehearsal import HOST, ROOT, free_port, sample_site, serving
from miqps.settings import PATHS, PROBER_TOKEN
from miqps.store import Observation, Store
from tests.imagined import SITE, ByTitle, reads
from tests.test_probe import Imagined

WORDS = [first + second for first in "abcdefgh" for second in "klmnop"][: PATHS.open_values + 5]
PROBE = [sys.executable, str(ROOT / "scripts" / "probe.py")]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "miqps.db"
    port = free_port()
    with Store.open(path) as store:
        store.corpus.add(
            Observation(f"http://{HOST}:{port}/{page}?id={n}") for page in "ab" for n in range(4)
        )
    return path


def said(error: str) -> list[str]:
    assert "Traceback" not in error
    return [line for line in error.splitlines() if line.startswith("Error: ")]


def test_wrong_usage_is_exit_2(script, tmp_path: Path) -> None:
    for wrong in (
        ["--samples", "0"],
        ["--threshold", "2"],
        ["--algorithm", "magic"],
        ["--what"],
        ["--max-minutes", "0"],
        ["--delay", "-1"],
        ["--stale", "old"],
        ["--contact", "me"],
        ["--contact", "me@shop.example) Chrome/1"],
        ["--contact", "https://shop.example/a b"],
    ):
        done = script("probe.py", *wrong, cwd=tmp_path)
        assert done.returncode == 2, wrong
        assert "Traceback" not in done.stderr


def test_an_unknown_content_id_is_one_line(script, db: Path, tmp_path: Path) -> None:
    done = script("probe.py", "--db", db, "--content-id", "smell", cwd=tmp_path)
    (line,) = said(done.stderr)
    assert done.returncode == 2
    assert line.endswith("no content ID 'smell'; there are: body, dom, metadata, visual")


def test_a_database_that_cannot_be_used_is_one_line(script, tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("no database\n" * 100)
    with Store.open(tmp_path / "empty.db"):
        pass
    for name, expected in (
        ("missing.db", "no such database"),
        ("text.db", "not a SQLite database"),
        ("empty.db", "nothing was recorded yet"),
    ):
        done = script("probe.py", "--db", tmp_path / name, cwd=tmp_path)
        (line,) = said(done.stderr)
        assert done.returncode == 1
        assert name in line
        assert expected in line


def test_a_wrong_rule_file_is_one_line(script, db: Path, tmp_path: Path) -> None:
    rules = tmp_path / "my.toml"
    rules.write_text('off = ["payment"]\n[[rule]]\nsite = "*"\nkep = ["a"]\n')
    done = script("probe.py", "--db", db, "--rules", rules, cwd=tmp_path)
    (line,) = said(done.stderr)
    assert done.returncode == 1
    assert line.startswith(f"Error: {rules}:4: unknown key 'kep'")


@pytest.mark.parametrize(
    ("off", "rendered"),
    [
        ((), set()),
        (("payment",), set()),
        (("log-in token",), {"/p"}),
        (("log-in token", "payment"), {"/p", "/thanks"}),
        (tuple(sorted(CLASSES)), {"/p", "/thanks"}),
    ],
)
def test_classes_that_are_off_are_probed_and_deeds_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: tuple[str, ...], rendered: set[str]
) -> None:
    monkeypatch.setattr("miqps.probe.get_content_id", lambda name: ByTitle())
    engine = Imagined(reads("id"))
    paths = ("/p?token=", "/thanks?paymentId=5&token=", "/logout?token=")
    with Store.open(tmp_path / "miqps.db") as store:
        store.corpus.add(Observation(f"{SITE}{path}{n}&id={n}") for path in paths for n in range(4))
        Prober(store, engine, Plan(delay=0, off=off)).run()
    asked = {urls.path(r.url) for r in engine.log if "token" in query.names(r.url)}
    assert asked == rendered


def test_a_dry_run_tells_the_cost_and_does_nothing(script, tmp_path: Path) -> None:
    db, port = tmp_path / "miqps.db", free_port()
    requests = tmp_path / "requests"
    with Store.open(db) as store:
        # So many that a run would learn that `/a` holds variables, and regroup them.
        store.corpus.add(Observation(f"http://{HOST}:{port}/a/v{w}?id={w}") for w in WORDS)

    def content() -> list[str]:
        with closing(sqlite3.connect(db)) as reader:
            return list(reader.iterdump())

    before = content()
    with serving(sample_site(port, requests), port, tmp_path / "site.log"):
        options = ("--db", db, "--dry-run", "--delay", "1", "--max-renders", "3")
        text = script("probe.py", *options, cwd=tmp_path)
        as_json = script("probe.py", *options, "--json", cwd=tmp_path)
    assert (text.returncode, text.stderr, as_json.stderr) == (0, "", "")
    found = json.loads(as_json.stdout)
    assert (found["contexts"], found["out_of_budget"]) == (len(WORDS), True)
    assert found["renders"] >= len(WORDS)
    assert f"about {found['renders']} renders, " in text.stdout
    assert f"{found['minutes']:.0f} minutes." in text.stdout
    assert content() == before
    assert requests.read_text() == ""


@pytest.mark.parametrize("contact", ["ops@shop.example", "https://shop.example/bot?x=1"])
def test_the_introduction_says_whom_to_write_to(contact: str) -> None:
    assert check_contact(contact) == contact
    assert introduction(contact) == f"{introduction()} (+{contact})"
    assert introduction().startswith(f"{PROBER_TOKEN}/")


@pytest.mark.parametrize(
    "wrong", ["", "me", "a@b\nX: y", "https://a.b/(x)", "x" * 300 + "@a.example"]
)
def test_a_contact_fits_into_a_header(wrong: str) -> None:
    with pytest.raises(ValueError, match="neither a mail address nor a URL"):
        check_contact(wrong)


def test_nothing_is_shown_where_nobody_looks() -> None:
    progress = Progress(contexts=3, judged=1, renders=7, shared=5, site="shop.example")
    progress.verdicts.update(["neutral", "important"])
    screen = io.StringIO()
    for terminal in (False, True):
        console = Console(file=screen, force_terminal=terminal, width=100)
        with showing(console) as show:
            show(progress)
        assert bool(screen.getvalue()) is terminal
    for said in ("1/3 contexts", "7 renders", "5 saved", "2 verdicts", "shop.example"):
        assert said in screen.getvalue()


def test_an_unknown_host_is_named(script, db: Path, tmp_path: Path) -> None:
    done = script("probe.py", "nowhere.example", "--db", db, cwd=tmp_path)
    (line,) = said(done.stderr)
    assert done.returncode == 1
    assert line.startswith("Error: nowhere.example: nothing recorded of it")


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("MIQPS_BROWSER", "/nowhere/chromium", "no browser at /nowhere/chromium"),
        ("MIQPS_DRIVER", "/nowhere/driver", "no driver at /nowhere/driver"),
        ("MIQPS_BROWSER", "/bin/true", "is no Chrome or Chromium"),
        ("MIQPS_DRIVER", "/bin/false", "does not start"),
    ],
)
def test_without_a_browser_it_says_what_to_do(
    script, db: Path, tmp_path: Path, monkeypatch, variable: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(variable, value)
    done = script("probe.py", "--db", db, cwd=tmp_path)
    (line,) = said(done.stderr)
    assert done.returncode == 1
    assert expected in line


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--browser", "/nowhere/it"], "no browser at /nowhere/it"),
        (["--browser", "/bin/true"], "is no Chrome or Chromium"),
        (["--grid", "grid"], "'grid' is no address of a grid"),
        (["--grid", "http://a:b@127.0.0.1:4"], "no chromium from the grid at http://127.0.0.1:4: "),
        (
            ["--grid", "http://127.0.0.1:4", "--browser", "firefox"],
            "no firefox from the grid at http://127.0.0.1:4: ",
        ),
        (["--grid", "http://127.0.0.1:4", "--browser", "/bin/it"], "a grid has its own browsers"),
    ],
)
def test_a_browser_that_cannot_be_had_is_one_line(
    script, db: Path, tmp_path: Path, options: list[str], expected: str
) -> None:
    done = script("probe.py", "--db", db, *options, cwd=tmp_path)
    (line,) = said(done.stderr)
    assert done.returncode == 1
    assert expected in line


def test_a_site_that_is_down_costs_nothing_that_was_known(script, db: Path, tmp_path: Path) -> None:
    done = script("probe.py", "--db", db, "--json", cwd=tmp_path)
    (line,) = said(done.stderr)
    assert done.returncode == 1
    assert "could not be asked: robots.txt: connection refused" in line
    with Store.open(db) as store:
        assert store.maps.version() == 0
        (site,) = store.corpus.sites()
        assert [c.judged_urls for c in store.corpus.contexts(site)] == [0, 0]


def test_a_busy_database_is_one_line(script, db: Path, tmp_path: Path) -> None:
    holder = sqlite3.connect(db, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        done = script("probe.py", "--db", db, cwd=tmp_path)
    finally:
        holder.rollback()
        holder.close()
    (line,) = said(done.stderr)
    assert done.returncode == 1
    assert "locked by another process" in line


def test_stopping_it_loses_nothing(tmp_path: Path) -> None:
    """Ctrl-C, then a kill -9, then a run to the end: no render is made twice."""
    port, db = free_port(), tmp_path / "miqps.db"
    with Store.open(db) as store:
        store.corpus.add(
            Observation(f"http://{HOST}:{port}/shop/product?id={id_}&ref=r{id_}")
            for id_ in (1007, 1012, 1019, 1023)
        )

    def rendered() -> list[tuple[str, int]]:
        with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as reader:
            rows = reader.execute("SELECT url, repeat, rendered, id FROM renders").fetchall()
        reader.close()
        return rows

    def start_and_stop(after: int, how: signal.Signals) -> tuple[int, str]:
        with subprocess.Popen(
            [*PROBE, "--db", str(db), "--browsers", "1"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        ) as process:
            while len(rendered()) < after and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(how)
            said = process.communicate(timeout=60)[1]
        return process.returncode, said

    with serving(sample_site(port, tmp_path / "log"), port, tmp_path / "site.log"):
        stopped = start_and_stop(3, signal.SIGINT)
        assert stopped == (1, "Error: stopped; all is saved, run again to go on\n")
        first = rendered()
        killed, _ = start_and_stop(len(first) + 3, signal.SIGKILL)
        assert killed == -signal.SIGKILL
        second = rendered()
        assert second[: len(first)] == first
        done = subprocess.run(
            [*PROBE, "--db", str(db), "--browsers", "1", "--json"],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        assert '"judged": 1' in done.stdout
        assert rendered()[: len(second)] == second
    with Store.open(db) as store:
        (known,) = store.evidence.verdicts(f"{HOST}:{port}")
        assert {v.name: v.decision for v in known.verdicts} == {"id": "important", "ref": "neutral"}
