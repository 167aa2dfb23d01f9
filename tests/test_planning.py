"""What is judged, and in which order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from miqps import settings
from miqps.mapping import ContextVerdicts, Map, SiteMap, Verdict
from miqps.planning import Plan, agenda
from miqps.store import Observation, Store, file
from miqps.store.maps import Edition
from miqps.trial import Trial
from miqps.urls import Context
from tests.imagined import SITE


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "miqps.db") as opened:
        yield opened


def add(store: Store, target: str, hits: int, site: str = SITE) -> None:
    store.corpus.add([Observation(f"{site}{target}", hits=hits)])


def decide(store: Store, plan: Plan, path: str, days_ago: float = 0, **decisions: str) -> None:
    """Store a judgement of a context, as if it had been made so many days ago."""
    run = store.journal.begin(plan.as_settings())
    (stored,) = (c for c in store.corpus.contexts("shop.example") if c.context.path == path)
    trial = Trial(url=f"{SITE}{path}", removed=frozenset(decisions), outcome="same", reason="")
    verdicts = [
        Verdict(name, decision, "", 3, 3, 0)  # type: ignore[arg-type]
        for name, decision in decisions.items()
    ]
    store.evidence.save(run, stored, [trial], verdicts)
    with store._file.writing() as db:
        when = file.days_ago(days_ago)
        db.execute("UPDATE contexts SET judged = ? WHERE id = ?", [when, stored.id])


def paths(store: Store, plan: Plan | None = None) -> list[str]:
    return [
        f"{stored.context.site}{stored.context.path}" for stored, _ in agenda(store, plan or Plan())
    ]


def test_traffic_times_unknown_parameters_comes_first(store: Store) -> None:
    add(store, "/busy?a=1", 10)
    add(store, "/wide?a=1&b=2&c=3", 4)
    add(store, "/tagged?utm_source=1&gclid=2&fbclid=3&a=4", 9)
    add(store, "/tags?utm_source=1&utm_medium=2", 1_000)
    add(store, "/more-tags?utm_source=1&utm_medium=2", 2_000)
    found = [path.partition("/")[2] for path in paths(store)]
    assert found == ["wide", "busy", "tagged", "more-tags", "tags"]


def test_what_is_decided_counts_no_more(store: Store) -> None:
    add(store, "/p?a=1&b=2&c=3", 10)
    add(store, "/q?a=1", 15)
    add(store, "/r?a=1&b=2", 14)
    assert [p[-1] for p in paths(store)] == ["p", "r", "q"]
    decide(store, Plan(), "/p", a="important", b="neutral", c="undecided")
    add(store, "/p?a=2&b=3&c=4", 0)
    assert [p[-1] for p in paths(store)] == ["r", "q", "p"]
    another_eye = Plan(content_id="dom")
    assert [p[-1] for p in paths(store, another_eye)] == ["p", "r", "q"]


def test_sites_take_turns_the_one_with_the_most_to_win_first(store: Store) -> None:
    for n in range(3):
        add(store, f"/{'xyz'[n]}?a=1", 50 - n)
        add(store, f"/{'xyz'[n]}?a=1", 60 - n, "http://b.example")
        add(store, f"/{'xyz'[n]}?a=1", 55 - 10 * n, "http://c.example")
    assert paths(store) == [
        *("b.example/x", "c.example/x", "shop.example/x"),
        *("b.example/y", "shop.example/y", "c.example/y"),
        *("b.example/z", "shop.example/z", "c.example/z"),
    ]


def test_only_the_most_valuable_contexts_of_a_site_are_taken(store: Store) -> None:
    add(store, "/busy?a=1", 10)
    add(store, "/wide?a=1&b=2&c=3", 4)
    plan = Plan(rules=replace(settings.JUDGING, top_patterns=1))
    assert paths(store, plan) == ["shop.example/wide"]


@pytest.mark.parametrize(
    ("days_ago", "stale", "due"),
    [(40, None, False), (40, 30, True), (20, 30, False), (1, 0, True)],
)
def test_old_verdicts_are_judged_again_when_that_is_wanted(
    store: Store, days_ago: float, stale: float | None, due: bool
) -> None:
    add(store, "/p?a=1", 1)
    decide(store, Plan(), "/p", days_ago, a="neutral")
    assert bool(paths(store, Plan(stale=stale))) is due


def test_what_an_older_judge_said_is_stale_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, "/p?a=1", 1)
    decide(store, Plan(), "/p", a="neutral")
    assert paths(store, Plan(stale=30)) == []
    monkeypatch.setattr("miqps.planning.JUDGE", settings.JUDGE + 1)
    assert paths(store, Plan(stale=30)) == ["shop.example/p"]
    assert paths(store, Plan()) == []
    decide(store, Plan(), "/p", a="neutral")
    assert paths(store, Plan(stale=30)) == []


def test_judgements_from_before_judges_were_counted_are_stale(store: Store) -> None:
    add(store, "/p?a=1", 1)
    decide(store, Plan(), "/p", a="neutral")
    with store._file.writing() as db:
        db.execute("""UPDATE runs SET settings = '{"content_id": "visual"}'""")
    assert paths(store, Plan(stale=30)) == ["shop.example/p"]
    assert paths(store, Plan()) == []


def test_a_run_goes_on_under_another_budget(store: Store) -> None:
    plan = Plan(max_renders=5, max_minutes=1, delay=2)
    assert plan.as_settings() == Plan().as_settings()
    assert Plan(stale=30).as_settings() != Plan().as_settings()
    assert Plan(hosts=("shop.example",)).as_settings() != Plan().as_settings()


def test_what_the_published_map_says_to_matter_is_guessed_first(store: Store) -> None:
    store.corpus.add(Observation(f"http://a.example/p?id={n}&ref=r{n}") for n in range(4))
    assert [task.known for _, task in agenda(store, Plan())] == [frozenset()]
    context = Context("a.example", "/q", ("id", "sort"))
    verdicts = (Verdict("id", "important", ""), Verdict("sort", "neutral", ""))
    site = SiteMap("a.example", (ContextVerdicts(context, verdicts),))
    store.maps.publish(Edition(Map(1, "2026-01-01T00:00:00Z", {"a.example": site}), ""))
    assert [task.known for _, task in agenda(store, Plan())] == [{"id"}]
