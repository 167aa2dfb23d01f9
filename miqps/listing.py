"""What the corpus holds, site by site: as a table, as plain lines, as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from miqps import query
from miqps.mapping import Decision
from miqps.store import Store, StoredContext

_DECISIONS: tuple[str, ...] = get_args(Decision)


@dataclass(frozen=True, slots=True)
class Listed:
    """A context, and how many of its parameters have which verdict."""

    stored: StoredContext
    verdicts: Counter[str]
    values: dict[str, int]
    """How many values of each name there are to judge by."""


def listing(store: Store, sites: list[str] | None = None) -> dict[str, list[Listed]]:
    """The contexts of these sites, or of all, both the most seen first. Raises StoreError."""
    found = {}
    for site in store.corpus.sites() if sites is None else sites:
        verdicts = {
            known.context: Counter[str](v.decision for v in known.verdicts)
            for known in store.evidence.verdicts(site)
        }
        found[site] = [
            Listed(
                stored,
                verdicts.get(stored.context, Counter()),
                values_of(stored.context.names, store.corpus.urls_of(stored.id)),
            )
            for stored in store.corpus.contexts(site)
        ]
    return found


def values_of(names: tuple[str, ...], urls: list[str]) -> dict[str, int]:
    """How many values each name has in these URLs."""
    return {name: len({query.values(url, name) for url in urls}) for name in names}


def as_dict(
    sites: dict[str, list[Listed]], samples: dict[int, list[str]] | None = None
) -> dict[str, Any]:
    """The listing for `json.dumps`, with the sample URLs of each context by its id if given."""
    return {
        "sites": [
            {
                "site": site,
                "contexts": [
                    {
                        "path": listed.stored.context.path,
                        "names": list(listed.stored.context.names),
                        "hits": listed.stored.hits,
                        "urls": listed.stored.urls,
                        "values": listed.values,
                        **{decision: listed.verdicts[decision] for decision in _DECISIONS},
                        **({"samples": samples[listed.stored.id]} if samples else {}),
                    }
                    for listed in contexts
                ],
            }
            for site, contexts in sites.items()
        ]
    }


def as_lines(sites: dict[str, list[Listed]]) -> Iterator[str]:
    """One line a context, fields between tabs, after a line that names the fields."""
    yield "\t".join(("site", "path", "names", "values", "hits", "urls", *_DECISIONS))
    for site, contexts in sites.items():
        for listed in contexts:
            context = listed.stored.context
            numbers = (listed.stored.hits, listed.stored.urls)
            counts = (listed.verdicts[decision] for decision in _DECISIONS)
            yield "\t".join(
                (
                    site,
                    printable(context.path),
                    "&".join(map(printable, context.names)),
                    "&".join(map(str, listed.values.values())),
                    *map(str, (*numbers, *counts)),
                )
            )


def with_samples(sites: dict[str, list[Listed]], samples: dict[int, list[str]]) -> Iterator[str]:
    """The listing as text: a line a context, and below it a line a sample URL."""
    for site, contexts in sites.items():
        for listed in contexts:
            values = ", ".join(f"{printable(name)} {n}" for name, n in listed.values.items())
            yield f"{site}{printable(listed.stored.context.path)}  {values}"
            for url in samples[listed.stored.id]:
                yield f"  {printable(url)}"


def show(sites: dict[str, list[Listed]], console: Console) -> None:
    """Print one table a site."""
    for site, contexts in sites.items():
        table = Table(title_justify="left", expand=False)
        table.title = Text(site, style="bold")
        table.add_column("path", overflow="fold")
        table.add_column("names, values", overflow="fold")
        table.add_column("hits", justify="right")
        table.add_column("URLs", justify="right")
        table.add_column("verdicts", no_wrap=True)
        for listed in contexts:
            context = listed.stored.context
            counts = (
                f"{listed.verdicts[decision]} {decision}"
                for decision in _DECISIONS
                if listed.verdicts[decision]
            )
            table.add_row(
                Text(printable(context.path)),
                Text(", ".join(f"{printable(name)} {n}" for name, n in listed.values.items())),
                str(listed.stored.hits),
                str(listed.stored.urls),
                "\n".join(counts) or "none yet",
            )
        console.print(Group(table, ""))


def printable(text: str) -> str:
    """The text with everything escaped that a terminal might obey: names are decoded bytes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
