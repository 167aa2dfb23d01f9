"""Puts one corpus into another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from miqps.loads import Kind
from miqps.observation import Answer, Observation
from miqps.store.contexts import StoredContext
from miqps.store.corpus import Corpus
from miqps.store.file import File, whole
from miqps.urls import Context

_BATCH = 20_000


def merge(into: Corpus, other: File, site_done: Callable[[str], None]) -> int:
    """Add all that the corpus of another file holds; returns how many URLs are new.

    Hits are added up. Of the URLs those are kept that a corpus would have kept which had seen all
    of it. Evidence, verdicts and maps stay where they are. Raises StoreError.
    """
    corpus = Corpus(other)
    new = 0
    for site in corpus.sites():
        for kind in get_args(Kind):
            batch: list[Observation] = []
            rest: list[tuple[Context, int]] = []
            for stored in corpus.contexts(site, kind):
                found = list(_observations(other, stored))
                batch += found
                # What was seen of URLs that are not kept any more.
                hits = stored.hits - sum(seen.hits for seen in found)
                if hits:
                    rest.append((stored.context, hits))
                if len(batch) >= _BATCH:
                    new += into.add(batch, kind)
                    batch = []
            new += into.add(batch, kind, rest=rest)
        site_done(site)
    return new


def _observations(other: File, stored: StoredContext) -> Iterator[Observation]:
    for url, hits, visited, redacted, seen, status, title, canonical, cookies, print_ in other.rows(
        "SELECT u.url, u.hits, u.visited, u.redacted, u.last_seen,"
        " a.status, a.title, a.canonical, a.cookies_sent, a.fingerprint"
        " FROM urls u LEFT JOIN answers a ON a.url_id = u.id WHERE u.context_id = ?",
        [stored.id],
    ):
        answer = None
        if status is not None:
            answer = Answer(whole(status), str(title), str(canonical), bool(cookies), whole(print_))
        yield Observation(str(url), bool(visited), whole(hits), str(seen), bool(redacted), answer)
