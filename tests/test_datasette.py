"""The prober on a web application that nobody here wrote: Datasette, with a small database.

On Datasette's table pages every name without a leading underscore is a column filter, so there
`utm_source=x` empties the table and matters; on row, database and index pages it does not.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from miqps import Normalizer, query
from miqps.rehearsal import HOST, free_port, serving

TRACKERS = ("utm_source", "utm_campaign", "gclid", "fbclid")


def tracked(path: str, n: int, own: str = "") -> str:
    """A link as a mailing would carry it, with values that differ from link to link."""
    if own:
        return f"{path}?{own}&utm_source=mail{n}&gclid=Cj{n}KC{n}Qjw8fr{n}"
    tags = f"utm_source=mail{n}&utm_campaign=week{n}&gclid=Cj{n}KC{n}Qjw8fr{n}&fbclid=IwAR{n}ab{n}c"
    return f"{path}?{tags}"


OWN = {
    "_sort": ["name", "price", "kind", "id"],
    "kind": ["book", "tool", "toy", "none"],
}
TABLE_PAGES = [
    *(tracked("/shop/things", n, f"{k}={vs[n % 4]}") for k, vs in OWN.items() for n in range(6)),
    *(tracked("/shop/plain", n, f"_sort={v}") for n, v in enumerate(("a", "b", "rowid", "a"))),
    *(tracked("/shop/things", n) for n in range(4)),
]
ROW_PAGES = [tracked(f"/shop/things/{n}", n) for n in range(1, 7)]
INDEX_PAGES = [tracked("/", n) for n in range(5)]
DATABASE_PAGES = [tracked("/shop", n) for n in range(5)]
URLS = [*TABLE_PAGES, *ROW_PAGES, *INDEX_PAGES, *DATABASE_PAGES]


def make_database(path: Path) -> None:
    words = ["river", "stone", "garden", "lamp", "clock"]
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, price INT)")
        db.executemany(
            "INSERT INTO things (name, kind, price) VALUES (?, ?, ?)",
            [
                (f"{words[n % 5]} {97 * n % 100}", ("book", "tool", "toy")[n % 3], 31 * n % 80)
                for n in range(60)
            ],
        )
        # Datasette knows a search index by this spelling.
        db.execute('CREATE VIRTUAL TABLE things_fts USING fts5(name, content="things")')
        db.execute("INSERT INTO things_fts (rowid, name) SELECT id, name FROM things")
        db.execute("CREATE TABLE plain (a TEXT, b TEXT)")
        rows = [(str(7 * n % 9), str(n)) for n in range(9)]
        db.executemany("INSERT INTO plain VALUES (?, ?)", rows)
    db.close()


@pytest.fixture
def datasette(tmp_path: Path) -> Iterator[str]:
    database = tmp_path / "shop.db"
    make_database(database)
    port = free_port()
    command = [sys.executable, "-m", "datasette", "serve", "-i", str(database)]
    command += ["-h", HOST, "-p", str(port), "--setting", "suggest_facets", "off"]
    with serving(command, port, tmp_path / "datasette.log"):
        yield f"http://{HOST}:{port}"


def test_nothing_that_matters_is_dropped_and_trackers_go(
    datasette: str, script, tmp_path: Path
) -> None:
    assert len(URLS) >= 36
    db, listed = tmp_path / "miqps.db", tmp_path / "urls.txt"
    listed.write_text("".join(f"{datasette}{url}\n" for url in URLS))
    assert script("corpus.py", "add", listed, "--db", db, cwd=tmp_path).returncode == 0
    probed = script("probe.py", "--db", db, "--samples", "3", "--json", cwd=tmp_path)
    assert probed.returncode == 0, probed.stderr
    assert json.loads(probed.stdout)["judged"] == 7

    normalizer = Normalizer.load(db)
    for url in TABLE_PAGES:
        kept = set(query.names(normalizer.clean(datasette + url)))
        assert kept >= set(query.names(url)), f"dropped from {url}"
    for url in (*ROW_PAGES, *INDEX_PAGES, *DATABASE_PAGES):
        cleaned = normalizer.clean(datasette + url)
        assert cleaned == datasette + url.partition("?")[0], f"left in {url}"
    assert set(TRACKERS) == set(query.names(INDEX_PAGES[0]))
