"""The SQLite file under the store: opening, transactions, and errors that a person can use."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from sqlite_utils import Database

from miqps.store.schema import migrations

_BUSY_SECONDS = 10.0


class StoreError(Exception):
    """The file cannot be used; the message says which file, why, and what to do."""


TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
"""How times are stored: ISO 8601, UTC, seconds."""


def now() -> str:
    """The time as it is stored."""
    return datetime.now(UTC).strftime(TIME_FORMAT)


def days_ago(days: float) -> str:
    """A time in the past as it is stored."""
    return (datetime.now(UTC) - timedelta(days=days)).strftime(TIME_FORMAT)


class File:
    """A connection to the file, owned by one thread."""

    def __init__(self, db: Database, path: str) -> None:
        self.db = db
        self.path = path

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, create: bool) -> Self:
        """Open the file, bring its tables up to date, and create it (mode 0600) when asked to.

        Raises StoreError: missing, not a database, locked, read-only, disk full.
        """
        name = os.fspath(path)
        with _explained(name):
            if not os.path.exists(name):
                if not create:
                    raise StoreError(
                        f"{name}: no such database; record through the proxy, or run"
                        f" scripts/corpus.py add FILE --db {name}"
                    )
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                # Before SQLite sees it, so that no moment exists at which others may read it.
                os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600))
            db = Database(sqlite3.connect(name, timeout=_BUSY_SECONDS))
            try:
                _use_wal(db)
                db.execute("PRAGMA synchronous = NORMAL")
                if migrations.pending(db):
                    _migrate(db)
                # After the migrations: a table that is made anew must not take its children along.
                db.execute("PRAGMA foreign_keys = ON")
            except BaseException:
                db.close()
                raise
        return cls(db, name)

    def close(self) -> None:
        self.db.close()

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """One transaction: all of it is stored, or nothing."""
        # IMMEDIATE: a deferred transaction that reads first fails at once, without waiting, when
        # another process wrote in between.
        with _explained(self.path):
            self.db.conn.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
            except BaseException:
                self.db.conn.rollback()
                raise
            self.db.conn.commit()

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """What a query gives, at once."""
        with _explained(self.path):
            return self.db.execute(sql, parameters).fetchall()


def whole(value: object) -> int:
    """A cell that holds an integer."""
    assert isinstance(value, int)
    return value


def _use_wal(db: Database) -> None:
    """Switch the journal on; for this SQLite itself does not always wait for others."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _migrate(db: Database) -> None:
    # Two processes may meet a new file at once: the second waits here, and finds nothing to do.
    db.conn.execute("BEGIN IMMEDIATE")
    try:
        migrations.apply(db)
    except BaseException:
        db.conn.rollback()
        raise
    db.conn.commit()


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn what SQLite and the system say into one line that names the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path}: {_explain(error)}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}; choose another --db") from error


def _explain(error: sqlite3.DatabaseError) -> str:
    said = str(error)
    if "locked" in said:
        return f"locked by another process for over {_BUSY_SECONDS:.0f} s; end it or try again"
    if "not a database" in said:
        return "not a SQLite database; choose another --db"
    if "malformed" in said:
        return f"damaged ({said}); restore a copy, or start anew with another --db"
    if "readonly" in said or "unable to open" in said:
        return f"cannot be written ({said}); check its owner and mode, or choose another --db"
    if "full" in said:
        return "the disk is full; free some space and run again: nothing stored was lost"
    return f"{said}; choose another --db, or open it with sqlite3 to see more"
