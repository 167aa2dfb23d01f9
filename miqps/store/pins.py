"""What people decided about parameters, whatever is learned."""

from __future__ import annotations

from collections import defaultdict

from miqps.mapping import Pin
from miqps.store.file import File, now


class Pins:
    """The pins in the store. They are in force once a map with them is published."""

    def __init__(self, file: File) -> None:
        self._file = file

    def of_sites(self) -> dict[str, tuple[Pin, ...]]:
        """All pins, by site, in the order of names and paths."""
        rows = self._file.rows("SELECT site, name, action, path FROM pins ORDER BY name, path")
        found = defaultdict[str, list[Pin]](list)
        for site, name, action, path in rows:
            pin = Pin(str(name), action, str(path))  # type: ignore[arg-type]  # held by the CHECK
            found[str(site)].append(pin)
        return {site: tuple(pins) for site, pins in found.items()}

    def put(self, site: str, pin: Pin) -> None:
        """Pin a parameter; an earlier decision about the same path is replaced."""
        with self._file.writing() as db:
            db.execute(
                "INSERT INTO pins (site, path, name, action, pinned) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (site, path, name) DO UPDATE SET action = excluded.action,"
                " pinned = excluded.pinned",
                [site, pin.path, pin.name, pin.action, now()],
            )

    def remove(self, site: str, name: str, path: str) -> bool:
        """Take a pin out; whether there was one."""
        with self._file.writing() as db:
            cursor = db.execute(
                "DELETE FROM pins WHERE site = ? AND name = ? AND path = ?", [site, name, path]
            )
            return cursor.rowcount > 0
