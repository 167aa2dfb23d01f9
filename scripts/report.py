"""Show what was found out as one HTML file: numbers, verdicts, and pictures of the evidence."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from miqps.cli import db_option, failing_in_one_line
from miqps.planning import known_site
from miqps.report import as_html
from miqps.report.findings import gather
from miqps.rules import default_rules, load_rules
from miqps.store import Store, now


@click.command(epilog="Example: scripts/report.py shop.example --out shop.html")
@click.argument("sites", nargs=-1, metavar="[SITE]...")
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    default="report.html",
    show_default=True,
    help="The file to write.",
)
@click.option("--rules", help="A rule file (TOML) that stands above the map, beside the shipped.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON, no pictures.")
@db_option
def main(sites: tuple[str, ...], out: str, rules: str | None, as_json: bool, db: str) -> None:
    """Write a report that opens in any browser and needs nothing else."""
    with failing_in_one_line(), Store.open(db, create=False) as store:
        named = [known_site(store, site) for site in sites]
        for given, site in zip(sites, named, strict=True):
            if site is None:
                raise click.ClickException(f"{given}: nothing recorded of it in {db}")
        known = load_rules(rules, default_rules()) if rules else None
        chosen = [site for site in named if site is not None] or None
        found = gather(store, now(), chosen, known)
        if as_json:
            said = asdict(found)
            for context in (c for site in said["sites"] for c in site["contexts"]):
                del context["pictures"]
            click.echo(json.dumps(said, indent=2))
            return
        Path(out).write_text(as_html(found), encoding="utf-8")
    click.echo(f"{out}: {len(found.sites)} sites, {Path(out).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
