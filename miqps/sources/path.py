"""Maps on the disk: the newest one of a store, one as JSON, or a folder of shards.

A place may become one of another kind.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from miqps import shards
from miqps.mapping import Map, MapError, from_json
from miqps.sources import SourceError

_SQLITE_MAGIC = b"SQLite format 3\0"


class _Stored(NamedTuple):
    """A map in a store; another one also when the file was replaced."""

    device: int
    inode: int
    version: int
    created: str


class _Written(NamedTuple):
    """A file of JSON as it is now."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int
    """A file that became readable has the size and age that it had before."""


class PathSource:
    """The map in the file of this name."""

    def __init__(self, path: str) -> None:
        self.name = path
        self._edition: _Stored | _Written | None = None

    def edition(self) -> _Stored | _Written | None:
        """The map that is there; None without a file, or in a store that has no tables yet."""
        try:
            if os.path.isdir(self.name):
                self._edition = _written(os.path.join(self.name, shards.MANIFEST))
            else:
                self._edition = _stored(self.name) if is_store(self.name) else _written(self.name)
        except FileNotFoundError:
            self._edition = None
        except (OSError, sqlite3.Error) as error:
            raise SourceError(f"{self.name}: {_in_words(error)}") from error
        return self._edition

    def read(self) -> Map:
        """The map; an empty one where none was published. Raises MapError, SourceError."""
        edition = self._edition
        try:
            if os.path.isdir(self.name):
                return shards.read(Path(self.name))
            if isinstance(edition, _Written):
                return from_json(Path(self.name).read_bytes())
            if edition is None or not edition.version:
                return Map(0, "", {})
            with (
                closing(sqlite3.connect(_uri(self.name), uri=True)) as db,
                db.blobopen("maps", "body", edition.version, readonly=True) as body,
            ):
                return _from_body(body.read(), edition.version)
        except (OSError, sqlite3.Error) as error:
            raise SourceError(f"{self.name}: {_in_words(error)}") from error


def _from_body(body: bytes, version: int) -> Map:
    try:
        return from_json(body)
    except MapError as error:
        raise MapError(f"version {version}: {error}") from None


def is_store(path: str) -> bool:
    """Whether a file is a database. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC


def _stored(path: str) -> _Stored | None:
    """The newest published map, by a short read that waits for nobody."""
    status = os.stat(path)
    with closing(sqlite3.connect(_uri(path), uri=True, timeout=0)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'maps'").fetchone():
            return None
        row = db.execute(
            "SELECT version, created FROM maps ORDER BY version DESC LIMIT 1"
        ).fetchone()
    version, created = row or (0, "")
    return _Stored(status.st_dev, status.st_ino, version, str(created))


def _written(path: str) -> _Written:
    status = os.stat(path)
    return _Written(
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


def _uri(path: str) -> str:
    return Path(path).absolute().as_uri() + "?mode=ro"


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"not a store that can be read: {error}"
