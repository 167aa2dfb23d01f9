"""The bench of importing: a long list of URLs, beside a bare loop and beside DuckDB."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import click
from benches.made_lines import write_lines

from miqps.store import Store

OURS = "corpus.py add"
LOOP = "floor: for line in file"
DUCKDB_SITES = "DuckDB: count by site"
DUCKDB_CONTEXTS = "DuckDB: count by context"

_SCRIPTS = Path(__file__).parents[1]
_LOOP = "import sys\nfor line in open(sys.argv[1], 'rb'): pass"
_DUCKDB = """
import sys, duckdb
path, query = sys.argv[1:]
lines = ("read_csv(?, header=false, auto_detect=false, columns={'line': 'VARCHAR'}, delim='\\x01',"
         " quote='', escape='', ignore_errors=true)")
print(len(duckdb.execute(query.replace("LINES", lines), [path]).fetchall()))
"""
_SITES = r"""
SELECT lower(regexp_extract(line, '^https?://([^/?#]+)', 1)) AS site, count(*)
FROM LINES GROUP BY site
"""
# Numbers in paths folded, names sorted: the nearest to a context that is one line of SQL.
_CONTEXTS = r"""
SELECT lower(regexp_extract(line, '^https?://([^/?#]+)', 1)) AS site,
  regexp_replace(regexp_extract(line, '^https?://[^/?#]+([^?#]*)', 1), '[^/]*[0-9][^/]*', '*', 'g')
    AS path,
  list_sort(list_distinct(regexp_extract_all(line, '[?&]([^=&#]+)', 1))) AS names,
  count(*), count(DISTINCT line)
FROM LINES WHERE regexp_matches(line, '^https?://[^?]+[?].') GROUP BY site, path, names
"""


@dataclass(frozen=True, slots=True)
class Took:
    """What a process took."""

    seconds: float
    cpu: float
    peak: int
    code: int


@click.command()
@click.option("--lines", default=1_000_000, show_default=True, help="Lines of the list.")
@click.option("--rounds", default=1, show_default=True, help="Alternating rounds.")
def corpus(lines: int, rounds: int) -> None:
    """Lines a second and memory of `corpus.py add`, beside a loop and DuckDB.

    Example: python scripts/bench.py corpus --lines 10000000
    """
    with tempfile.TemporaryDirectory() as name:
        path, db = Path(name) / "urls.txt", Path(name) / "bench.db"
        with path.open("wb") as file:
            write_lines(file, lines)
        print(f"{lines:,} lines, {path.stat().st_size / 1e6:,.0f} MB; {rounds} rounds", flush=True)
        commands = _commands(path, db)
        took: dict[str, list[Took]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                if name == OURS:
                    db.unlink(missing_ok=True)
                took[name].append(_run(name, command))
        _print_table(lines, took)
        with closing(Store.open(db, create=False)) as store:
            found = store.figures()
        print(f"\n{OURS}: {json.dumps(found)}")


def _commands(path: Path, db: Path) -> dict[str, Sequence[str]]:
    ours = [str(_SCRIPTS / "corpus.py"), "add", str(path), "--db", str(db), "--json"]
    commands = {OURS: ours, LOOP: ["-c", _LOOP, str(path)]}
    if find_spec("duckdb"):
        commands[DUCKDB_SITES] = ["-c", _DUCKDB, str(path), _SITES]
        commands[DUCKDB_CONTEXTS] = ["-c", _DUCKDB, str(path), _CONTEXTS]
    else:
        print("without DuckDB, which is not installed: pip install 'miqps[bench]'")
    return commands


def _run(name: str, command: Sequence[str]) -> Took:
    launcher = [sys.executable, "-S", str(Path(__file__).with_name("measured.py"))]
    process = subprocess.Popen(
        [*launcher, sys.executable, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, said = process.communicate()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    *errors, last = said.splitlines() or [""]
    if process.returncode or (took := Took(**json.loads(last))).code:
        raise click.ClickException(f"{name}: {' '.join(errors) or last}")
    return took


def _print_table(lines: int, took: dict[str, list[Took]]) -> None:
    print(f"\n{'':28}{'seconds':>10}{'CPU s':>10}{'lines/s':>13}{'ours takes':>12}{'peak MB':>10}")
    ours = took[OURS]
    for name, found in took.items():
        seconds = median(each.seconds for each in found)
        ratio = median(a.seconds / b.seconds for a, b in zip(ours, found, strict=True))
        cpu, peak = median(each.cpu for each in found), max(each.peak for each in found)
        print(
            f"{name:28}{seconds:10.2f}{cpu:10.2f}{lines / seconds:13,.0f}{ratio:11.1f}x"
            f"{peak / 1e6:10.0f}"
        )
