"""Pages in the journal: what a run has rendered it need not render again."""

from __future__ import annotations

from miqps.page import Page, from_bytes, to_bytes
from miqps.store.journal import Journal, JournalEntry
from miqps.view import Render


def remember(journal: Journal, run: int, render: Render, page: Page) -> None:
    """Write down what a render has shown."""
    journal.save(
        run,
        JournalEntry(
            url=render.url,
            repeat=render.repeat,
            sent=render.sent,
            outcome=page.outcome,
            reason=page.reason,
            status=page.status,
            milliseconds=page.milliseconds,
            page=to_bytes(page),
        ),
    )


def recall(journal: Journal, run: int, render: Render) -> Page | None:
    """What a render of this run has shown; None when it was not made."""
    stored = journal.page(run, render.url, render.repeat, render.sent)
    if stored is None:
        return None
    try:
        return from_bytes(stored)
    except ValueError:
        # Written by another version: it is rendered again.
        return None
