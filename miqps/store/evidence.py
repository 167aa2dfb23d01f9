"""What was found out: trials, and the verdicts that were weighed from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from sqlite_utils import Database

from miqps.mapping import ContextVerdicts, Verdict
from miqps.store.contexts import StoredContext
from miqps.store.file import File, now, whole
from miqps.trial import Trial
from miqps.urls import Context

_MOST_THUMBNAILS = 30_000
"""Pictures in a file, some 3 kB each; the oldest go first."""

Pictures = Mapping[str, bytes]
"""By kind, "original", "stripped", "difference": WebP."""


class Evidence:
    """The trials and verdicts in the store."""

    def __init__(self, file: File) -> None:
        self._file = file

    def save(
        self,
        run_id: int,
        stored: StoredContext,
        trials: Iterable[Trial],
        verdicts: Iterable[Verdict],
        pictures: Mapping[Trial, Pictures] | None = None,
    ) -> None:
        """Replace what is known of a context by what this run found, evidence and all.

        A context of which nothing could be seen does not count as judged: it stays due. There are
        `pictures` of some of the trials only.
        """
        trials = list(trials)
        judged_urls = stored.urls if any(t.outcome != "invalid" for t in trials) else 0
        with self._file.writing() as db:
            db.execute("DELETE FROM trials WHERE context_id = ?", [stored.id])
            for trial in trials:
                trial_id = _put_trial(db, run_id, stored.id, trial)
                db.conn.executemany(
                    "INSERT INTO thumbnails (trial_id, kind, image) VALUES (?, ?, ?)",
                    [(trial_id, *each) for each in (pictures or {}).get(trial, {}).items()],
                )
            db.execute(
                "DELETE FROM thumbnails WHERE id <= (SELECT max(id) FROM thumbnails) - ?",
                [_MOST_THUMBNAILS],
            )
            self._put_verdicts(db, run_id, stored.id, verdicts)
            db.execute(
                "UPDATE contexts SET judged = ?, judged_urls = ? WHERE id = ?",
                [now(), judged_urls, stored.id],
            )

    def save_verdicts(
        self, run_id: int | None, context_id: int, verdicts: Iterable[Verdict]
    ) -> None:
        """Replace the verdicts of a context; its evidence stays."""
        with self._file.writing() as db:
            self._put_verdicts(db, run_id, context_id, verdicts)

    @staticmethod
    def _put_verdicts(
        db: Database, run_id: int | None, context_id: int, verdicts: Iterable[Verdict]
    ) -> None:
        db.execute("DELETE FROM verdicts WHERE context_id = ?", [context_id])
        db.conn.executemany(
            "INSERT INTO verdicts (context_id, name, decision, key_decision, reason, samples,"
            " distinct_values, mismatches, run_id, decided) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (context_id, v.name, v.decision, v.key, v.reason, v.samples, v.values,
                 v.mismatches, run_id, now())
                for v in verdicts
            ],
        )  # fmt: skip

    def run_of(self, context_id: int) -> int:
        """The run that the evidence of a context comes from; 0 without any."""
        sql = "SELECT coalesce(max(run_id), 0) FROM trials WHERE context_id = ?"
        return whole(self._file.rows(sql, [context_id])[0][0])

    def trials(self, context_id: int) -> list[Trial]:
        """The evidence of a context, in the order it was found."""
        rows = self._file.rows(
            f"SELECT {_TRIAL} FROM trials t WHERE context_id = ? ORDER BY id", [context_id]
        )
        return [_trial(*row) for row in rows]

    def pictures(self, context_id: int) -> dict[Trial, Pictures]:
        """What was seen in some of the trials of a context."""
        rows = self._file.rows(
            f"SELECT p.kind, p.image, {_TRIAL} FROM trials t JOIN thumbnails p ON p.trial_id = t.id"
            " WHERE t.context_id = ? ORDER BY p.id",
            [context_id],
        )
        found: dict[Trial, dict[str, bytes]] = {}
        for kind, image, *row in rows:
            assert isinstance(image, bytes)
            found.setdefault(_trial(*row), {})[str(kind)] = image
        return dict(found)

    def picture_numbers(self, context_id: int) -> dict[Trial, dict[str, int]]:
        """The numbers of the pictures of some of the trials of a context, by kind."""
        rows = self._file.rows(
            f"SELECT p.kind, p.id, {_TRIAL} FROM trials t JOIN thumbnails p ON p.trial_id = t.id"
            " WHERE t.context_id = ? ORDER BY p.id",
            [context_id],
        )
        found: dict[Trial, dict[str, int]] = {}
        for kind, number, *row in rows:
            found.setdefault(_trial(*row), {})[str(kind)] = whole(number)
        return found

    def picture(self, number: int) -> bytes | None:
        """The picture with this number; None when it is not there any more."""
        rows = self._file.rows("SELECT image FROM thumbnails WHERE id = ?", [number])
        return bytes(rows[0][0]) if rows else None  # type: ignore[call-overload]

    def verdicts(self, site: str) -> tuple[ContextVerdicts, ...]:
        """All that is known of a site's parameters now."""
        rows = self._file.rows(
            "SELECT path, names, name, decision, key_decision, reason, samples, distinct_values,"
            " mismatches"
            " FROM parameters WHERE site = ? ORDER BY path, names, name",
            [site],
        )
        found: dict[Context, list[Verdict]] = {}
        for path, names, name, decision, key, reason, samples, values, mismatches in rows:
            context = Context(site, str(path), tuple(json.loads(str(names))))
            found.setdefault(context, []).append(
                Verdict(
                    name=str(name),
                    decision=decision,  # type: ignore[arg-type]  # held by the table's CHECK
                    reason=str(reason),
                    samples=whole(samples),
                    values=whole(values),
                    mismatches=whole(mismatches),
                    key=key,  # type: ignore[arg-type]  # held by the table's CHECK
                )
            )
        return tuple(ContextVerdicts(context, tuple(v)) for context, v in found.items())


_TRIAL = "t.url, t.removed, t.outcome, t.reason, t.blamed, t.look, t.swapped, t.on_wire"


def _put_trial(db: Database, run_id: int, context_id: int, trial: Trial) -> int:
    (number,) = db.execute(
        "INSERT INTO trials"
        " (run_id, context_id, url, removed, outcome, reason, blamed, look, swapped, on_wire)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        [
            run_id,
            context_id,
            trial.url,
            json.dumps(sorted(trial.removed), ensure_ascii=False),
            trial.outcome,
            trial.reason,
            trial.blamed,
            trial.look,
            int(trial.swapped),
            int(trial.on_wire),
        ],
    ).fetchone()
    return int(number)


def _trial(
    url: object,
    removed: object,
    outcome: object,
    reason: object,
    blamed: object,
    look: object,
    swapped: object,
    on_wire: object,
) -> Trial:
    return Trial(
        url=str(url),
        removed=frozenset(json.loads(str(removed))),
        outcome=outcome,  # type: ignore[arg-type]  # held by the table's CHECK
        reason=str(reason),
        blamed=None if blamed is None else str(blamed),
        look=str(look),
        swapped=bool(swapped),
        on_wire=bool(on_wire),
    )
