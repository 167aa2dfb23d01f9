"""The map while its site changes: real runs in a real browser, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from miqps import content_id
from miqps.browser import Browser
from miqps.engines.local import LocalEngine
from miqps.planning import Plan, agenda
from miqps.probe import Prober
from miqps.publish import Published, publish
from miqps.rehearsal import HOST, free_port, sample_site, serving
from miqps.settings import JUDGING
from miqps.store import Observation, Store

PRODUCTS = [f"/shop/product?id={n}&ref=r{n}" for n in (1007, 1012, 1019, 1023)]
WIRE = [f"/news/wire?source={s}&gclid=g{s}" for s in ("courier", "goalwire", "marketline")]


class Life:
    """One store, one site at one address, and what comes of it from run to run."""

    def __init__(self, store: Store, engine: LocalEngine, folder: Path) -> None:
        self.store, self._engine, self._folder = store, engine, folder
        self._port = free_port()
        self.site = f"{HOST}:{self._port}"

    def record(self, *targets: str) -> None:
        self.store.corpus.add(Observation(f"http://{self.site}{target}") for target in targets)

    def run(self, change: str = "", *, again: bool = True) -> Published:
        """Probe the site as it is after a change, and publish."""
        command = sample_site(self._port, self._folder / "requests.jsonl")
        command += ["--change", change] if change else []
        with serving(command, self._port, self._folder / "site.log"):
            run = Prober(self.store, self._engine, self.plan(again=again)).run()
        return publish(self.store, run, JUDGING)

    @staticmethod
    def plan(*, again: bool = False) -> Plan:
        return Plan(content_id="dom", again=again)

    def due(self) -> list[str]:
        return [stored.context.path for stored, _ in agenda(self.store, self.plan())]

    def forget(self, path: str) -> None:
        with self.store._file.writing() as db:
            db.execute("DELETE FROM contexts WHERE path = ?", [path])

    def known(self) -> dict[str, str]:
        newest = self.store.maps.newest()
        assert newest is not None
        return {
            f"{c.context.path} {v.name}": v.decision
            for c in newest.sites[self.site].contexts
            for v in c.verdicts
        }


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Life]:
    start = partial(Browser, needs=content_id.get("dom").needs)
    with LocalEngine(2, start) as engine, Store.open(tmp_path / "miqps.db") as store:
        yield Life(store, engine, tmp_path)


def test_a_site_that_changes_breaks_and_comes_back(told: Life) -> None:
    told.record(*PRODUCTS, *WIRE)
    told.run()
    at_first = {
        "/shop/product id": "important",
        "/shop/product ref": "neutral",
        "/news/wire source": "important",
        "/news/wire gclid": "neutral",
    }
    assert told.known() == at_first

    # One page for all: nothing was seen, so nothing may go that did not go before.
    told.run("closed")
    assert {name for name, said in told.known().items() if said == "neutral"} <= {
        name for name, said in at_first.items() if said == "neutral"
    }

    # A name matters from now on, and is kept at once. Another seems to matter no longer, on half
    # the site: refused.
    published = told.run("stuck")
    (refused,) = [d for d in published.decisions if not d.accepted]
    assert (refused.lost, refused.contexts) == (1, 2)
    assert told.store.maps.decisions(told.site)[0] == refused
    assert told.known()["/shop/product ref"] == "important"
    assert told.known()["/shop/product id"] != "neutral"

    # What was held back is looked at again without being asked for, and the site is well.
    assert told.due() == ["/shop/product"]
    told.run("sellers", again=False)
    assert told.known()["/shop/product id"] == "important"
    assert told.due() == []

    # A pattern that vanishes leaves the map, and returns to what was known of it.
    told.forget("/shop/product")
    publish(told.store, None, JUDGING)
    assert {name.partition(" ")[0] for name in told.known()} == {"/news/wire"}
    told.record(*PRODUCTS)
    published = told.run("stuck", again=False)
    assert [(d.lost, d.accepted) for d in published.decisions] == [(1, False)]
    assert "/shop/product id" not in told.known()

    # A person knows better than any gate.
    publish(told.store, None, JUDGING, accept=[told.site])
    assert told.known()["/shop/product id"] == "neutral"
