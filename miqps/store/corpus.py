"""The corpus: which URLs were seen, grouped into contexts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from sqlite_utils import Database

from miqps import settings, urls
from miqps.store.file import File, now, whole
from miqps.urls import Context


@dataclass(frozen=True, slots=True)
class Observation:
    """A URL that was seen: visited through the proxy, or listed somewhere."""

    url: str
    visited: bool = True
    hits: int = 1
    seen: str = ""
    """ISO 8601 in UTC; empty for now."""


@dataclass(frozen=True, slots=True)
class StoredContext:
    """A context of the corpus with what is known of it."""

    id: int
    context: Context
    hits: int
    urls: int
    judged_urls: int
    """How many URLs there were when it was last judged; 0 when never."""

    undecided: int
    """How many of its parameters the last judgement left open."""


class Corpus:
    """The observations in the store."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._open_prefixes: dict[str, frozenset[str]] = {}

    def add(self, observations: Iterable[Observation]) -> int:
        """Store what was seen, in one transaction; returns how many URLs are new.

        URLs without a named parameter have no context and are passed over. A context keeps at most
        `settings.CORPUS.urls_per_context` URLs; hits are counted for all.
        """
        new = 0
        with self._file.writing() as db:
            room: dict[int, int] = {}
            for seen in observations:
                site = urls.site(seen.url)
                context = (
                    urls.context_of(seen.url, self._prefixes(db, site))
                    if site is not None
                    else None
                )
                if context is None:
                    continue
                when = seen.seen or now()
                context_id = _context_id(db, context, seen.hits, when)
                if context_id not in room:
                    (stored,) = db.execute(
                        "SELECT count(*) FROM urls WHERE context_id = ?", [context_id]
                    ).fetchone()
                    room[context_id] = settings.CORPUS.urls_per_context - stored
                known = db.execute(
                    "UPDATE urls SET hits = hits + ?, visited = max(visited, ?), last_seen = ?"
                    " WHERE url = ?",
                    [seen.hits, int(seen.visited), when, seen.url],
                ).rowcount
                if known or room[context_id] <= 0:
                    continue
                db.execute(
                    "INSERT INTO urls (context_id, url, hits, visited, first_seen, last_seen)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    [context_id, seen.url, seen.hits, int(seen.visited), when, when],
                )
                room[context_id] -= 1
                new += 1
        return new

    def sites(self) -> list[str]:
        """All sites of the corpus, the most seen first."""
        rows = self._file.rows("SELECT site FROM site_summary ORDER BY hits DESC, site")
        return [str(site) for (site,) in rows]

    def contexts(self, site: str) -> list[StoredContext]:
        """The contexts of a site, the most seen first."""
        rows = self._file.rows(
            "SELECT c.id, c.path, c.names, c.hits, c.judged_urls,"
            " (SELECT count(*) FROM urls u WHERE u.context_id = c.id),"
            " (SELECT count(*) FROM verdicts v"
            "  WHERE v.context_id = c.id AND v.decision = 'undecided')"
            " FROM contexts c JOIN sites s ON s.id = c.site_id WHERE s.site = ?"
            " ORDER BY c.hits DESC, c.path, c.names",
            [site],
        )
        return [
            StoredContext(
                id=whole(id_),
                context=Context(site, str(path), tuple(json.loads(str(names)))),
                hits=whole(hits),
                urls=whole(urls_),
                judged_urls=whole(judged),
                undecided=whole(undecided),
            )
            for id_, path, names, hits, judged, urls_, undecided in rows
        ]

    def urls_of(self, context_id: int) -> list[str]:
        """The sample URLs of a context, the most seen first."""
        rows = self._file.rows(
            "SELECT url FROM urls WHERE context_id = ? ORDER BY hits DESC, url", [context_id]
        )
        return [str(url) for (url,) in rows]

    def open_prefixes(self, site: str) -> frozenset[str]:
        """Path prefixes of the site under which every segment is a variable."""
        return self._prefixes(self._file.db, site)

    def learn_paths(self, site: str) -> bool:
        """Learn which path positions are variables, and regroup the site's URLs; True if changed.

        Contexts that fall together lose their verdicts: they are judged again as one.
        """
        known = self.open_prefixes(site)
        learned = known | urls.learn_open_prefixes(map(urls.path, self._site_urls(site)))
        if learned == known:
            return False
        with self._file.writing() as db:
            db.execute(
                "UPDATE sites SET open_prefixes = ? WHERE site = ?",
                [json.dumps(sorted(learned)), site],
            )
            for stored in self.contexts(site):
                path = urls.path_template(stored.context.path, learned)
                if path != stored.context.path:
                    wider = Context(site, path, stored.context.names)
                    new_id = _context_id(db, wider, stored.hits, now())
                    db.execute(
                        "UPDATE urls SET context_id = ? WHERE context_id = ?", [new_id, stored.id]
                    )
                    db.execute("DELETE FROM contexts WHERE id = ?", [stored.id])
        self._open_prefixes[site] = learned
        return True

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


def _context_id(db: Database, context: Context, hits: int, when: str) -> int:
    (site_id,) = db.execute(
        "INSERT INTO sites (site, first_seen, last_seen) VALUES (?, ?, ?)"
        " ON CONFLICT (site) DO UPDATE SET last_seen = max(last_seen, excluded.last_seen)"
        " RETURNING id",
        [context.site, when, when],
    ).fetchone()
    (context_id,) = db.execute(
        "INSERT INTO contexts (site_id, path, names, hits, first_seen, last_seen)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (site_id, path, names) DO UPDATE"
        " SET hits = hits + excluded.hits, last_seen = max(last_seen, excluded.last_seen)"
        " RETURNING id",
        [site_id, context.path, json.dumps(context.names, ensure_ascii=False), hits, when, when],
    ).fetchone()
    return int(context_id)
