"""Published maps by version, and what the gate decided."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlite_utils import Database

from miqps import mapping
from miqps.gate import Change, GateDecision, Mattered
from miqps.mapping import Map, MapError, SiteMap
from miqps.settings import PUBLISHING
from miqps.store.file import File, now, whole


class OutdatedError(Exception):
    """Another process published meanwhile: what was worked out is to be worked out again."""


@dataclass(frozen=True, slots=True)
class Version:
    """One published version. `bytes` is the size of its JSON."""

    version: int
    created: str
    note: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Edition:
    """What is to be published: a map, and what the store is to remember with it.

    Without a map nothing changes for readers. `decisions` belong to `run_id`; None when no run is
    behind it.
    """

    map: Map | None
    note: str = ""
    run_id: int | None = None
    decisions: tuple[GateDecision, ...] = ()
    mattered: Mapping[str, Sequence[Mattered]] | None = None
    """What is remembered of these sites from now on; others stay as they are."""


class Maps:
    """The map versions in the store."""

    def __init__(self, file: File) -> None:
        self._file = file

    def version(self) -> int:
        """The number of the newest published map; 0 when there is none."""
        return whole(self._file.rows("SELECT coalesce(max(version), 0) FROM maps")[0][0])

    def versions(self) -> list[Version]:
        """The versions that are kept, the newest first."""
        rows = self._file.rows(
            "SELECT version, created, note, length(CAST(body AS BLOB)) FROM maps"
            " ORDER BY version DESC"
        )
        return [Version(whole(v), str(when), str(note), whole(n)) for v, when, note, n in rows]

    def newest(self) -> Map | None:
        """The newest published map. Raises MapError when it is damaged."""
        version = self.version()
        return self.read(version) if version else None

    def read(self, version: int) -> Map | None:
        """A version; None when it is not kept. Raises MapError when it is damaged."""
        rows = self._file.rows("SELECT body FROM maps WHERE version = ?", [version])
        if not rows:
            return None
        try:
            return mapping.from_json(str(rows[0][0]))
        except MapError as error:
            raise MapError(f"{self._file.path}, version {version}: {error}") from None

    def publish(self, edition: Edition, base: int | None = None) -> None:
        """Store a map with what belongs to it, in one transaction: readers see all or nothing.

        Versions beyond those that are kept go, and what the gate decided stays with the newest.

        Args:
            edition: what to store.
            base: the version that it was worked out from; None when that does not matter.

        Raises:
            OutdatedError: another version is the newest by now.
        """
        new = edition.map
        body = mapping.to_json(new) if new is not None else ""
        with self._file.writing() as db:
            newest = db.execute("SELECT coalesce(max(version), 0) FROM maps").fetchone()[0]
            if base is not None and newest != base:
                raise OutdatedError(f"version {newest} was published meanwhile")
            for decision in edition.decisions:
                _put_decision(db, edition.run_id, decision)
            for site, mattered in (edition.mattered or {}).items():
                _put_mattered(db, site, mattered)
            if new is not None:
                db.execute(
                    "INSERT INTO maps (version, created, note, body) VALUES (?, ?, ?, ?)",
                    [new.version, new.created, edition.note, body],
                )
                oldest = new.version - PUBLISHING.kept_versions
                db.execute("DELETE FROM maps WHERE version <= ?", [oldest])

    def mattered(self, site: str) -> list[Mattered]:
        """What mattered on a site once, and was not let go since."""
        rows = self._file.rows(
            "SELECT path, names, name, on_wire, in_key, run_id, doubted, asked FROM mattered"
            " WHERE site = ? ORDER BY path, names, name",
            [site],
        )
        return [
            Mattered(
                path=str(path),
                names=tuple(json.loads(str(names))),
                name=str(name),
                wire=bool(wire),
                key=bool(key),
                run=whole(run),
                doubted=tuple(json.loads(str(doubted))),
                asked=whole(asked),
            )
            for path, names, name, wire, key, run, doubted, asked in rows
        ]

    def decisions(self, site: str) -> list[GateDecision]:
        """What the gate decided of a site, the newest first."""
        rows = self._file.rows(
            "SELECT id, accepted, contexts, lost, reason FROM gate WHERE site = ? ORDER BY id DESC",
            [site],
        )
        return [
            GateDecision(
                site,
                bool(accepted),
                whole(contexts),
                whole(lost),
                str(reason),
                self._changes(whole(number)),
            )
            for number, accepted, contexts, lost, reason in rows
        ]

    def _changes(self, gate_id: int) -> tuple[Change, ...]:
        rows = self._file.rows(
            "SELECT path, names, name, accepted, reason FROM gate_changes WHERE gate_id = ?"
            " ORDER BY id",
            [gate_id],
        )
        return tuple(
            Change(str(path), tuple(json.loads(str(names))), str(name), bool(accepted), str(reason))
            for path, names, name, accepted, reason in rows
        )

    # --- sites of other stores ------------------------------------------------------------------

    def imported(self) -> dict[str, SiteMap]:
        """What other stores found out, by site. Raises MapError when it is damaged."""
        rows = self._file.rows("SELECT body FROM imported_sites ORDER BY site")
        return {
            site: found
            for (body,) in rows
            for site, found in mapping.from_json(str(body)).sites.items()
        }

    def save_imported(self, sites: Iterable[SiteMap], source: str) -> None:
        """Keep what another store found out, in place of what came before."""
        with self._file.writing() as db:
            db.conn.executemany(
                "INSERT INTO imported_sites (site, body, source, imported) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (site) DO UPDATE SET body = excluded.body, source = excluded.source,"
                " imported = excluded.imported",
                [
                    (site.site, mapping.to_json(Map(1, now(), {site.site: site})), source, now())
                    for site in sites
                ],
            )


def _put_decision(db: Database, run_id: int | None, decision: GateDecision) -> None:
    (gate_id,) = db.execute(
        "INSERT INTO gate (run_id, site, accepted, contexts, lost, reason, decided)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
        [
            run_id,
            decision.site,
            int(decision.accepted),
            decision.contexts,
            decision.lost,
            decision.reason,
            now(),
        ],
    ).fetchone()
    db.conn.executemany(
        "INSERT INTO gate_changes (gate_id, path, names, name, accepted, reason)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (gate_id, c.path, _names(c.names), c.name, int(c.accepted), c.reason)
            for c in decision.changes
        ],
    )


def _put_mattered(db: Database, site: str, mattered: Sequence[Mattered]) -> None:
    db.execute("DELETE FROM mattered WHERE site = ?", [site])
    db.conn.executemany(
        "INSERT INTO mattered (site, path, names, name, on_wire, in_key, run_id, doubted, asked,"
        " noted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (site, m.path, _names(m.names), m.name, int(m.wire), int(m.key), m.run,
             json.dumps(m.doubted), m.asked, now())
            for m in mattered
        ],
    )  # fmt: skip


def _names(names: Sequence[str]) -> str:
    return json.dumps(list(names), ensure_ascii=False)
