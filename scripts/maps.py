"""The life of the map: its versions, what is pinned in it, and its ways out and in."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from miqps import atlas, mapping, urls
from miqps.cli import db_option, failing_in_one_line, json_option
from miqps.difference import as_lines, difference
from miqps.following import Follower
from miqps.formats.exporting import EXPORTS, export
from miqps.formats.listed import LISTS, MAP, Taken, take_in
from miqps.mapping import Map, MapError, Pin
from miqps.planning import last_rules
from miqps.publish import Published, publish, publish_pins, roll_back
from miqps.rules import default_rules, load_rules
from miqps.shards import write as write_shards
from miqps.store import Store
from miqps.summary import in_words
from miqps.tables import in_80_columns

path_option = click.option(
    "--path", default="/", show_default=True, help="Below this path only: a prefix."
)


def _site(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    site = text if text is None else urls.site(text) or urls.site(f"http://{text}")
    if text is not None and site is None:
        raise click.BadParameter(f"{text!r} is no site; write shop.example or a URL of it")
    return site


def _sites(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[str | None, ...]:
    return tuple(_site(context, parameter, text) for text in texts)


@click.group(epilog="Example: scripts/maps.py diff 3 4")
def main() -> None:
    """Look at published maps, go back, pin parameters, hand maps on."""
    # Names and paths may hold what the terminal's encoding has no letter for.
    sys.stdout.reconfigure(errors="backslashreplace")


@main.command("list")
@db_option
@json_option
def list_(db: str, as_json: bool) -> None:
    """Show the versions that are kept, the newest first."""
    with failing_in_one_line(), Store.open(db, create=False) as store:
        versions = store.maps.versions()
    if as_json:
        click.echo(json.dumps([asdict(version) for version in versions], indent=2))
    elif versions:
        click.echo(atlas.of_versions(versions))
    else:
        click.echo(f"{db}: no map was published yet; run scripts/probe.py --db {db}", err=True)


@main.command(epilog="Example: scripts/maps.py show shop.example")
@click.argument("site", required=False, callback=_site)
@db_option
@json_option
def show(site: str | None, db: str, as_json: bool) -> None:
    """Show the sites of the map in force, or all that is known of one site."""
    with failing_in_one_line(), Store.open(db, create=False) as store:
        known = the_map(store, None)
        if site is None:
            click.echo(mapping.to_json(known) if as_json else atlas.of_map(known))
            return
        found, decisions = known.sites.get(site), store.maps.decisions(site)
        if found is None:
            raise click.ClickException(f"{site}: not in the map; see: scripts/maps.py show")
        if as_json:
            one = json.loads(mapping.to_json(Map(known.version, known.created, {site: found})))
            one["decisions"] = [asdict(decision) for decision in decisions]
            click.echo(json.dumps(one, indent=2))
        else:
            click.echo(atlas.of_site(found, decisions))


@main.command(epilog="Example: scripts/maps.py diff 3 4")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@db_option
@json_option
def diff(before: str, after: str, db: str, as_json: bool) -> None:
    """Show what B says otherwise than A: versions, or map files."""
    with failing_in_one_line():
        changes = difference(named(before, db), named(after, db))
    if as_json:
        click.echo(json.dumps([asdict(change) for change in changes], indent=2))
    elif changes:
        click.echo(in_80_columns(as_lines(changes)))
    else:
        click.echo("no verdict is another one", err=True)


@main.command("publish", epilog="Example: scripts/maps.py publish --accept shop.example")
@click.option(
    "--accept",
    multiple=True,
    metavar="SITE",
    callback=_sites,
    help="Let all changes of this site through: you have seen them, and the site did change.",
)
@db_option
@json_option
def publish_(accept: tuple[str, ...], db: str, as_json: bool) -> None:
    """Weigh the evidence in the store once more, and publish what passes the gate."""
    with failing_in_one_line(), Store.open(db, create=False) as store:
        unknown = sorted({*accept} - {*store.corpus.sites(), *store.maps.imported()})
        if unknown:
            raise click.ClickException(f"{unknown[0]}: nothing is known of it in {db}")
        report(publish(store, None, last_rules(store), accept), as_json)


@main.command(epilog="Example: scripts/maps.py rollback 3")
@click.argument("version", type=click.IntRange(1))
@db_option
@json_option
def rollback(version: int, db: str, as_json: bool) -> None:
    """Publish an earlier version once more. What is pinned stays pinned.

    What may go now and might not go then has to be confirmed by later runs before it goes again.
    """
    with failing_in_one_line(), Store.open(db, create=False) as store:
        report(roll_back(store, version), as_json)


@main.command(epilog="Example: scripts/maps.py pin shop.example ref keep")
@click.argument("site", callback=_site)
@click.argument("name")
@click.argument("action", type=click.Choice(["keep", "strip"]))
@path_option
@db_option
@json_option
def pin(site: str, name: str, action: mapping.Action, path: str, db: str, as_json: bool) -> None:
    """Decide by hand: keep or strip a parameter of a site, whatever is learned.

    In force at once. Only what must never be touched (log-in hand-overs, signatures, payments)
    stands above it.
    """
    if not path.startswith("/"):
        raise click.UsageError(f"--path must start with /, not {path!r}")
    with failing_in_one_line(), Store.open(db) as store:
        store.pins.put(site, Pin(name, action, path))
        report(publish_pins(store), as_json)


@main.command(epilog="Example: scripts/maps.py unpin shop.example ref")
@click.argument("site", callback=_site)
@click.argument("name")
@path_option
@db_option
@json_option
def unpin(site: str, name: str, path: str, db: str, as_json: bool) -> None:
    """Take a pin out: what was learned counts again."""
    with failing_in_one_line(), Store.open(db, create=False) as store:
        if not store.pins.remove(site, name, path):
            raise click.ClickException(
                f"{name} of {site} is not pinned below {path}; see: scripts/maps.py show {site}"
            )
        report(publish_pins(store), as_json)


@main.command("export", epilog="Example: scripts/maps.py export removeparam --out neutral.txt")
@click.argument("format_", metavar="FORMAT", type=click.Choice(sorted(EXPORTS)))
@click.argument("sites", nargs=-1, metavar="[SITE]...", callback=_sites)
@click.option("--out", type=click.Path(dir_okay=False, writable=True), help="The file to write.")
@click.option("--rules", help="A rule file (TOML) that stands above the map, beside the shipped.")
@click.option("--version", type=click.IntRange(1), help="A version; without it the one in force.")
@db_option
def export_(
    format_: str,
    sites: tuple[str, ...],
    out: str | None,
    rules: str | None,
    version: int | None,
    db: str,
) -> None:
    """Write the map for another tool. FORMAT: json, csv, removeparam (AdGuard, uBlock), clearurls,
    clean-param (Yandex), no-vary-search, varnish, nginx, cache-keys, scrapy.

    Never more goes by it than by the map itself; what a format cannot say is left out and counted.
    """
    with failing_in_one_line():
        known_rules = load_rules(rules, default_rules()) if rules else None
        with Store.open(db, create=False) as store:
            known = the_map(store, version)
        unknown = sorted({*sites} - {*known.sites})
        if unknown:
            raise click.ClickException(f"{unknown[0]}: not in the map; see: scripts/maps.py show")
        made = export(known, format_, known_rules, sites or None)
        if out is None:
            click.echo(made.text, nl=False)
        else:
            replace_file(out, made.text)
    click.echo(f"{made.said} neutral parameters are said", err=True)
    for reason, number in sorted(made.left_out.items()):
        click.echo(f"{number} left out: {reason}", err=True)


@main.command(epilog="Example: scripts/maps.py shard corpus/*.db --out map.shards")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--out", required=True, help="The folder; a map that is in it is replaced.")
@click.option("--shards", type=click.IntRange(1, 999), default=16, show_default=True)
def shard(sources: tuple[str, ...], out: str, shards: int) -> None:
    """Put the maps of stores, files and addresses, each of other sites, into a folder of shards.

    `Normalizer.load` opens it without reading it: for a map of a million sites.
    """
    with failing_in_one_line():
        made = write_shards(Path(out), (Follower(each).first() for each in sources), shards)
    click.echo(f"{len(made.sites)} sites, {made.contexts} contexts in {out}")


@main.command("import", epilog="Example: scripts/maps.py import clearurls.json filter.txt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["auto", MAP, *LISTS]),
    default="auto",
    show_default=True,
    help="What the files are; auto tells it by their content.",
)
@click.option("--site", callback=_site, help="Whose robots.txt it is.")
@db_option
@json_option
def import_(files: tuple[str, ...], format_: str, site: str | None, db: str, as_json: bool) -> None:
    """Take in maps of other stores, and lists that people keep by hand.

    A map passes the gate like one of our own; what was judged here stands above it. What ClearURLs
    rules, $removeparam filters and Clean-param say is a hint for the next run, and shows in
    explanations; it is never a verdict.
    """
    taken, failed, published = list[Taken](), list[str](), None
    with failing_in_one_line(), Store.open(db) as store:
        for name in files:
            try:
                taken.append(take_in(store, name, format_, site or ""))
            except OSError as error:
                failed.append(f"{name}: {error.strerror or error}")
            except ValueError as error:
                failed.append(f"{name}: {error}")
        if any(each.format == MAP for each in taken):
            published = publish(store, None, last_rules(store))
    if as_json:
        said = {"taken": [asdict(each) for each in taken], "failed": failed}
        click.echo(json.dumps({**said, "published": published and asdict(published)}, indent=2))
    else:
        for each in taken:
            click.echo(f"{each.name}: {each.format}, {each.entries} entries")
        if published is not None:
            report(published, as_json=False)
    for each in taken:
        if each.passed_over:
            click.echo(f"{each.name}: {each.passed_over} passed over: not understood", err=True)
    for line in failed:
        click.echo(f"Error: {line}", err=True)
    sys.exit(1 if failed else 0)


def replace_file(name: str, text: str) -> None:
    """Write a file at once: who follows it reads the old text or the new one."""
    new = Path(f"{name}.new")
    new.write_text(text, encoding="utf-8", newline="")
    new.replace(name)


@main.command(epilog="Example: scripts/maps.py verify map.json")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@db_option
@json_option
def verify(files: tuple[str, ...], db: str, as_json: bool) -> None:
    """Read every version in the store, or map files, and say whether they can be used."""
    found, damaged = dict[str, str](), 0
    with failing_in_one_line(), ExitStack() as opened:
        for name, read in from_files(files) if files else from_store(db, opened):
            try:
                found[name] = f"fine, {read_through(read())}"
            except (MapError, OSError) as error:
                found[name] = f"damaged: {error}"
                damaged += 1
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        for name, said in found.items():
            click.echo(f"{name}: {said}")
    sys.exit(1 if damaged else 0)


def from_files(files: tuple[str, ...]) -> Iterator[tuple[str, Callable[[], Map]]]:
    """Map files, each with what reads it."""
    for name in files:
        yield name, partial(read_file, name)


def from_store(db: str, opened: ExitStack) -> Iterator[tuple[str, Callable[[], Map]]]:
    """The versions in a store, each with what reads it."""
    store = opened.enter_context(Store.open(db, create=False))
    for version in store.maps.versions():
        yield f"version {version.version}", partial(the_map, store, version.version)


def read_through(known: Map) -> str:
    """Read all of a map, every site, and say how much it is. Raises MapError."""
    verdicts = sum(len(c.verdicts) for site in known.sites.values() for c in site.contexts)
    return f"{len(known.sites)} sites, {known.contexts} contexts, {verdicts} verdicts"


def read_file(name: str) -> Map:
    """The map in a JSON file. Raises MapError, OSError."""
    try:
        return mapping.from_json(Path(name).read_bytes())
    except MapError as error:
        raise MapError(f"{name}: {error}") from None


def the_map(store: Store, version: int | None) -> Map:
    """A version, the one in force for None. Raises MapError: there is none, or it is damaged."""
    known = store.maps.newest() if version is None else store.maps.read(version)
    if known is not None:
        return known
    if version is None:
        raise MapError(f"{store.path}: no map was published yet; run scripts/probe.py")
    raise MapError(f"{store.path}: version {version} is not kept; see: scripts/maps.py list")


def named(text: str, db: str) -> Map:
    """The version with this number, or the map in the file of this name."""
    if not text.isdecimal():
        return read_file(text)
    with Store.open(db, create=False) as store:
        return the_map(store, int(text))


def report(published: Published, as_json: bool) -> None:
    """Say what came of publishing."""
    if as_json:
        click.echo(json.dumps(asdict(published), indent=2))
        return
    for decision in published.decisions:
        for line in in_words(decision):
            click.echo(in_80_columns([line]))
    what = "is published" if published.is_new else "stays in force"
    click.echo(f"Map version {published.version} {what}.")


if __name__ == "__main__":
    main()
