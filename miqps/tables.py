"""Text for a terminal: tables and sentences that fit 80 columns, whatever terminal it is."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDTH = 80


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], words: int = 1) -> Table:
    """A plain table: the first `words` columns hold words, the others figures.

    Without any title the columns have no line for them.
    """
    made = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for number, column in enumerate(columns):
        made.add_column(column, justify="left" if number < words else "right", overflow="fold")
    for row in rows:
        made.add_row(*(Text(str(cell)) for cell in row))
    return made


def in_80_columns(parts: Iterable[Table | str]) -> str:
    """Tables and sentences as text, one below the other, wrapped at column 80."""
    text = io.StringIO()
    console = Console(file=text, width=_WIDTH, highlight=False, markup=False, emoji=False)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
