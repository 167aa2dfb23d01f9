"""The journal: runs, and every render that a run has finished.

It lets a run that was cut off go on where it was, and lets contexts share what was rendered. The
pages themselves are dropped when the run ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from miqps.settings import PAGE_DAYS
from miqps.store.file import File, days_ago, now, whole


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One finished render, as the journal keeps it."""

    url: str
    repeat: int
    outcome: str
    reason: str
    status: int | None
    milliseconds: float
    page: bytes
    sent: str = ""
    """What the server was asked for in place of the URL."""


class Journal:
    """The runs and renders in the store."""

    def __init__(self, file: File) -> None:
        self._file = file

    def begin(self, run_settings: str) -> int:
        """The run to go on with: the last one, when it has the same settings and never finished."""
        last = self._file.rows("SELECT id, settings, finished FROM runs ORDER BY id DESC LIMIT 1")
        if last and last[0][1] == run_settings and last[0][2] is None:
            return whole(last[0][0])
        with self._file.writing() as db:
            db.execute("UPDATE renders SET page = NULL WHERE page IS NOT NULL")
            row = db.execute(
                "INSERT INTO runs (started, settings) VALUES (?, ?) RETURNING id",
                [now(), run_settings],
            ).fetchone()
        return int(row[0])

    def newest(self) -> int:
        """The last run; 0 when there was none."""
        return whole(self._file.rows("SELECT coalesce(max(id), 0) FROM runs")[0][0])

    def last_settings(self) -> str:
        """The settings of the last run; "" when there was none."""
        rows = self._file.rows("SELECT settings FROM runs ORDER BY id DESC LIMIT 1")
        return str(rows[0][0]) if rows else ""

    def last_finished(self) -> str:
        """When the last run ended that was not cut off; "" when there is none."""
        return str(self._file.rows("SELECT coalesce(max(finished), '') FROM runs")[0][0])

    def totals(self) -> tuple[int, int, int]:
        """Runs, what they have rendered, and renders that they have saved by sharing."""
        sql = "SELECT count(*), coalesce(sum(renders), 0), coalesce(sum(shared), 0) FROM runs"
        runs, renders, shared = self._file.rows(sql)[0]
        return whole(runs), whole(renders), whole(shared)

    def count(self, run_id: int, renders: int, shared: int) -> None:
        """Add to what the run has spent and saved."""
        with self._file.writing() as db:
            db.execute(
                "UPDATE runs SET renders = renders + ?, shared = shared + ? WHERE id = ?",
                [renders, shared, run_id],
            )

    def finish(self, run_id: int) -> None:
        """Close the run; its pages are dropped, what they showed stays in the trials."""
        with self._file.writing() as db:
            db.execute("UPDATE renders SET page = NULL WHERE run_id = ?", [run_id])
            db.execute("UPDATE runs SET finished = ? WHERE id = ?", [now(), run_id])

    def save(self, run_id: int, entry: JournalEntry) -> None:
        """Write one finished render into the journal."""
        with self._file.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO renders"
                " (run_id, url, sent, repeat, outcome, reason, status, milliseconds, rendered,"
                " page) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    run_id,
                    entry.url,
                    entry.sent,
                    entry.repeat,
                    entry.outcome,
                    entry.reason,
                    entry.status,
                    entry.milliseconds,
                    now(),
                    entry.page,
                ],
            )

    def page(self, run_id: int, url: str, repeat: int, sent: str = "") -> bytes | None:
        """The page of a render that this run has already made, or None; not one too old for use."""
        rows = self._file.rows(
            "SELECT page FROM renders"
            " WHERE run_id = ? AND url = ? AND sent = ? AND repeat = ? AND rendered > ?",
            [run_id, url, sent, repeat, days_ago(PAGE_DAYS)],
        )
        return rows[0][0] if rows and isinstance(rows[0][0], bytes) else None

    def mean_milliseconds(self, newest: int) -> float | None:
        """How long the last renders took, on average; None when there are none."""
        rows = self._file.rows(
            "SELECT avg(milliseconds) FROM"
            " (SELECT milliseconds FROM renders ORDER BY id DESC LIMIT ?)",
            [newest],
        )
        return rows[0][0] if isinstance(rows[0][0], float) else None
