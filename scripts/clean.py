"""Clean URLs: the filter for shells."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from miqps.formats.listed import priors_of
from miqps.normalizer import Explanation, MapError, Normalizer, Ruling
from miqps.priors import Priors
from miqps.rules import RulesError, default_rules, load_rules
from miqps.settings import DEFAULT_DB
from miqps.sources import is_address
from miqps.sources.path import is_store
from miqps.store import Store, StoreError

_PIECE = 1 << 16


@click.command(
    epilog="Example: zcat urls.gz | scripts/clean.py - --db data/miqps.db | sort -u > cleaned.txt"
)
@click.argument("urls", nargs=-1, required=True, metavar="URL...|-")
@click.option("--db", help=f"The store with the map.  [default: {DEFAULT_DB}]")
@click.option("--map", "map_file", help="A map as JSON, instead of a store.")
@click.option("--rules", help="A rule file (TOML), added to the shipped rules.")
@click.option(
    "--trust-lists",
    is_flag=True,
    help="Let go what imported lists say, where nothing was learned. Needs --db.",
)
@click.option("--key", is_flag=True, help="Print keys for finding duplicates: sorted by name.")
@click.option("--explain", is_flag=True, help="Say for each parameter what happens, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a URL.")
def main(
    urls: tuple[str, ...],
    db: str | None,
    map_file: str | None,
    rules: str | None,
    trust_lists: bool,
    key: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Take the parameters out of URLs that the map knows to be neutral.

    - reads one URL a line from standard input. Order, line ends and bytes are kept.
    """
    if db and map_file:
        raise click.UsageError("--db and --map exclude each other")
    if key and explain:
        raise click.UsageError("--key and --explain exclude each other")
    if "-" in urls and len(urls) > 1:
        raise click.UsageError("- takes its URLs from standard input and stands alone")
    if trust_lists and map_file:
        raise click.UsageError("--trust-lists needs --db: a map has no lists")
    # The reader of a closed pipe has had enough: end like any filter does.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        known = load_rules(rules, default_rules()) if rules else default_rules()
        place = map_file or db or DEFAULT_DB
        lists = _lists(place) if trust_lists or (explain and not map_file) else Priors()
        trusted = lists if trust_lists else None
        normalizer = Normalizer.load(place, known, trusted=trusted)
    except (MapError, RulesError, StoreError) as error:
        raise click.ClickException(str(error)) from None
    write = _writer(normalizer, lists, key, explain, as_json)
    # What is no URL any more is a line of ours, and ends like one.
    end = b"\n" if explain or as_json else None
    given = _stdin() if urls == ("-",) else [[os.fsencode(url) + b"\n" for url in urls]]
    for lines in given:
        _print(b"".join([_converted(line, write, end) for line in lines]))


def _lists(place: str) -> Priors:
    """The lists of a store; none when it is something else, which `Normalizer.load` will say."""
    if is_address(place) or not os.path.isfile(place) or not is_store(place):
        return Priors()
    with Store.open(place, create=False) as store:
        return priors_of(store)


def _writer(
    normalizer: Normalizer, lists: Priors, key: bool, explain: bool, as_json: bool
) -> Callable[[str], str]:
    if explain:

        def listed(url: str, found: Explanation) -> dict[str, str]:
            said = ((ruling.name, lists.says(url, ruling.name)) for ruling in found.rulings)
            return {name: source for name, source in said if source is not None}

        def explained(url: str) -> str:
            found = normalizer.explain(url)
            if as_json:
                return json.dumps({**asdict(found), "listed": listed(url, found)})
            return _explained(found, listed(url, found))

        return explained
    convert = normalizer.key if key else normalizer.clean
    if as_json:
        name = "key" if key else "cleaned"
        return lambda url: json.dumps({"url": url, name: convert(url)})
    return convert


def _stdin() -> Iterator[list[bytes]]:
    """The lines of standard input as they come: what is there is not kept waiting."""
    if sys.stdin is None:
        raise click.ClickException("standard input is closed")
    rest: list[bytes] = []
    try:
        while piece := sys.stdin.buffer.read1(_PIECE):
            head, end, tail = piece.rpartition(b"\n")
            if end:
                yield [line + b"\n" for line in b"".join([*rest, head]).split(b"\n")]
                rest = []
            rest.append(tail)
    except OSError as error:
        raise click.ClickException(f"standard input: {error.strerror}") from None
    if any(rest):
        yield [b"".join(rest)]


def _print(data: bytes) -> None:
    if sys.stdout is None:
        raise click.ClickException("standard output is closed")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        # What is left in the buffer would fail once more at the end.
        sys.stdout = None  # type: ignore[assignment]
        raise click.ClickException(f"standard output: {error.strerror}") from None


def _converted(line: bytes, write: Callable[[str], str], end: bytes | None) -> bytes:
    url = line.rstrip(b"\r\n")
    if not url:
        return line
    # Bytes that are no UTF-8 go through as they came.
    text = write(url.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape") + (end or line[len(url) :])


def _explained(found: Explanation, listed: dict[str, str]) -> str:
    width = max((len(ruling.name) for ruling in found.rulings), default=0)
    place = f"{found.site}{found.path}" if found.site else "not understood"
    lines = [found.url, f"  -> {found.cleaned}", f"  {place}, map version {found.version}"]
    for ruling in found.rulings:
        lines.append(f"  {ruling.name:{width}}  {_reason(ruling)}")
        if ruling.name in listed and ruling.layer != "list":
            lines.append(f"  {'':{width}}  {listed[ruling.name]} lets it go")
    return "\n".join(lines)


def _reason(ruling: Ruling) -> str:
    what = f"{'kept' if ruling.kept else 'dropped'}  {ruling.layer}: {ruling.reason}"
    if ruling.verdict is None:
        return what
    seen = ruling.verdict
    return f"{what} ({seen.samples} samples, {seen.values} values, {seen.mismatches} mismatches)"


if __name__ == "__main__":
    main()
