"""The contexts of the corpus as the prober sees them: with what their last judgement left."""

from __future__ import annotations

import json
from dataclasses import dataclass

from miqps.loads import Kind
from miqps.store.file import File, whole
from miqps.urls import Context


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

    judged_by: str
    """The content ID that its evidence comes from; "" when there is none."""

    judged: str = ""
    """When it was last judged; "" when never."""

    drifted: str = ""
    """When live traffic last showed something else than it does stripped; "" when never."""

    judge: int = 0
    """Which judge judged it, as in `settings.JUDGE`; 0 when none did, or one of before."""


def stored_contexts(file: File, site: str, kind: Kind) -> list[StoredContext]:
    """The contexts of a site, the most seen first. Redacted URLs do not count."""
    rows = file.rows(
        "SELECT c.id, c.path, c.names, c.hits, c.judged_urls,"
        " (SELECT count(*) FROM urls u WHERE u.context_id = c.id AND NOT u.redacted),"
        " (SELECT count(*) FROM verdicts v"
        "  WHERE v.context_id = c.id AND v.decision = 'undecided'),"
        " (SELECT json_extract(r.settings, '$.content_id') FROM trials t"
        "  JOIN runs r ON r.id = t.run_id WHERE t.context_id = c.id LIMIT 1),"
        " c.judged, c.drifted,"
        " (SELECT json_extract(r.settings, '$.judge') FROM trials t"
        "  JOIN runs r ON r.id = t.run_id WHERE t.context_id = c.id LIMIT 1)"
        " FROM contexts c JOIN sites s ON s.id = c.site_id WHERE s.site = ? AND c.kind = ?"
        " ORDER BY c.hits DESC, c.path, c.names",
        [site, kind],
    )
    return [
        StoredContext(
            id=whole(id_),
            context=Context(site, str(path), tuple(json.loads(str(names)))),
            hits=whole(hits),
            urls=whole(urls_),
            judged_urls=whole(judged),
            undecided=whole(undecided),
            judged_by=str(by or ""),
            judged=str(when or ""),
            drifted=str(drifted or ""),
            judge=whole(judge or 0),
        )
        for id_, path, names, hits, judged, urls_, undecided, by, when, drifted, judge in rows
    ]
