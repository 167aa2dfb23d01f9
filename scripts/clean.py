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

from miqps.normalizer import Explanation, MapError, Normalizer, Ruling
from miqps.rules import RulesError, default_rules, load_rules
from miqps.settings import DEFAULT_DB

_PIECE = 1 << 16


@click.command(
    epilog="Example: zcat urls.gz | scripts/clean.py - --db data/miqps.db | sort -u > cleaned.txt"
)
@click.argument("urls", nargs=-1, required=True, metavar="URL...|-")
@click.option("--db", help=f"The store with the map.  [default: {DEFAULT_DB}]")
@click.option("--map", "map_file", help="A map as JSON, instead of a store.")
@click.option("--rules", help="A rule file (TOML), added to the shipped rules.")
@click.option("--key", is_flag=True, help="Print keys for finding duplicates: sorted by name.")
@click.option("--explain", is_flag=True, help="Say for each parameter what happens, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a URL.")
def main(
    urls: tuple[str, ...],
    db: str | None,
    map_file: str | None,
    rules: str | None,
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
    # The reader of a closed pipe has had enough: end like any filter does.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        known = load_rules(rules, default_rules()) if rules else default_rules()
        normalizer = Normalizer.load(map_file or db or DEFAULT_DB, known)
    except (MapError, RulesError) as error:
        raise click.ClickException(str(error)) from None
    write = _writer(normalizer, key, explain, as_json)
    # What is no URL any more is a line of ours, and ends like one.
    end = b"\n" if explain or as_json else None
    given = _stdin() if urls == ("-",) else [[os.fsencode(url) + b"\n" for url in urls]]
    for lines in given:
        _print(b"".join([_converted(line, write, end) for line in lines]))


def _writer(
    normalizer: Normalizer, key: bool, explain: bool, as_json: bool
) -> Callable[[str], str]:
    if explain:
        if as_json:
            return lambda url: json.dumps(asdict(normalizer.explain(url)))
        return lambda url: _explained(normalizer.explain(url))
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


def _explained(found: Explanation) -> str:
    width = max((len(ruling.name) for ruling in found.rulings), default=0)
    place = f"{found.site}{found.path}" if found.site else "not understood"
    lines = [found.url, f"  -> {found.cleaned}", f"  {place}, map version {found.version}"]
    lines += [f"  {ruling.name:{width}}  {_reason(ruling)}" for ruling in found.rulings]
    return "\n".join(lines)


def _reason(ruling: Ruling) -> str:
    what = f"{'kept' if ruling.kept else 'dropped'}  {ruling.layer}: {ruling.reason}"
    if ruling.verdict is None:
        return what
    seen = ruling.verdict
    return f"{what} ({seen.samples} samples, {seen.values} values, {seen.mismatches} mismatches)"


if __name__ == "__main__":
    main()
