"""The corpus: put URL lists into it, and see what it holds."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from miqps import listing
from miqps.formats import urllist
from miqps.formats.intake import Intake, take
from miqps.settings import DEFAULT_DB
from miqps.store import Store, StoreError

db_option = click.option("--db", default=DEFAULT_DB, show_default=True, help="The store to use.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.group(epilog="Example: scripts/corpus.py add urls.txt")
def main() -> None:
    """Put URL lists into the corpus, and see what it holds."""
    # File names and paths may hold what the terminal's encoding has no letter for.
    sys.stdout.reconfigure(errors="backslashreplace")


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@db_option
@json_option
def add(files: tuple[str, ...], db: str, as_json: bool) -> None:
    """Add the URLs of lists, one URL a line; - is standard input.

    Blank lines and lines that begin with # are passed over, and so are URLs that cannot become
    samples: these are counted by reason.
    """
    intake, failed = Intake(), []
    with failing_in_one_line():
        try:
            with Store.open(db) as store, showing(files, intake) as shown:
                for name in files:
                    try:
                        with opened(name) as file:
                            entries = urllist.read(urllist.lines(file))
                            take(store, name, entries, intake, partial(shown, name, file))
                    except OSError as error:
                        failed.append(f"{name}: {error.strerror or error}")
        except (StoreError, KeyboardInterrupt):
            click.echo(f"{intake.urls} URLs were stored before that", err=True)
            raise
        report(intake, failed, db, as_json)
    sys.exit(1 if failed else 0)


@main.command("list")
@db_option
@json_option
def list_(db: str, as_json: bool) -> None:
    """Show sites and contexts, with hits, URLs and verdicts.

    A table on a terminal; lines with tabs when piped.
    """
    with failing_in_one_line():
        with Store.open(db, create=False) as store:
            sites = listing.listing(store)
        console = Console()
        if as_json:
            click.echo(json.dumps(listing.as_dict(sites), indent=2))
        elif not sites:
            click.echo(f"{db}: nothing was recorded yet", err=True)
        elif console.is_terminal:
            listing.show(sites, console)
        else:
            for line in listing.as_lines(sites):
                click.echo(line)


@contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Turn what may go wrong into one line and exit code 1."""
    try:
        yield
    except StoreError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        raise click.ClickException("stopped; what is stored stays") from None


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """The file of this name, or standard input for `-`."""
    if name == "-":
        yield sys.stdin.buffer
    else:
        with open(name, "rb") as file:
            yield file


@contextmanager
def showing(files: tuple[str, ...], intake: Intake) -> Iterator[Callable[[str, BinaryIO], None]]:
    """Give the function that shows, on a terminal, how far the reading is."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda name, file: None
        return
    sizes = {name: os.path.getsize(name) for name in files if os.path.isfile(name)}
    # How much comes through a pipe is not known: the bar moves to and fro then.
    total = sum(sizes.values()) if sizes.keys() == set(files) else None
    columns = (SpinnerColumn(), BarColumn(20), TextColumn("{task.fields[urls]:,} URLs"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total, urls=0)
        read: dict[str, int] = {}

        def shown(name: str, file: BinaryIO) -> None:
            if total is not None:
                read[name] = file.tell()
            bar.update(task, urls=intake.urls, completed=sum(read.values()))

        yield shown


def report(intake: Intake, failed: list[str], db: str, as_json: bool) -> None:
    """Print what became of the lines; on stderr what did not go well."""
    if as_json:
        result = {
            "urls": intake.urls,
            "new": intake.new,
            "passed_over": dict(intake.passed_over.most_common()),
            "examples": [
                {"file": name, "line": line, "reason": reason}
                for name, line, reason in intake.examples
            ],
            "failed": failed,
        }
        click.echo(json.dumps(result, indent=2))
    else:
        click.echo(f"{intake.urls} URLs added to {db}, {intake.new} of them new")
    for reason, count in intake.passed_over.most_common():
        click.echo(f"{count} passed over: {reason}", err=True)
    for name, line, reason in intake.examples:
        click.echo(f"  {name}:{line}: {reason}", err=True)
    for line in failed:
        click.echo(f"Error: {line}", err=True)


if __name__ == "__main__":
    main()
