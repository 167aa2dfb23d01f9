"""The corpus: which URLs were seen, grouped into contexts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import get_args

from sqlite_utils import Database

from miqps import urls
from miqps.loads import Kind
from miqps.observation import Answer, Observation
from miqps.reservoir import LISTED, REDACTED, VISITED, Reservoir, Sample, digest
from miqps.store import forgetting
from miqps.store.contexts import StoredContext, stored_contexts
from miqps.store.file import File, now
from miqps.urls import Context

_MOST_AT_HAND = 5_000
"""Contexts whose samples are kept in memory between two batches, at some 20 kB each."""

_CHECK_EVERY = 10_000
"""New rows after which it is looked whether the file has become too big."""


@dataclass(slots=True)
class _Seen:
    """What a batch says of one URL."""

    sample: Sample
    hits: int
    when: str
    answer: Answer | None


@dataclass(slots=True)
class _Group:
    """What a batch says of one context."""

    hits: int = 0
    first: str = ""
    last: str = ""
    urls: dict[int, _Seen] = field(default_factory=dict)


class Corpus:
    """The observations in the store."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._open_prefixes: dict[str, frozenset[str]] = {}
        self._reservoirs: dict[int, Reservoir] = {}
        self._others: int | None = None
        self._unchecked = _CHECK_EVERY

    def add(
        self,
        observations: Iterable[Observation],
        kind: Kind = "page",
        *,
        keep_urls: bool = True,
        rest: Iterable[tuple[Context, int]] = (),
        also: Callable[[Database], None] | None = None,
    ) -> int:
        """Store what was seen, in one transaction; returns how many URLs are new.

        URLs without a named parameter have no context and are passed over. Hits are counted for
        all; of the URLs of a context those are kept that `miqps.reservoir` chooses, or none. `rest`
        has further hits of contexts, by URLs that somebody else saw and did not keep. What `also`
        does is part of the transaction.
        """
        try:
            with self._file.writing() as db:
                self._notice_others(db)
                groups = self._grouped(db, observations, kind)
                for context, hits in rest:
                    self._count(db, context, kind, hits)
                new = sum(
                    self._add_group(db, *key, group, keep_urls) for key, group in groups.items()
                )
                if also is not None:
                    also(db)
        except BaseException:
            # What is at hand may say more than was stored.
            self._put_away()
            raise
        self._unchecked += new
        if self._unchecked >= _CHECK_EVERY:
            self._unchecked = 0
            if forgetting.enforce_bounds(self._file):
                self._put_away()
        return new

    def _count(self, db: Database, known: Context, kind: Kind, hits: int) -> None:
        path = urls.path_template(known.path, self._prefixes(db, known.site))
        when = now()
        _context_id(db, Context(known.site, path, known.names), kind, _Group(hits, when, when))

    def _notice_others(self, db: Database) -> None:
        """Drop what is at hand when another connection has written since."""
        (version,) = db.execute("PRAGMA data_version").fetchone()
        if version != self._others:
            self._put_away()
            self._others = version

    def _put_away(self) -> None:
        self._reservoirs.clear()
        self._open_prefixes.clear()
        self._others = None

    def _grouped(
        self, db: Database, observations: Iterable[Observation], kind: Kind
    ) -> dict[tuple[Context, Kind], _Group]:
        groups: dict[tuple[Context, Kind], _Group] = {}
        for seen in observations:
            site = urls.site(seen.url)
            if site is None:
                continue
            context = urls.context_of(seen.url, self._prefixes(db, site))
            if context is None:
                continue
            group = groups.setdefault((context, kind), _Group())
            when = seen.seen or now()
            group.hits += seen.hits
            group.first = min(group.first or when, when)
            group.last = max(group.last, when)
            standing = REDACTED if seen.redacted else VISITED if seen.visited else LISTED
            id_ = digest(seen.url if kind == "page" else f"{kind} {seen.url}")
            known = group.urls.get(id_)
            if known is None:
                sample = Sample(seen.url, id_, standing)
                group.urls[id_] = _Seen(sample, seen.hits, when, seen.answer)
                continue
            known.hits += seen.hits
            if standing < known.sample.standing:
                known.sample = Sample(seen.url, id_, standing)
            if when >= known.when:
                known.when, known.answer = when, seen.answer or known.answer
        return groups

    def _add_group(
        self, db: Database, context: Context, kind: Kind, group: _Group, keep_urls: bool
    ) -> int:
        context_id = _context_id(db, context, kind, group)
        if not keep_urls:
            return 0
        reservoir = self._reservoir(db, context_id, context)
        before = set(reservoir)
        for seen in group.urls.values():
            reservoir.offer(seen.sample)
        after = set(reservoir)
        db.conn.executemany("DELETE FROM urls WHERE id = ?", [(id_,) for id_ in before - after])
        kept = [(id_, group.urls[id_]) for id_ in group.urls.keys() & after]
        db.conn.executemany(
            "INSERT INTO urls (id, context_id, url, hits, visited, redacted, last_seen)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " hits = hits + excluded.hits, visited = max(visited, excluded.visited),"
            " last_seen = max(last_seen, excluded.last_seen)",
            [
                (id_, context_id, seen.sample.url, seen.hits, seen.sample.standing == VISITED,
                 seen.sample.standing == REDACTED, seen.when)
                for id_, seen in kept
            ],
        )  # fmt: skip
        db.conn.executemany(
            "INSERT OR REPLACE INTO answers"
            " (url_id, status, title, canonical, cookies_sent, fingerprint, seen)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (id_, answer.status, answer.title, answer.canonical, answer.cookies_sent,
                 answer.fingerprint, seen.when)
                for id_, seen in kept
                if (answer := seen.answer) is not None
            ],
        )  # fmt: skip
        return len(after - before)

    def _reservoir(self, db: Database, context_id: int, context: Context) -> Reservoir:
        reservoir = self._reservoirs.get(context_id)
        if reservoir is None:
            reservoir = forgetting.stored_reservoir(db, context_id, context.path, context.names)
            if len(self._reservoirs) >= _MOST_AT_HAND:
                self._reservoirs.clear()
            self._reservoirs[context_id] = reservoir
        return reservoir

    def sites(self) -> list[str]:
        """All sites of the corpus, the most seen first."""
        rows = self._file.rows("SELECT site FROM site_summary ORDER BY hits DESC, site")
        return [str(site) for (site,) in rows]

    def contexts(self, site: str, kind: Kind = "page") -> list[StoredContext]:
        """The contexts of a site, the most seen first. Redacted URLs do not count."""
        return stored_contexts(self._file, site, kind)

    def urls_of(self, context_id: int) -> list[str]:
        """The sample URLs of a context that may be asked for, the most seen first."""
        rows = self._file.rows(
            "SELECT url FROM urls WHERE context_id = ? AND NOT redacted ORDER BY hits DESC, url",
            [context_id],
        )
        return [str(url) for (url,) in rows]

    def open_prefixes(self, site: str) -> frozenset[str]:
        """Path prefixes of the site under which every segment is a variable."""
        return self._prefixes(self._file.db, site)

    def learn_paths(self, site: str) -> bool:
        """Learn which path positions are variables, and regroup the site's URLs; True if changed.

        Contexts that fall together lose their verdicts: they are judged again as one.
        """
        return self.open_paths(
            site, urls.learn_open_prefixes(map(urls.path, self._site_urls(site)))
        )

    def open_paths(self, site: str, prefixes: Iterable[str]) -> bool:
        """Regroup the site's URLs, now and to come, by what else was learned; True if changed."""
        known = self.open_prefixes(site)
        learned = known.union(prefixes)
        if learned == known:
            return False
        with self._file.writing() as db:
            db.execute(
                "INSERT INTO sites (site, first_seen, last_seen, open_prefixes) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (site) DO UPDATE SET open_prefixes = excluded.open_prefixes",
                [site, now(), now(), json.dumps(sorted(learned))],
            )
            for kind in get_args(Kind):
                for stored in self.contexts(site, kind):
                    path = urls.path_template(stored.context.path, learned)
                    if path != stored.context.path:
                        self._move(db, stored, Context(site, path, stored.context.names), kind)
        self._put_away()
        return True

    def _move(self, db: Database, stored: StoredContext, to: Context, kind: Kind) -> None:
        """Add a context to a wider one, which keeps as many URLs as any other."""
        (first, last) = db.execute(
            "SELECT first_seen, last_seen FROM contexts WHERE id = ?", [stored.id]
        ).fetchone()
        new_id = _context_id(db, to, kind, _Group(stored.hits, first, last))
        db.execute("UPDATE urls SET context_id = ? WHERE context_id = ?", [new_id, stored.id])
        db.execute("DELETE FROM contexts WHERE id = ?", [stored.id])
        forgetting.trim(db, new_id, to.path, to.names)

    def _site_urls(self, site: str) -> list[str]:
        rows = self._file.rows(
            "SELECT u.url FROM urls u JOIN contexts c ON c.id = u.context_id"
            " JOIN sites s ON s.id = c.site_id WHERE s.site = ?",
            [site],
        )
        return [str(url) for (url,) in rows]

    def _prefixes(self, db: Database, site: str) -> frozenset[str]:
        if site not in self._open_prefixes:
            row = db.execute("SELECT open_prefixes FROM sites WHERE site = ?", [site]).fetchone()
            self._open_prefixes[site] = frozenset(json.loads(row[0])) if row else frozenset()
        return self._open_prefixes[site]


def _context_id(db: Database, context: Context, kind: Kind, group: _Group) -> int:
    (site_id,) = db.execute(
        "INSERT INTO sites (site, first_seen, last_seen) VALUES (?, ?, ?)"
        " ON CONFLICT (site) DO UPDATE SET last_seen = max(last_seen, excluded.last_seen)"
        " RETURNING id",
        [context.site, group.first, group.last],
    ).fetchone()
    (context_id,) = db.execute(
        "INSERT INTO contexts (site_id, kind, path, names, hits, first_seen, last_seen)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site_id, kind, path, names) DO UPDATE"
        " SET hits = hits + excluded.hits, first_seen = min(first_seen, excluded.first_seen),"
        " last_seen = max(last_seen, excluded.last_seen)"
        " RETURNING id",
        [site_id, kind, context.path, json.dumps(context.names, ensure_ascii=False),
         group.hits, group.first, group.last],
    ).fetchone()  # fmt: skip
    return int(context_id)
