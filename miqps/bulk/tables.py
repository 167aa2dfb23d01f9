"""Tables that are elsewhere, or many under one name: Parquet and CSV files read by DuckDB.

An own reader is there for a Parquet file on this disk. DuckDB also reads what is in S3 or behind
HTTP, and knows what `part-*.parquet` stands for.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any

from miqps.formats import BadLine, Entry, FormatError
from miqps.formats.columns import entry_of, url_column

_ROWS = 8_192
_SAMPLE = 50
_MEMORY = "256MB"
"""It only reads, so it needs little. What it needs more of goes to disk."""


def is_elsewhere(name: str) -> bool:
    """Whether this is for DuckDB: an address, or a pattern that the shell did not know."""
    return "://" in name or ("*" in name and not os.path.exists(name))


def files_of(name: str) -> list[str]:
    """The files that an address or a pattern stands for. Raises FormatError."""
    if "*" not in name:
        return [name]
    rows = _asked("SELECT file FROM glob(?) ORDER BY file", [name]).fetchall()
    if not rows:
        raise FormatError("no file has such a name")
    return [str(file) for (file,) in rows]


def entries(name: str, column: str | None) -> Iterator[Entry | BadLine]:
    """What each row gives; URLs are not checked. Raises FormatError."""
    reader = "read_csv" if ".csv" in name or ".tsv" in name else "read_parquet"
    found = _asked(f"SELECT * FROM {reader}(?) LIMIT {_SAMPLE}", [name])
    header = [str(about[0]) for about in found.description]
    rows = [["" if cell is None else str(cell) for cell in row] for row in found.fetchall()]
    quoted = header[url_column(header, rows, column)].replace('"', '""')
    found = _asked(f'SELECT "{quoted}" FROM {reader}(?)', [name])
    number = 0
    while rows_ := _next(found):
        for (value,) in rows_:
            number += 1
            yield entry_of(number, str(value or ""), _unchecked)


def _asked(sql: str, parameters: list[str]) -> Any:
    try:
        duckdb: Any = importlib.import_module("duckdb")
    except ImportError:
        raise FormatError("addresses and patterns need DuckDB; pip install 'miqps[bulk]'") from None
    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = '{_MEMORY}'")
    connection.execute("SET temp_directory = ?", [tempfile.gettempdir()])
    try:
        return connection.execute(sql, parameters)
    except duckdb.Error as error:
        raise FormatError(str(error).partition("\n")[0]) from None


def _next(found: Any) -> list[tuple[object]]:
    try:
        rows: list[tuple[object]] = found.fetchmany(_ROWS)
    except Exception as error:
        # Of a damaged file DuckDB says so in many ways.
        raise FormatError(str(error).partition("\n")[0]) from None
    return rows


def _unchecked(url: str) -> None:
    """Only the few URLs that are wanted are looked at closely."""
