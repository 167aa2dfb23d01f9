"""What the command lines share: options, and errors that are one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from miqps.bulk.job import BulkError
from miqps.mapping import MapError
from miqps.rules import RulesError
from miqps.settings import DEFAULT_DB
from miqps.store import StoreError

db_option = click.option("--db", default=DEFAULT_DB, show_default=True, help="The store to use.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Turn what may go wrong into one line and exit code 1."""
    try:
        yield
    except (StoreError, MapError, RulesError, BulkError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        if error.filename is None:  # a closed pipe: click knows what to do
            raise
        raise click.ClickException(f"{error.filename}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        raise click.ClickException("stopped; what is stored stays") from None
