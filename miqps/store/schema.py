"""The tables and views of the store, by version.

Plain column names, foreign keys, strict tables, and views that answer the usual questions, so that
the file can be read with datasette as it stands. A migration that was released is never edited:
add the next one.
"""

from __future__ import annotations

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from miqps.reservoir import digest

migrations = Migrations("miqps")

_TABLES = """
CREATE TABLE sites (
    id INTEGER PRIMARY KEY,
    site TEXT NOT NULL UNIQUE,
    open_prefixes TEXT NOT NULL DEFAULT '[]',
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL
) STRICT;

CREATE TABLE contexts (
    id INTEGER PRIMARY KEY,
    site_id INTEGER NOT NULL REFERENCES sites(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    names TEXT NOT NULL,
    hits INTEGER NOT NULL DEFAULT 0,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    judged TEXT,
    judged_urls INTEGER NOT NULL DEFAULT 0,
    UNIQUE (site_id, path, names)
) STRICT;

CREATE TABLE urls (
    id INTEGER PRIMARY KEY,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    url TEXT NOT NULL UNIQUE,
    hits INTEGER NOT NULL DEFAULT 0,
    visited INTEGER NOT NULL DEFAULT 0,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL
) STRICT;
CREATE INDEX urls_context ON urls(context_id);

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    started TEXT NOT NULL,
    finished TEXT,
    settings TEXT NOT NULL,
    renders INTEGER NOT NULL DEFAULT 0,
    shared INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE renders (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    status INTEGER,
    milliseconds REAL NOT NULL,
    rendered TEXT NOT NULL,
    page BLOB,
    UNIQUE (run_id, url, repeat)
) STRICT;

CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    removed TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('same', 'different', 'invalid')),
    reason TEXT NOT NULL,
    blamed TEXT,
    look TEXT NOT NULL,
    swapped INTEGER NOT NULL
) STRICT;
CREATE INDEX trials_context ON trials(context_id);
CREATE INDEX trials_run ON trials(run_id);

CREATE TABLE verdicts (
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('important', 'neutral', 'undecided')),
    reason TEXT NOT NULL,
    samples INTEGER NOT NULL,
    distinct_values INTEGER NOT NULL,
    mismatches INTEGER NOT NULL,
    run_id INTEGER REFERENCES runs(id) ON DELETE SET NULL,
    decided TEXT NOT NULL,
    PRIMARY KEY (context_id, name)
) STRICT;
CREATE INDEX verdicts_run ON verdicts(run_id);

CREATE TABLE maps (
    version INTEGER PRIMARY KEY,
    created TEXT NOT NULL,
    note TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE gate (
    id INTEGER PRIMARY KEY,
    run_id INTEGER REFERENCES runs(id) ON DELETE SET NULL,
    site TEXT NOT NULL,
    accepted INTEGER NOT NULL,
    contexts INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    reason TEXT NOT NULL,
    decided TEXT NOT NULL
) STRICT;
CREATE INDEX gate_run ON gate(run_id);
"""

_VIEWS = """
CREATE VIEW parameters AS
SELECT s.site, c.path, c.names, v.name, v.decision, v.reason,
       v.samples, v.distinct_values, v.mismatches, v.decided
FROM verdicts v JOIN contexts c ON c.id = v.context_id JOIN sites s ON s.id = c.site_id;

CREATE VIEW site_summary AS
SELECT s.site,
       count(DISTINCT c.id) AS contexts,
       (SELECT count(*) FROM urls u JOIN contexts x ON x.id = u.context_id
        WHERE x.site_id = s.id) AS urls,
       (SELECT coalesce(sum(x.hits), 0) FROM contexts x WHERE x.site_id = s.id) AS hits,
       count(CASE v.decision WHEN 'neutral' THEN 1 END) AS neutral,
       count(CASE v.decision WHEN 'important' THEN 1 END) AS important,
       count(CASE v.decision WHEN 'undecided' THEN 1 END) AS undecided
FROM sites s
LEFT JOIN contexts c ON c.site_id = s.id
LEFT JOIN verdicts v ON v.context_id = c.id
GROUP BY s.id;

CREATE VIEW evidence AS
SELECT s.site, c.path, c.names, t.url, t.removed, t.outcome, t.blamed, t.reason, t.swapped, t.run_id
FROM trials t JOIN contexts c ON c.id = t.context_id JOIN sites s ON s.id = c.site_id;

CREATE VIEW map_versions AS
SELECT version, created, note, length(body) AS bytes FROM maps;
"""


_BOUNDED_CORPUS = """
DROP VIEW parameters;
DROP VIEW site_summary;
DROP VIEW evidence;

CREATE TABLE new_contexts (
    id INTEGER PRIMARY KEY,
    site_id INTEGER NOT NULL REFERENCES sites(id) ON DELETE CASCADE,
    kind TEXT NOT NULL DEFAULT 'page' CHECK (kind IN ('page', 'api')),
    path TEXT NOT NULL,
    names TEXT NOT NULL,
    hits INTEGER NOT NULL DEFAULT 0,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    judged TEXT,
    judged_urls INTEGER NOT NULL DEFAULT 0,
    UNIQUE (site_id, kind, path, names)
) STRICT;
INSERT INTO new_contexts
SELECT id, site_id, 'page', path, names, hits, first_seen, last_seen, judged, judged_urls
FROM contexts;
DROP TABLE contexts;
ALTER TABLE new_contexts RENAME TO contexts;

CREATE TABLE new_urls (
    id INTEGER PRIMARY KEY,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    hits INTEGER NOT NULL DEFAULT 0,
    visited INTEGER NOT NULL DEFAULT 0,
    redacted INTEGER NOT NULL DEFAULT 0,
    last_seen TEXT NOT NULL
) STRICT;
INSERT OR IGNORE INTO new_urls
SELECT url_id(url), context_id, url, hits, visited, 0, last_seen FROM urls ORDER BY id;
DROP TABLE urls;
ALTER TABLE new_urls RENAME TO urls;
CREATE INDEX urls_context ON urls(context_id);

CREATE TABLE answers (
    url_id INTEGER PRIMARY KEY REFERENCES urls(id) ON DELETE CASCADE,
    status INTEGER NOT NULL,
    title TEXT NOT NULL,
    canonical TEXT NOT NULL,
    cookies_sent INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    seen TEXT NOT NULL
) STRICT;

CREATE TABLE forgotten (
    reason TEXT PRIMARY KEY,
    contexts INTEGER NOT NULL,
    hits INTEGER NOT NULL
) STRICT;

CREATE TABLE imports (
    digest TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    added TEXT NOT NULL
) STRICT;

CREATE TABLE bounds (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;
"""

_THUMBNAILS = """
CREATE TABLE thumbnails (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('original', 'stripped', 'difference')),
    image BLOB NOT NULL,
    UNIQUE (trial_id, kind)
) STRICT;
"""


_AS_DEPLOYED = """
DROP VIEW parameters;
DROP VIEW evidence;

CREATE TABLE new_renders (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    sent TEXT NOT NULL DEFAULT '',
    repeat INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    status INTEGER,
    milliseconds REAL NOT NULL,
    rendered TEXT NOT NULL,
    page BLOB,
    UNIQUE (run_id, url, sent, repeat)
) STRICT;
INSERT INTO new_renders
SELECT id, run_id, url, '', repeat, outcome, reason, status, milliseconds, rendered, page
FROM renders;
DROP TABLE renders;
ALTER TABLE new_renders RENAME TO renders;

ALTER TABLE trials ADD COLUMN on_wire INTEGER NOT NULL DEFAULT 0;
ALTER TABLE verdicts ADD COLUMN key_decision TEXT
    CHECK (key_decision IN ('important', 'neutral', 'undecided'));

CREATE VIEW parameters AS
SELECT s.site, c.path, c.names, v.name, v.decision, v.key_decision, v.reason,
       v.samples, v.distinct_values, v.mismatches, v.decided
FROM verdicts v JOIN contexts c ON c.id = v.context_id JOIN sites s ON s.id = c.site_id;

CREATE VIEW evidence AS
SELECT s.site, c.path, c.names, t.url, t.removed, t.on_wire, t.outcome, t.blamed, t.reason,
       t.swapped, t.run_id
FROM trials t JOIN contexts c ON c.id = t.context_id JOIN sites s ON s.id = c.site_id;
"""

_MAP_LIFE = """
ALTER TABLE contexts ADD COLUMN drifted TEXT;

CREATE TABLE mattered (
    id INTEGER PRIMARY KEY,
    site TEXT NOT NULL,
    path TEXT NOT NULL,
    names TEXT NOT NULL,
    name TEXT NOT NULL,
    on_wire INTEGER NOT NULL,
    in_key INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    doubted TEXT NOT NULL DEFAULT '[]',
    asked INTEGER NOT NULL DEFAULT 0,
    noted TEXT NOT NULL,
    UNIQUE (site, path, names, name)
) STRICT;

CREATE TABLE pins (
    id INTEGER PRIMARY KEY,
    site TEXT NOT NULL,
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('keep', 'strip')),
    pinned TEXT NOT NULL,
    UNIQUE (site, path, name)
) STRICT;

CREATE TABLE imported_sites (
    site TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    source TEXT NOT NULL,
    imported TEXT NOT NULL
) STRICT;

CREATE TABLE circles (
    id INTEGER PRIMARY KEY,
    context_id INTEGER NOT NULL UNIQUE REFERENCES contexts(id) ON DELETE CASCADE,
    times INTEGER NOT NULL,
    seen TEXT NOT NULL
) STRICT;

CREATE TABLE lists (
    name TEXT PRIMARY KEY,
    format TEXT NOT NULL,
    site TEXT NOT NULL,
    body TEXT NOT NULL,
    imported TEXT NOT NULL
) STRICT;

CREATE TABLE no_vary_search (
    id INTEGER PRIMARY KEY,
    site TEXT NOT NULL,
    path TEXT NOT NULL,
    header TEXT NOT NULL,
    seen TEXT NOT NULL,
    UNIQUE (site, path)
) STRICT;

CREATE TABLE gate_changes (
    id INTEGER PRIMARY KEY,
    gate_id INTEGER NOT NULL REFERENCES gate(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    names TEXT NOT NULL,
    name TEXT NOT NULL,
    accepted INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX gate_changes_gate ON gate_changes(gate_id);

CREATE VIEW gate_decisions AS
SELECT g.decided, g.site, g.accepted, g.contexts, g.lost, g.reason, g.run_id,
       c.path, c.names, c.name, c.accepted AS change_accepted, c.reason AS change_reason
FROM gate g LEFT JOIN gate_changes c ON c.gate_id = g.id;
"""


@migrations()
def first_tables(db: Database) -> None:
    db.executescript(_TABLES)
    db.executescript(_VIEWS)


@migrations()
def bounded_corpus(db: Database) -> None:
    """URLs are known by their hash, as `miqps.reservoir` wants it; what they showed is kept."""
    db.conn.create_function("url_id", 1, digest, deterministic=True)
    db.executescript(_BOUNDED_CORPUS)
    db.executescript(_VIEWS.partition("CREATE VIEW map_versions")[0])


@migrations()
def thumbnails(db: Database) -> None:
    """What was seen is shown: small pictures beside the evidence, which leave with it."""
    db.executescript(_THUMBNAILS)


@migrations()
def as_deployed(db: Database) -> None:
    """What a proxy takes out below the page: tried, and with a verdict of its own."""
    db.executescript(_AS_DEPLOYED)


@migrations()
def map_life(db: Database) -> None:
    """What mattered once, what people decided, and what came from other stores."""
    db.executescript(_MAP_LIFE)
