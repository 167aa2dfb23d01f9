"""What leaves the corpus: so that it stays small, because it is old, or because somebody says so.

What goes is counted in the table `forgotten`. A context that has a verdict never goes for the sake
of space.
"""

from __future__ import annotations

import json

from sqlite_utils import Database

from miqps import settings, urls
from miqps.reservoir import LISTED, REDACTED, VISITED, Reservoir, Sample
from miqps.store.file import File, days_ago, whole

_TOO_MANY_ON_SITE = "more contexts on one site than are kept"
_TOO_MANY = "more contexts than are kept"
_BY_AGE = "not seen for long"
_BY_HAND = "forgotten by hand"

_SLACK = 0.9
"""Bounds are gone below by a tenth, so that they are not met again with the next batch."""

_A_TIME = 500
"""Contexts a transaction: a proxy that records into the same file waits for less than a second."""


def stored_reservoir(db: Database, context_id: int, path: str, names: tuple[str, ...]) -> Reservoir:
    """The reservoir of a context with the URLs that are stored for it."""
    # Where nothing of the template is open there is one path only.
    reservoir = Reservoir(names, "*" in path, _room(db), settings.CORPUS.values_per_name)
    for id_, url, visited, redacted in db.execute(
        "SELECT id, url, visited, redacted FROM urls WHERE context_id = ?", [context_id]
    ):
        reservoir.offer(Sample(url, id_, REDACTED if redacted else VISITED if visited else LISTED))
    return reservoir


def trim(db: Database, context_id: int, path: str, names: tuple[str, ...]) -> None:
    """Delete the URLs of a context that its reservoir has no room for."""
    kept = stored_reservoir(db, context_id, path, names)
    stored = db.execute("SELECT id FROM urls WHERE context_id = ?", [context_id]).fetchall()
    db.conn.executemany(
        "DELETE FROM urls WHERE id = ?", [row for row in stored if row[0] not in kept]
    )


def enforce_bounds(file: File) -> bool:
    """Make the corpus as small as the settings want it; True when something had to go.

    First the contexts that were seen least and never judged; then, when there are still too many
    URLs, the room of each context is halved, down to what a judgement needs.
    """
    bounds = settings.CORPUS
    changed = False
    crowded = file.rows(
        "SELECT site_id, count(*) FROM contexts GROUP BY site_id HAVING count(*) > ?",
        [bounds.contexts_per_site],
    )
    for site_id, number in crowded:
        surplus = whole(number) - int(bounds.contexts_per_site * _SLACK)
        with file.writing() as db:
            _drop_least_seen(db, "site_id = ?", [site_id], surplus, _TOO_MANY_ON_SITE)
        changed = True
    surplus = _count(file, "contexts") - bounds.contexts
    if surplus > 0:
        with file.writing() as db:
            _drop_least_seen(db, "?", [1], surplus + int(bounds.contexts * (1 - _SLACK)), _TOO_MANY)
        changed = True
    while _count(file, "urls") > bounds.urls and _halve_room(file):
        changed = True
    return changed


def forget_older(file: File, days: float) -> int:
    """Forget what was not seen for so many days, with all evidence; returns how many contexts.

    Verdicts on forgotten contexts leave the map at the next publication: what they let go stays in
    URLs again.
    """
    before = days_ago(days)
    with file.writing() as db:
        number = _drop(db, "last_seen < ?", [before], _BY_AGE)
        db.execute("DELETE FROM urls WHERE last_seen < ?", [before])
        db.execute("DELETE FROM renders WHERE rendered < ?", [before])
    return number


def forget_site(file: File, site: str) -> int:
    """Forget all that was seen of a site, with its evidence; returns how many contexts that were.

    Pages that were rendered for it go too.
    """
    with file.writing() as db:
        rows = db.execute("SELECT id FROM sites WHERE site = ?", [site]).fetchall()
        if not rows:
            return 0
        number = _drop(db, "site_id = ?", [rows[0][0]], _BY_HAND)
        db.conn.create_function("site_of", 1, urls.site, deterministic=True)
        db.execute("DELETE FROM renders WHERE site_of(url) = ?", [site])
        for table in ("gate", "mattered", "imported_sites", "no_vary_search"):
            db.execute(f"DELETE FROM {table} WHERE site = ?", [site])
    return number


def _drop_least_seen(
    db: Database, where: str, parameters: list[object], number: int, reason: str
) -> None:
    _drop(
        db,
        f"id IN (SELECT id FROM contexts WHERE judged IS NULL AND {where}"
        " ORDER BY hits, last_seen, path, names LIMIT ?)",
        [*parameters, number],
        reason,
    )


def _drop(db: Database, where: str, parameters: list[object], reason: str) -> int:
    number, hits = db.execute(
        f"SELECT count(*), coalesce(sum(hits), 0) FROM contexts WHERE {where}", parameters
    ).fetchone()
    if number:
        db.execute(f"DELETE FROM contexts WHERE {where}", parameters)
        db.execute("DELETE FROM sites WHERE id NOT IN (SELECT site_id FROM contexts)")
        db.execute(
            "INSERT INTO forgotten (reason, contexts, hits) VALUES (?, ?, ?) ON CONFLICT (reason)"
            " DO UPDATE SET contexts = contexts + excluded.contexts, hits = hits + excluded.hits",
            [reason, number, hits],
        )
    return int(number)


def _count(file: File, table: str) -> int:
    return whole(file.rows(f"SELECT count(*) FROM {table}")[0][0])


def _room(db: Database) -> int:
    """How many URLs a context has room for in this file."""
    row = db.execute("SELECT value FROM bounds WHERE name = 'urls per context'").fetchone()
    return int(row[0]) if row else settings.CORPUS.urls_per_context


def _halve_room(file: File) -> bool:
    """Halve the room of every context of the file, and trim; False: there is no room to halve."""
    with file.writing() as db:
        room = _room(db) // 2
        if room < settings.CORPUS.least_urls_per_context:
            return False
        db.execute(
            "INSERT OR REPLACE INTO bounds (name, value) VALUES ('urls per context', ?)", [room]
        )
    done = -1
    while True:
        with file.writing() as db:
            rows = db.execute(
                "SELECT c.id, c.path, c.names FROM contexts c JOIN urls u ON u.context_id = c.id"
                " WHERE c.id > ? GROUP BY c.id HAVING count(*) > ? ORDER BY c.id LIMIT ?",
                [done, room, _A_TIME],
            ).fetchall()
            for context_id, path, names in rows:
                trim(db, context_id, path, tuple(json.loads(names)))
                done = context_id
        if len(rows) < _A_TIME:
            return True
