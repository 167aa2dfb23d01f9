"""The corpus: put into it what you have, see what it holds, take out what is to be forgotten."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from miqps import ages, formats, listing, settings
from miqps.bulk.command import Asked, Outcome
from miqps.bulk.command import run as bulk_run
from miqps.bulk.workers import workers as bulk_workers
from miqps.cli import db_option, failing_in_one_line, json_option
from miqps.formats import FORMATS, FormatError
from miqps.formats.intake import Intake, take
from miqps.planning import known_site
from miqps.store import Store, StoreError


def format_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what files are."""
    for option in (
        click.option("--column", help="Name or number of the column with the URLs, for tables."),
        click.option("--site", help="Scheme and host of an access log: https://shop.example."),
        click.option(
            "--format",
            "format_",
            type=click.Choice(["auto", *FORMATS]),
            default="auto",
            show_default=True,
            help="What the files are; auto tells it by content and name.",
        ),
    ):
        command = option(command)
    return command


@click.group(epilog="Example: scripts/corpus.py add urls.txt")
def main() -> None:
    """Put URLs into the corpus, see what it holds, forget."""
    # File names and paths may hold what the terminal's encoding has no letter for.
    sys.stdout.reconfigure(errors="backslashreplace")


@main.command(epilog="Example: scripts/corpus.py add access.log.gz --site https://shop.example")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@format_options
@db_option
@json_option
def add(
    files: tuple[str, ...],
    format_: str,
    site: str | None,
    column: str | None,
    db: str,
    as_json: bool,
) -> None:
    """Add URLs from lists, HAR and flow files, access logs, CDX, WARC, sitemaps and tables.

    Compressed or not; - is standard input. URLs that cannot become samples are passed over, and
    counted by reason. A file that was added before adds only what is new in it, so an interrupted
    run can be repeated.
    """
    intake, failed = Intake(), []
    with failing_in_one_line():
        try:
            with Store.open(db) as store, showing(files, intake) as shown:
                for name in files:
                    try:
                        with opened(name) as file:
                            known = None if name == "-" else store.imports.look(name)
                            entries = formats.read(name, file, format_, site, column)
                            done = partial(shown, name, file)
                            take(store, name, entries, intake, done, known)
                    except OSError as error:
                        failed.append(f"{name}: {error.strerror or error}")
                    except FormatError as error:
                        failed.append(f"{name}: {error}")
        except (StoreError, KeyboardInterrupt):
            click.echo(f"{intake.urls} URLs were stored before that", err=True)
            raise
        report(intake, failed, db, as_json)
    sys.exit(1 if failed else 0)


@main.command(epilog="Example: scripts/corpus.py bulk crawl/*.cdxj.gz --out corpus")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--db", help="Put the samples into this store.")
@click.option("--out", help="Put them into stores of their own, in this folder.")
@click.option(
    "--shares",
    type=click.IntRange(1, 999),
    default=16,
    show_default=True,
    help="Parts into which the sites are divided; with --out, as many stores.",
)
@click.option(
    "--top-patterns",
    type=click.IntRange(1),
    default=settings.JUDGING.top_patterns,
    show_default=True,
    help="K: contexts a site, the most seen first.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=os.cpu_count(),
    show_default="one a core",
    help="Processes of this machine.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster that reads instead.")
@click.option(
    "--memory",
    type=click.IntRange(256),
    default=1024,
    show_default=True,
    metavar="MB",
    help="For all workers of this machine; on a cluster, for each.",
)
@format_options
@json_option
def bulk(
    files: tuple[str, ...],
    db: str | None,
    out: str | None,
    shares: int,
    top_patterns: int,
    workers: int,
    scheduler: str | None,
    memory: int,
    format_: str,
    site: str | None,
    column: str | None,
    as_json: bool,
) -> None:
    """Take samples from a crawl's files, without a row for every URL.

    Reads what `add` reads, and with DuckDB addresses (s3://) and patterns. Only URLs are taken, no
    links out of pages. Goes on where it was interrupted, when it is called in the same way again.
    """
    if (db is None) == (out is None):
        raise click.UsageError("give --db or --out, and not both")
    asked = Asked(files, format_, site, column, shares, top_patterns)
    place = Path(out) if out else Path(f"{db}.bulk")
    room = memory if scheduler else memory // workers
    with failing_in_one_line(), bulk_workers(workers, scheduler) as processes:
        done = bulk_run(asked, place, None if out else db, room, processes)
    report_bulk(done, out or str(db), as_json)
    sys.exit(1 if done.failed else 0)


@main.command("list")
@db_option
@json_option
def list_(db: str, as_json: bool) -> None:
    """Show sites and contexts, with hits, URLs, values of each parameter, and verdicts.

    A table on a terminal; lines with tabs when piped. A parameter needs three values to be judged.
    """
    with failing_in_one_line(), Store.open(db, create=False) as store:
        print_listing(listing.listing(store), db, as_json)


@main.command(epilog="Example: scripts/corpus.py show shop.example")
@click.argument("site")
@db_option
@json_option
def show(site: str, db: str, as_json: bool) -> None:
    """Show the contexts of one site with their sample URLs."""
    with failing_in_one_line(), Store.open(db, create=False) as store:
        contexts = listing.listing(store, [the_site(store, site)])
        samples = {
            listed.stored.id: store.corpus.urls_of(listed.stored.id)
            for found in contexts.values()
            for listed in found
        }
        if as_json:
            click.echo(json.dumps(listing.as_dict(contexts, samples), indent=2))
        else:
            for line in listing.with_samples(contexts, samples):
                click.echo(line)


@main.command()
@click.argument("other", metavar="OTHER.db")
@db_option
@json_option
def merge(other: str, db: str, as_json: bool) -> None:
    """Add the corpus of another store: hits are added up, evidence and maps stay there."""
    with failing_in_one_line(), ExitStack() as opened_stores:
        if os.path.exists(db) and os.path.exists(other) and os.path.samefile(db, other):
            raise click.UsageError(f"{other} is the store itself; name another one")
        theirs = opened_stores.enter_context(Store.open(other, create=False))
        ours = opened_stores.enter_context(Store.open(db))
        new = ours.merge(theirs, lambda site: None)
    if as_json:
        click.echo(json.dumps({"new": new}))
    else:
        click.echo(f"{new} URLs of {other} are new in {db}")


@main.command(epilog="Example: scripts/corpus.py forget --older-than 90d")
@click.argument("sites", nargs=-1, metavar="[SITE]...")
@click.option("--older-than", metavar="DAYS", help="What was not seen for so many days: 90d.")
@db_option
@json_option
def forget(sites: tuple[str, ...], older_than: str | None, db: str, as_json: bool) -> None:
    """Forget sites, or what was not seen for long: URLs, evidence, and pages that were rendered.

    The published map stays until the next one is published.
    """
    days = parse_days(older_than)
    if (days is None) == (not sites):
        raise click.UsageError("name sites, or give --older-than, and not both")
    with failing_in_one_line(), Store.open(db, create=False) as store:
        if days is not None:
            contexts = store.forget_older(days)
        else:
            contexts = sum(store.forget_site(the_site(store, site)) for site in sites)
    if as_json:
        click.echo(json.dumps({"contexts": contexts}))
    else:
        click.echo(f"{contexts} contexts forgotten")


@main.command()
@db_option
@json_option
def stats(db: str, as_json: bool) -> None:
    """Show how much is in the store."""
    with failing_in_one_line(), Store.open(db, create=False) as store:
        found = store.figures()
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        for name, value in found.items():
            text = f"{value:,}" if isinstance(value, int) else value or "never"
            click.echo(f"{name.replace('_', ' '):20}{text}")


def report_bulk(done: Outcome, to: str, as_json: bool) -> None:
    """Print what became of a crawl; on stderr what did not go well."""
    if as_json:
        click.echo(json.dumps(vars(done), indent=2))
    else:
        click.echo(
            f"{done.urls} URLs of {done.sites} sites; {done.kept} of them, in {done.contexts}"
            f" contexts, are new in {to}"
        )
    report_passed_over(done.passed_over, done.examples, done.failed)


def the_site(store: Store, name: str) -> str:
    """The site of the corpus that is meant."""
    site = known_site(store, name)
    if site is None:
        raise click.ClickException(
            f"{name}: not in the corpus; scripts/corpus.py list --db {store.path} shows what is"
        )
    return site


def parse_days(text: str | None) -> float | None:
    """Days from `90d`, `12w` or `90`. Raises UsageError."""
    if text is None:
        return None
    try:
        return ages.days(text)
    except ValueError as error:
        raise click.UsageError(f"--older-than {error}") from error


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


def print_listing(sites: dict[str, list[listing.Listed]], db: str, as_json: bool) -> None:
    """Print sites and contexts the way the output wants them."""
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


def report(intake: Intake, failed: list[str], db: str, as_json: bool) -> None:
    """Print what became of the lines; on stderr what did not go well."""
    if as_json:
        result = {
            "urls": intake.urls,
            "new": intake.new,
            "links": intake.links,
            "passed_over": dict(intake.passed_over.most_common()),
            "examples": [
                {"file": name, "line": line, "reason": reason}
                for name, line, reason in intake.examples
            ],
            "failed": failed,
        }
        click.echo(json.dumps(result, indent=2))
    else:
        links = f" and {intake.links} links in pages" if intake.links else ""
        click.echo(f"{intake.urls} URLs{links} added to {db}, {intake.new} of them new")
    report_passed_over(intake.passed_over, intake.examples, failed)


def report_passed_over(
    passed_over: Counter[str], examples: list[tuple[str, int, str]], failed: list[str]
) -> None:
    """Name on stderr what gave nothing, and why."""
    for reason, count in passed_over.most_common():
        click.echo(f"{count} passed over: {reason}", err=True)
    for name, line, reason in examples:
        click.echo(f"  {name}:{line}: {reason}", err=True)
    for line in failed:
        click.echo(f"Error: {line}", err=True)


if __name__ == "__main__":
    main()
