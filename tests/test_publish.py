"""Publishing: from the evidence in a store to the next version of the map."""

from __future__ import annotations

from pathlib import Path

from miqps.publish import publish
from miqps.settings import JUDGING
from miqps.store import Observation, Store
from miqps.trial import Trial


def test_publishing_from_the_evidence_in_a_store(tmp_path: Path) -> None:
    urls = [f"http://a.example/p?gclid={n}" for n in range(3)]
    with Store.open(tmp_path / "miqps.db") as store:
        store.corpus.add(Observation(url) for url in urls)
        run = store.journal.begin("{}")
        (context,) = store.corpus.contexts("a.example")

        def judge(outcome: str, blamed: str | None = None):
            trials = [
                Trial(url, frozenset({"gclid"}), outcome, "the content changed", blamed, url)  # type: ignore[arg-type]
                for url in urls
            ]
            store.evidence.save(run, context, trials, [])
            return publish(store, run, JUDGING)

        first = judge("different", "gclid")
        assert (first.version, first.is_new) == (1, True)
        assert (judge("different", "gclid").version, judge("different", "gclid").is_new) == (
            1,
            False,
        )
        refused = judge("same")
        assert (refused.version, refused.is_new) == (1, False)
        assert [d.accepted for d in refused.decisions] == [False]
        newest = store.maps.newest()
        assert newest is not None
        assert newest.sites["a.example"].contexts[0].verdicts[0].decision == "important"


def test_more_visits_are_no_news(tmp_path: Path) -> None:
    """Which context is seen most may change every day; the map does not."""
    urls = [f"http://a.example/{path}?gclid={n}" for path in "pq" for n in range(3)]
    with Store.open(tmp_path / "miqps.db") as store:
        store.corpus.add([*map(Observation, urls), Observation(urls[0])])
        run = store.journal.begin("{}")
        for context in store.corpus.contexts("a.example"):
            trials = [
                Trial(url, frozenset({"gclid"}), "same", look=url)
                for url in store.corpus.urls_of(context.id)
            ]
            store.evidence.save(run, context, trials, [])
        assert publish(store, run, JUDGING).is_new
        store.corpus.add([Observation(urls[-1])] * 5)
        assert not publish(store, run, JUDGING).is_new
