"""Parquet files, by pyarrow, a batch of rows at a time and only the column with the URLs."""

from __future__ import annotations

import importlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from miqps.formats.columns import entry_of, url_column
from miqps.formats.entry import BadLine, DamagedError, Entry, FormatError, Source

_ROWS = 4_096
_SAMPLE = 50


def entries(source: Source) -> Iterator[Entry | BadLine]:
    """What each row gives; numbers count rows.

    Raises FormatError without pyarrow, and when it is not clear which column holds the URLs.
    """
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
        arrow: Any = importlib.import_module("pyarrow")
    except ImportError:
        raise FormatError("Parquet files need pyarrow; pip install 'miqps[parquet]'") from None
    with ExitStack() as stack:
        file = source.whole
        if file is None:
            # Its table of contents is at the end: what comes through a pipe has to be kept.
            file = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(source.file, file)
        try:
            table = stack.enter_context(parquet.ParquetFile(file, pre_buffer=False))
            yield from _rows(source, table, arrow)
        except FormatError:
            raise
        except Exception as error:
            # Of a damaged file pyarrow says so in many ways, OSError without a number among them.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise DamagedError("damaged Parquet file") from None


def _rows(source: Source, table: Any, arrow: Any) -> Iterator[Entry | BadLine]:
    fields = list(table.schema_arrow)
    names = [field.name for field in fields]
    texts = {field.name for field in fields if _is_text(field.type, arrow.types)}
    first = next(table.iter_batches(_SAMPLE, columns=[*texts]), None)
    held = {} if first is None else {name: _values(first.column(name)) for name in texts}
    rows = [
        [held[name][row] if name in held else "" for name in names]
        for row in range(0 if first is None else first.num_rows)
    ]
    column = names[url_column(names, rows, source.column)]
    if column not in texts:
        raise FormatError(f"column {column!r} holds no text, so no URLs")
    number = 0
    for batch in table.iter_batches(_ROWS, columns=[column]):
        for value in _values(batch.column(0)):
            number += 1
            yield entry_of(number, value, source.check)


def _is_text(kind: Any, types: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _values(column: Any) -> list[str]:
    """The texts of a column, empty where there is none."""
    # As bytes first: a damaged file may hold what is no UTF-8.
    return [
        (value or b"").decode("utf-8", "replace") for value in column.cast("binary").to_pylist()
    ]
