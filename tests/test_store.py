"""The store: what is kept, who may read it, and what is said when the file cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from miqps import settings
from miqps.mapping import ContextVerdicts, Map, SiteMap, Verdict
from miqps.store import JournalEntry, Observation, Store, StoreError
from miqps.store.maps import Edition
from miqps.store.schema import migrations
from miqps.trial import Trial
from miqps.urls import Context

SITE = "shop.example"


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "miqps.db") as opened:
        yield opened


def seen(*urls: str, **more: object) -> list[Observation]:
    return [Observation(url, **more) for url in urls]  # type: ignore[arg-type]


def test_the_file_is_for_its_owner_only_and_in_wal_mode(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        with Store.open(tmp_path / "deep" / "miqps.db") as store:
            store.corpus.add(seen("http://shop.example/p?id=1"))
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "deep").iterdir()}
    finally:
        os.umask(previous)
    assert set(modes.values()) == {0o600}
    assert "miqps.db-wal" in modes


def test_urls_are_grouped_into_contexts_and_counted(store: Store) -> None:
    new = store.corpus.add(
        seen(
            "http://shop.example/p?id=1&utm_source=a",
            "http://shop.example/p?utm_source=b&id=2",
            "http://shop.example/p?id=1&utm_source=a",
            "http://shop.example/p",
            "not a url",
        )
    )
    assert new == 2
    (context,) = store.corpus.contexts(SITE)
    assert context.context == Context(SITE, "/p", ("id", "utm_source"))
    assert (context.hits, context.urls) == (3, 2)
    assert store.corpus.urls_of(context.id)[0] == "http://shop.example/p?id=1&utm_source=a"


def test_a_context_keeps_so_many_urls_and_counts_all(store: Store) -> None:
    limit = settings.CORPUS.urls_per_context
    assert store.corpus.add(seen(*(f"http://shop.example/p?id={n}" for n in range(2_000)))) == limit
    store.corpus.add(seen(*(f"http://shop.example/p?id=x{n}" for n in range(50))))
    (context,) = store.corpus.contexts(SITE)
    assert (context.urls, context.hits) == (limit, 2_050)


def test_what_is_kept_depends_on_neither_order_nor_batches(tmp_path: Path) -> None:
    urls = [f"http://shop.example/p/{n % 500}?id={n % 333}&ref={n % 7}" for n in range(3_000)]
    kept = []
    for number, batch in enumerate((3_000, 37, 1_000)):
        ordered = sorted(urls, key=lambda url: hash((url, number)))
        with Store.open(tmp_path / f"{number}.db") as store:
            for start in range(0, len(ordered), batch):
                store.corpus.add(seen(*ordered[start : start + batch]))
            (context,) = store.corpus.contexts(SITE)
            kept.append((context.hits, store.corpus.urls_of(context.id)))
    assert kept[0] == kept[1] == kept[2]
    assert len(kept[0][1]) <= settings.CORPUS.urls_per_context


def test_a_batch_that_fails_is_as_if_it_had_never_been(store: Store) -> None:
    first = [f"http://shop.example/p?id={n}" for n in range(200)]
    store.corpus.add(seen(*first))
    (context,) = store.corpus.contexts(SITE)
    before = store.corpus.urls_of(context.id)

    def breaking() -> Iterator[Observation]:
        yield from seen(*(f"http://shop.example/p?id=x{n}" for n in range(200)))
        raise KeyboardInterrupt

    with sqlite3.connect(store.path) as db:
        db.execute(
            "CREATE TRIGGER poison BEFORE DELETE ON urls BEGIN SELECT raise(ABORT, 'poisoned'); END"
        )
    with pytest.raises(KeyboardInterrupt):
        store.corpus.add(breaking())
    with pytest.raises(StoreError):
        store.corpus.add(seen(*(f"http://shop.example/p?id=x{n}" for n in range(200))))
    with sqlite3.connect(store.path) as db:
        db.execute("DROP TRIGGER poison")
    db.close()
    assert store.corpus.urls_of(context.id) == before
    store.corpus.add(seen(*(f"http://shop.example/p?id=x{n}" for n in range(200))))
    with Store.open(str(store.path) + "2") as other:
        other.corpus.add(seen(*first, *(f"http://shop.example/p?id=x{n}" for n in range(200))))
        (context2,) = other.corpus.contexts(SITE)
        assert other.corpus.urls_of(context2.id) == store.corpus.urls_of(context.id)


def test_a_visit_outweighs_a_mention(store: Store) -> None:
    url = "http://shop.example/p?id=1"
    store.corpus.add([Observation(url, visited=False), Observation(url), Observation(url, False)])
    with sqlite3.connect(store.path) as db:
        assert db.execute("SELECT visited, hits FROM urls").fetchall() == [(1, 3)]
    db.close()


def test_paths_that_turn_out_to_be_variables_fall_together(store: Store) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [f"{a}{b}ship" for a in letters for b in "aeiou"]
    store.corpus.add(seen(*(f"http://shop.example/wiki/{word}?ref=a" for word in words)))
    assert len(store.corpus.contexts(SITE)) == len(words)
    assert store.corpus.learn_paths(SITE)
    (context,) = store.corpus.contexts(SITE)
    assert (context.context.path, context.hits) == ("/wiki/*", len(words))
    assert settings.CORPUS.urls_per_context / 2 <= context.urls <= settings.CORPUS.urls_per_context
    assert not store.corpus.learn_paths(SITE)
    store.corpus.add(seen("http://shop.example/wiki/another?ref=a"))
    assert len(store.corpus.contexts(SITE)) == 1


def test_evidence_and_verdicts_come_back_as_they_were(store: Store) -> None:
    store.corpus.add(seen("http://shop.example/p?id=1&=2"))
    (context,) = store.corpus.contexts(SITE)
    run = store.journal.begin("{}")
    trials = [
        Trial("http://shop.example/p?id=1&=2", frozenset({"id"}), "different", "it changed", "id"),
        Trial("http://shop.example/p?id=1&=2", frozenset({"", "id"}), "same", "", None, "ff", True),
        Trial("http://shop.example/p?id=1&=2", frozenset({""}), "invalid", "status 404", ""),
    ]
    verdicts = (Verdict("", "neutral", "no change", 3, 3), Verdict("id", "important", "x", 1, 1, 1))
    store.evidence.save(run, context, trials, verdicts)
    assert store.evidence.trials(context.id) == trials
    assert store.evidence.verdicts(SITE) == (ContextVerdicts(context.context, verdicts),)
    (context,) = store.corpus.contexts(SITE)
    assert context.judged_urls == 1


def test_a_context_of_which_nothing_was_seen_stays_due(store: Store) -> None:
    store.corpus.add(seen("http://shop.example/p?id=1"))
    (context,) = store.corpus.contexts(SITE)
    trial = Trial("http://shop.example/p?id=1", frozenset(), "invalid", "status 500")
    run = store.journal.begin("{}")
    store.evidence.save(run, context, [trial], [Verdict("id", "undecided", "status 500")])
    (context,) = store.corpus.contexts(SITE)
    assert context.judged_urls == 0


def test_a_run_that_was_cut_off_is_taken_up_and_a_finished_one_is_not(store: Store) -> None:
    run = store.journal.begin('{"S": 1}')
    store.journal.save(run, JournalEntry("http://a/", 0, "seen", "", 200, 1.5, b"page"))
    assert store.journal.begin('{"S": 1}') == run
    assert store.journal.page(run, "http://a/", 0) == b"page"
    assert store.journal.page(run, "http://a/", 1) is None
    store.journal.finish(run)
    assert store.journal.page(run, "http://a/", 0) is None
    assert store.journal.begin('{"S": 1}') == run + 1
    assert store.journal.begin('{"S": 2}') == run + 2


def test_maps_are_kept_by_version(store: Store) -> None:
    assert (store.maps.version(), store.maps.newest()) == (0, None)
    context = ContextVerdicts(Context(SITE, "/p", ("a",)), (Verdict("a", "neutral", "r", 3, 3),))
    for version in (1, 2):
        sites = {SITE: SiteMap(SITE, (context,), frozenset({"/wiki"}))}
        store.maps.publish(Edition(Map(version, "2026-01-01T00:00:00Z", sites), "note"))
    newest = store.maps.newest()
    assert newest is not None
    assert (newest.version, dict(newest.sites)) == (2, sites)


def test_a_failed_write_leaves_nothing_behind(store: Store) -> None:
    def poisoned():
        yield Observation("http://shop.example/p?id=1")
        raise RuntimeError("the line ends here")

    with pytest.raises(RuntimeError):
        store.corpus.add(poisoned())
    assert store.corpus.sites() == []
    store.corpus.add(seen("http://shop.example/p?id=1"))
    assert store.corpus.sites() == [SITE]


def test_two_processes_worth_of_writers_wait_for_each_other(store: Store, tmp_path: Path) -> None:
    def write(who: int) -> None:
        with Store.open(store.path) as mine:
            for n in range(20):
                mine.corpus.add(seen(f"http://shop.example/p?id={who}-{n}"))

    threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.corpus.contexts(SITE)[0].urls == 80


def test_a_new_file_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def open_it() -> None:
        try:
            Store.open(tmp_path / "new.db").close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_file_of_the_first_version_is_taken_over(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as old:
        migrations.apply(Database(old), stop_before="bounded_corpus")
        old.executescript(
            """
            INSERT INTO sites VALUES (1, 'shop.example', '[]', 'a', 'b');
            INSERT INTO contexts VALUES (5, 1, '/p', '["id"]', 3, 'a', 'b', NULL, 0);
            INSERT INTO urls VALUES (9, 5, 'http://shop.example/p?id=1', 2, 1, 'a', 'b');
            INSERT INTO runs (id, started, settings) VALUES (1, 'a', '{}');
            INSERT INTO verdicts VALUES (5, 'id', 'neutral', '', 1, 1, 0, 1, 'a');
            """
        )
    with Store.open(tmp_path / "old.db") as store:
        store.corpus.add(seen("http://shop.example/p?id=1", "http://shop.example/p?id=2"))
        (context,) = store.corpus.contexts(SITE)
        assert (context.id, context.hits, context.urls) == (5, 5, 2)
        assert store.corpus.urls_of(5)[0] == "http://shop.example/p?id=1"
        assert store.evidence.verdicts(SITE)[0].verdicts[0].name == "id"
    with closing(sqlite3.connect(tmp_path / "old.db")) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as old:
        migrations.apply(Database(old), stop_before="bounded_corpus")
        # In the way of the new tables.
        old.execute("CREATE TABLE answers (x)")
        old.commit()
        before = old.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    with pytest.raises(StoreError):
        Store.open(tmp_path / "old.db")
    with closing(sqlite3.connect(tmp_path / "old.db")) as db:
        assert db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall() == before


SCHEMA = {
    "answers": "url_id status title canonical cookies_sent fingerprint seen",
    "bounds": "name value",
    "circles": "id context_id times seen",
    "contexts": "id site_id kind path names hits first_seen last_seen judged judged_urls drifted",
    "evidence": "site path names url removed on_wire outcome blamed reason swapped run_id",
    "forgotten": "reason contexts hits",
    "gate": "id run_id site accepted contexts lost reason decided",
    "gate_changes": "id gate_id path names name accepted reason",
    "gate_decisions": "decided site accepted contexts lost reason run_id path names name"
    " change_accepted change_reason",
    "imported_sites": "site body source imported",
    "imports": "digest bytes entries added",
    "lists": "name format site body imported",
    "map_versions": "version created note bytes",
    "maps": "version created note body",
    "mattered": "id site path names name on_wire in_key run_id doubted asked noted",
    "pins": "id site path name action pinned",
    "no_vary_search": "id site path header seen",
    "parameters": "site path names name decision key_decision reason samples distinct_values"
    " mismatches decided",
    "renders": "id run_id url sent repeat outcome reason status milliseconds rendered page",
    "runs": "id started finished settings renders shared",
    "site_summary": "site contexts urls hits neutral important undecided",
    "sites": "id site open_prefixes first_seen last_seen",
    "thumbnails": "id trial_id kind image",
    "trials": "id run_id context_id url removed outcome reason blamed look swapped on_wire",
    "urls": "id context_id url hits visited redacted last_seen",
    "verdicts": "context_id name decision reason samples distinct_values mismatches run_id decided"
    " key_decision",
}


def test_the_schema_is_what_is_documented(store: Store) -> None:
    with sqlite3.connect(store.path) as db:
        names = [
            name
            for (name,) in db.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
                " AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'"
            )
        ]
        found = {
            name: " ".join(row[1] for row in db.execute(f"PRAGMA table_info({name})"))
            for name in names
        }
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    db.close()
    assert found == SCHEMA


def test_site_summary_counts_each_thing_once(store: Store) -> None:
    store.corpus.add(
        seen(*(f"http://shop.example/{p}?a={n}&b={n}" for p in "pq" for n in range(3)))
    )
    run = store.journal.begin("{}")
    for context in store.corpus.contexts(SITE):
        verdicts = (Verdict("a", "neutral", "r", 3, 3), Verdict("b", "important", "r", 1, 1, 1))
        store.evidence.save(run, context, [], verdicts)
    with sqlite3.connect(store.path) as db:
        row = db.execute("SELECT * FROM site_summary").fetchone()
    db.close()
    assert row == (SITE, 2, 6, 6, 2, 2, 0)


# --- files that cannot be used ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: None, "no such database"),
        (lambda p: p.write_text("hello, this is no database at all" * 50), "not a SQLite database"),
        (lambda p: p.mkdir(), "cannot be written"),
    ],
    ids=["missing", "no database", "a folder"],
)
def test_a_bad_file_is_named_in_one_line(tmp_path: Path, make, said: str) -> None:
    path = tmp_path / "bad.db"
    make(path)
    with pytest.raises(StoreError) as error:
        Store.open(path, create=False)
    assert str(error.value).startswith(f"{path}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "miqps.db"
    with Store.open(path) as store:
        store.corpus.add(seen(*(f"http://shop.example/p?id={n}" for n in range(300))))
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"), Store.open(path) as store:
        store.corpus.contexts(SITE)


def test_a_locked_file_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = sqlite3.connect(store.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    store.corpus._file.db.execute("PRAGMA busy_timeout = 50")
    try:
        with pytest.raises(StoreError, match="locked by another process"):
            store.corpus.add(seen("http://shop.example/p?id=1"))
    finally:
        holder.rollback()
        holder.close()
    assert store.corpus.add(seen("http://shop.example/p?id=1")) == 1
