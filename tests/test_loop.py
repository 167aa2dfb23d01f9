"""The whole loop: a real mitmdump, a real browser, a real site; the site's own log is the truth."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from miqps import Normalizer
from miqps.rehearsal import (
    HOST,
    ROOT,
    browsing,
    free_port,
    mitmdump,
    person,
    sample_site,
    serving,
    wait_for,
)
from miqps.settings import PROBER_TOKEN
from miqps.store import Store

SITE = ROOT / "data" / "sample_site"

PRODUCTS = (1007, 1012, 1019, 1023)
ARTICLES = (50211, 50230, 50249, 50268)
THREADS = (8101, 8107, 8114, 8120)
AGENCIES = ("courier", "goalwire", "marketline", "nordpress")

RECORDED = [
    *(f"/shop/product?id={n}&ref=r{n}&sid={n}a{n}b" for n in PRODUCTS),
    *(f"/news/article?fbclid=IwAR{n}x{n}&id={n}" for n in ARTICLES),
    *(f"/news/wire?source={s}&ref=r{s}&utm_source=u{s}" for s in AGENCIES),
    *(f"/forum/thread?t={n}&gclid=G{n}h{n}&sort=newest" for n in THREADS),
    *(f"/?utm_source=u{n}&utm_medium=m{n}" for n in range(4)),
]
DEEDS = ["/shop/cart/add?id=1007&sid=1", "/forum/logout?sid=1", "/forum/vote?post=1&dir=up"]

AGAIN = [
    "/shop/product?id=1044&ref=other&sid=never%20seen",
    "/shop/product?sid=%7Bx%7D&ref=a=b&&id=1072",
    "/news/article?id=50288&%66bclid=encoded%2Fname",
    "/news/wire?utm_source=x&source=courier&ref=y",
    "/forum/thread?gclid=z&t=8126&sort=newest",
    "/?utm_medium=m&utm_source=u",
]
UNKNOWN = [
    "/shop/product?id=1044&ref=other&unknown=1",
    "/shop/search?q=mug&ref=nobody-knows-this-pattern",
]


def neutral_names() -> set[tuple[str, str]]:
    """(path, parameter) of everything that the site says does not matter."""
    with (SITE / "truth.tsv").open() as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return {(r["path"], r["parameter"]) for r in rows if r["truth"] == "neutral"}


def without_neutral(target: str) -> str:
    """What must reach the server, worked out without any code of the project."""
    path, _, query = target.partition("?")
    gone = {name for where, name in neutral_names() if where == path}
    kept = [i for i in query.split("&") if i.partition("=")[0].replace("%66", "f") not in gone]
    return f"{path}?{'&'.join(kept)}" if kept else path


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[dict]:
    port, proxy_port = free_port(), free_port()
    requests, db, said = tmp_path / "requests.jsonl", tmp_path / "miqps.db", tmp_path / "mitm.log"
    # Just these pages: what their links would add is known elsewhere.
    proxy = mitmdump(proxy_port, db, tmp_path, "miqps_harvest=off")
    with (
        serving(sample_site(port, requests), port, tmp_path / "site.log"),
        serving(proxy, proxy_port, said),
        browsing(proxy_port) as visit,
    ):

        def reached(target: str) -> list[str]:
            """Opens a page; gives the pages that reached the site, as it logged them."""
            before = len(requests.read_text().splitlines())
            visit(f"http://{HOST}:{port}{target}")
            lines = map(json.loads, requests.read_text().splitlines()[before:])
            targets = [line["target"] for line in lines]
            return [t for t in targets if "picture" not in t and "/static/" not in t]

        yield {
            "site": f"{HOST}:{port}",
            "db": db,
            "requests": requests,
            "said": said,
            "reached": reached,
        }


def test_record_probe_publish_rewrite(loop: dict, script, tmp_path: Path) -> None:
    reached, db = loop["reached"], loop["db"]

    # Record: while nothing is known, nothing is changed.
    for target in [*RECORDED, *DEEDS]:
        assert reached(target) == [target]

    def recorded() -> int:
        if not db.exists():
            return 0
        with Store.open(db) as store:
            return sum(context.urls for context in store.corpus.contexts(loop["site"]))

    assert wait_for(lambda: recorded() == len(RECORDED), 10), recorded()

    # Probe: as its own process; the proxy goes on.
    probed = script("probe.py", "--db", db, "--json", cwd=tmp_path)
    assert probed.returncode == 0, probed.stderr
    summary = json.loads(probed.stdout)
    assert (summary["version"], summary["judged"]) == (1, 5)

    # No deed was ever replayed, and the prober said who it is.
    lines = [json.loads(line) for line in loop["requests"].read_text().splitlines()]
    replayed = [line["target"] for line in lines if PROBER_TOKEN in line["user_agent"]]
    assert len(replayed) >= summary["renders"]
    assert not [t for t in replayed if re.search("cart|logout|vote|unsubscribe", t)]

    # Publish: the running proxy takes it up by itself.
    assert wait_for(lambda: "map version 1" in loop["said"].read_text(), 2.5)

    # Rewrite: neutral parameters are gone, and every other byte is as it was.
    for target in AGAIN:
        assert without_neutral(target) != target
        assert reached(target) == [without_neutral(target)]
    for unknown in UNKNOWN:
        assert reached(unknown) == [unknown]

    # The library does as the proxy does.
    normalizer = Normalizer.load(db)
    for target in AGAIN:
        url = f"http://{loop['site']}{target}"
        assert normalizer.clean(url) == f"http://{loop['site']}{without_neutral(target)}"

    # The report of all this opens in a browser, with its pictures.
    report = tmp_path / "report.html"
    told = script("report.py", "--db", db, "--out", report, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    with person() as driver:
        driver.get(report.as_uri())
        widths = driver.execute_script("return [...document.images].map(i => i.naturalWidth)")
        assert len(widths) >= 15
        assert min(widths) > 0
        assert driver.get_log("browser") == []

    # What was recorded after the map was published is what people asked for, not what was left.
    with Store.open(db) as store:
        product = next(c for c in store.corpus.contexts(loop["site"]) if "sid" in c.context.names)
        assert any("never%20seen" in url for url in store.corpus.urls_of(product.id))
