"""All verdicts of a map as a table: one row a parameter, UTF-8, as RFC 4180 has it.

Cells that a spreadsheet would take for a formula get a `'` in front: names come from links that
anybody can make.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from miqps.formats.exporting import Exported
from miqps.mapping import Map
from miqps.rules import Rules

COLUMNS = (
    "site",
    "path",
    "pattern",
    "name",
    "verdict",
    "key_verdict",
    "reason",
    "samples",
    "values",
    "mismatches",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(map: Map, rules: Rules | None = None, sites: Iterable[str] | None = None) -> Exported:
    """The table."""
    wanted = None if sites is None else frozenset(sites)
    text, said = io.StringIO(newline=""), 0
    table = csv.writer(text)
    table.writerow(COLUMNS)
    for site in map.sites.values():
        if wanted is not None and site.site not in wanted:
            continue
        for found in (*site.contexts, *site.inferred):
            where = found.context
            for v in found.verdicts:
                said += v.fetched == "neutral"
                row = (where.site, where.path, "&".join(where.names), v.name, v.decision, v.in_key,
                       v.reason, v.samples, v.values, v.mismatches)  # fmt: skip
                table.writerow([_cell(cell) for cell in row])
    # Bytes of a name that are no UTF-8 stand as escapes already; half a surrogate pair may not.
    return Exported(text.getvalue().encode("utf-8", "backslashreplace").decode(), said, {})


def _cell(cell: str | int) -> str | int:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
