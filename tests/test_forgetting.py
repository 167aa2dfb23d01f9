"""What leaves the store: it stays small whatever comes in, and what is to be forgotten is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from miqps import settings
from miqps.mapping import Verdict
from miqps.store import JournalEntry, Observation, Store, forgetting
from miqps.trial import Trial

SITE = "shop.example"
SMALL = replace(
    settings.CORPUS,
    urls_per_context=24,
    least_urls_per_context=6,
    urls=300,
    contexts=40,
    contexts_per_site=20,
)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(settings, "CORPUS", SMALL)
    monkeypatch.setattr("miqps.store.corpus._CHECK_EVERY", 1)
    with Store.open(tmp_path / "miqps.db") as opened:
        yield opened


def count(store: Store, table: str) -> int:
    return store._file.rows(f"SELECT count(*) FROM {table}")[0][0]  # type: ignore[return-value]


def judge(store: Store, site: str) -> None:
    (context,) = store.corpus.contexts(site)
    run = store.journal.begin("{}")
    url = store.corpus.urls_of(context.id)[0]
    trial = Trial(url, frozenset({"id"}), "different", "it changed", "id")
    store.evidence.save(run, context, [trial], [Verdict("id", "important", "x", 1, 1, 1)])
    store.journal.save(run, JournalEntry(url, 0, "seen", "", 200, 1.5, b"page"))


def test_a_site_that_makes_names_up_does_not_push_the_others_out(store: Store) -> None:
    store.corpus.add([Observation("http://calm.example/p?id=1")])
    store.corpus.add([Observation(f"http://{SITE}/p?id=1", hits=5)])
    for n in range(100):
        store.corpus.add([Observation(f"http://{SITE}/p?{n}=1")])
    assert len(store.corpus.contexts(SITE)) <= SMALL.contexts_per_site
    assert store.corpus.contexts(SITE)[0].context.names == ("id",)
    assert len(store.corpus.contexts("calm.example")) == 1
    kept = sum(context.hits for context in store.corpus.contexts(SITE))
    ((contexts, hits),) = store._file.rows("SELECT contexts, hits FROM forgotten")
    assert kept + hits == 105  # type: ignore[operator]
    assert contexts == hits


def test_the_least_seen_contexts_go_first_and_a_judged_one_never(store: Store) -> None:
    store.corpus.add([Observation("http://judged.example/p?id=1")])
    judge(store, "judged.example")
    for n in range(200):
        store.corpus.add([Observation(f"http://site{n}.example/p?id=1", hits=1 + n % 3)])
    assert count(store, "contexts") <= SMALL.contexts
    assert len(store.corpus.contexts("judged.example")) == 1
    assert count(store, "sites") == count(store, "contexts")
    ((hits,),) = store._file.rows("SELECT min(hits) FROM contexts WHERE judged IS NULL")
    assert hits > 1  # type: ignore[operator]


def test_when_there_are_too_many_urls_every_context_keeps_fewer(store: Store) -> None:
    for site in range(30):
        store.corpus.add(Observation(f"http://site{site}.example/p?id={n}") for n in range(40))
    assert count(store, "urls") <= SMALL.urls
    per_site = [len(store.corpus.urls_of(c.id)) for s in store.corpus.sites()
                for c in store.corpus.contexts(s)]  # fmt: skip
    assert len(per_site) == 30
    assert set(per_site) == {SMALL.urls_per_context // 4}
    # And one that comes later is treated like the others.
    store.corpus.add(Observation(f"http://late.example/p?id={n}") for n in range(40))
    assert store.corpus.contexts("late.example")[0].urls == SMALL.urls_per_context // 4


def test_what_was_not_seen_for_long_goes_with_its_evidence(store: Store) -> None:
    long_ago = "2001-01-01T00:00:00Z"
    store.corpus.add([Observation("http://old.example/p?id=1", seen=long_ago)])
    judge(store, "old.example")
    store._file.db.execute("UPDATE renders SET rendered = ?", [long_ago])
    store._file.db.conn.commit()
    store.corpus.add(
        [
            Observation(f"http://{SITE}/p?id=1", seen=long_ago),
            Observation(f"http://{SITE}/p?id=2"),
        ]
    )
    assert forgetting.forget_older(store._file, 30) == 1
    assert store.corpus.sites() == [SITE]
    (context,) = store.corpus.contexts(SITE)
    assert store.corpus.urls_of(context.id) == [f"http://{SITE}/p?id=2"]
    assert [count(store, t) for t in ("trials", "verdicts", "renders")] == [0, 0, 0]
    assert forgetting.forget_older(store._file, 30) == 0


def test_a_site_that_is_forgotten_is_gone_everywhere(store: Store) -> None:
    store.corpus.add([Observation(f"HTTP://Me.example/p?id={n}") for n in range(3)])
    judge(store, "me.example")
    store.corpus.add([Observation("http://not-me.example/p?id=1")])
    assert forgetting.forget_site(store._file, "me.example") == 1
    assert forgetting.forget_site(store._file, "me.example") == 0
    dump = "\n".join(store._file.db.conn.iterdump())
    assert "/p?id=" in dump
    assert "//me.example" not in dump.lower()
    assert store.corpus.sites() == ["not-me.example"]
