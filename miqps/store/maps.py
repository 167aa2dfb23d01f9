"""Published maps, and what the gate let through."""

from __future__ import annotations

from miqps import mapping
from miqps.mapping import Map
from miqps.store.file import File, now, whole


class Maps:
    """The map versions in the store."""

    def __init__(self, file: File) -> None:
        self._file = file

    def version(self) -> int:
        """The number of the newest published map; 0 when there is none."""
        return whole(self._file.rows("SELECT coalesce(max(version), 0) FROM maps")[0][0])

    def newest(self) -> Map | None:
        """The newest published map."""
        rows = self._file.rows("SELECT body FROM maps ORDER BY version DESC LIMIT 1")
        return mapping.from_json(str(rows[0][0])) if rows else None

    def publish(self, new: Map, note: str) -> None:
        """Store a map under its version number: readers see all of it or nothing."""
        with self._file.writing() as db:
            db.execute(
                "INSERT INTO maps (version, created, note, body) VALUES (?, ?, ?, ?)",
                [new.version, new.created, note, mapping.to_json(new)],
            )

    def save_gate(
        self, run_id: int, site: str, *, accepted: bool, contexts: int, lost: int, reason: str
    ) -> None:
        """Store what the publish gate decided for a site, and why."""
        with self._file.writing() as db:
            db.execute(
                "INSERT INTO gate (run_id, site, accepted, contexts, lost, reason, decided)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [run_id, site, int(accepted), contexts, lost, reason, now()],
            )
