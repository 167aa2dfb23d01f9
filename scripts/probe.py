"""Learn which parameters matter: replay what was recorded in a browser, judge, publish a map."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from miqps import ages
from miqps import content_id as content_ids
from miqps.agent import check_contact, introduction
from miqps.browser import Browser, BrowserError
from miqps.browser.choice import Choice, choose
from miqps.classify import PROCEDURES
from miqps.engines import Engine
from miqps.engines.choice import ENGINES, engine
from miqps.estimate import Estimate, estimate
from miqps.formats.listed import priors_of
from miqps.mapping import MapError
from miqps.planning import Plan, agenda, known_site
from miqps.probe import Prober
from miqps.progress import showing
from miqps.publish import publish
from miqps.robots import Robots
from miqps.rules import RulesError, default_rules, load_rules
from miqps.settings import DEFAULT_DB, ESTIMATING, JUDGING
from miqps.store import Store, StoreError
from miqps.summary import Summary, summarize


def _content_id(context: click.Context, parameter: click.Parameter, name: str) -> str:
    try:
        content_ids.get(name)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return name


def _contact(context: click.Context, parameter: click.Parameter, text: str) -> str:
    try:
        return check_contact(text) if text else ""
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _days(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    try:
        return None if text is None else ages.days(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(epilog="Example: scripts/probe.py shop.example --samples 6")
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@click.option("--db", default=DEFAULT_DB, show_default=True, help="The store to read and write.")
@click.option(
    "--algorithm",
    type=click.Choice(sorted(PROCEDURES)),
    default="minimal-set",
    show_default=True,
    help="minimal-set: all parameters at once, then a search for what must stay."
    " miqps: the paper's, one at a time, then all neutral ones together.",
)
@click.option(
    "--content-id",
    default="visual",
    show_default=True,
    metavar="NAME",
    callback=_content_id,
    help="What makes two pages the same: visual, dom, body, metadata, or one of another package."
    " Contexts judged by another one are judged again.",
)
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=JUDGING.samples,
    show_default=True,
    help="S: sample URLs that each parameter is removed from.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=JUDGING.threshold,
    show_default=True,
    help="T, of miqps only: share of samples that must change; 0: one confirmed change is enough.",
)
@click.option(
    "--min-samples",
    type=click.IntRange(1),
    default=JUDGING.min_values,
    show_default=True,
    help="N: distinct values removed without effect before a parameter may go.",
)
@click.option(
    "--top-patterns",
    type=click.IntRange(1),
    default=JUDGING.top_patterns,
    show_default=True,
    help="K: contexts a site, those with the most traffic and unknown parameters first.",
)
@click.option(
    "--browser",
    metavar="chromium|firefox|PATH",
    help="What renders; without it MIQPS_BROWSER, then Chromium. A run that was cut off goes on"
    " with the same browser only; what another one judged stays valid.",
)
@click.option(
    "--grid",
    metavar="URL",
    help="A Selenium Grid, or any remote WebDriver with BiDi, that has the browsers.",
)
@click.option(
    "--browsers",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Browsers side by side, about 300 MB each. On a Dask cluster that is there already, one"
    " for each thread of its workers.",
)
@click.option(
    "--engine",
    "engine_name",
    type=click.Choice(ENGINES),
    default="local",
    show_default=True,
    help="Where the browsers are: threads of this process, or workers of a Dask cluster.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Of the Dask cluster, as tcp://host:8786; without it one is started on this machine.",
)
@click.option(
    "--max-renders", type=click.IntRange(1), help="Stop after that many; go on next time."
)
@click.option(
    "--max-minutes",
    type=click.FloatRange(0, min_open=True),
    help="Begin no render after that; go on next time.",
)
@click.option(
    "--delay",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="Pause after each render of a registrable domain; a longer Crawl-delay is kept."
    "  [default: 1, none on loopback]",
)
@click.option(
    "--contact",
    default="",
    metavar="MAIL|URL",
    callback=_contact,
    help="Whom owners of sites may write to: goes into the User-Agent.",
)
@click.option(
    "--ignore-robots", is_flag=True, help="Do not ask for robots.txt: for your own sites only."
)
@click.option(
    "--rules",
    "rule_file",
    help="A rule file (TOML): never-touch classes that it switches off are probed too.",
)
@click.option(
    "--wire-only",
    is_flag=True,
    help="Let the proxy take out what only page scripts read: they still see it in the address.",
)
@click.option("--again", is_flag=True, help="Judge again what was judged before.")
@click.option(
    "--stale",
    metavar="AGE",
    callback=_days,
    help="Judge again what was judged longer ago, as 30d or 4w, or by an older judge.",
)
@click.option("--dry-run", is_flag=True, help="Say what it would cost, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def main(
    hosts: tuple[str, ...],
    db: str,
    algorithm: str,
    content_id: str,
    samples: int,
    threshold: float,
    min_samples: int,
    top_patterns: int,
    browser: str | None,
    grid: str | None,
    browsers: int,
    engine_name: str,
    scheduler: str | None,
    max_renders: int | None,
    max_minutes: float | None,
    delay: float | None,
    contact: str,
    ignore_robots: bool,
    rule_file: str | None,
    wire_only: bool,
    again: bool,
    stale: float | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Replay recorded URLs with parameters removed, and publish which of them matter.

    Without HOST everything that was recorded is judged. What was rendered and decided is stored
    at once: a run that was cut off goes on where it was.
    """
    if threshold and algorithm != "miqps":
        raise click.UsageError("--threshold needs --algorithm miqps")
    if scheduler and engine_name != "dask":
        raise click.UsageError("--scheduler needs --engine dask")
    judging = replace(
        JUDGING,
        wire_only=wire_only,
        samples=samples,
        threshold=threshold,
        min_values=min_samples,
        top_patterns=top_patterns,
    )
    try:
        rules = load_rules(rule_file, default_rules()) if rule_file else default_rules()
        chosen = choose(browser, grid)
        with Store.open(db, create=False) as store:
            plan = Plan(
                hosts=_sites(store, hosts),
                algorithm=algorithm,
                content_id=content_id,
                browser=chosen.name,
                rules=judging,
                max_renders=max_renders,
                max_minutes=max_minutes,
                delay=delay,
                again=again,
                stale=stale,
                off=tuple(sorted(rules.off)),
            )
            result: Summary | Estimate
            if dry_run:
                measured = store.journal.mean_milliseconds(ESTIMATING.journal)
                result = estimate(agenda(store, plan), plan, browsers, measured)
            else:
                robots = None if ignore_robots else Robots(introduction(contact))
                start = _starter(plan, chosen, contact)
                with engine(engine_name, browsers, start, scheduler) as running:
                    result = _probe(store, plan, running, robots)
    except (StoreError, MapError, RulesError, BrowserError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        raise click.ClickException("stopped; all is saved, run again to go on") from None
    click.echo(json.dumps(result.as_dict(), indent=2) if as_json else result.as_text())
    troubles = result.troubles if isinstance(result, Summary) else []
    for line in troubles:
        click.echo(f"Error: {line}", err=True)
    if troubles:
        sys.exit(1)


def _sites(store: Store, hosts: tuple[str, ...]) -> tuple[str, ...]:
    if not store.corpus.sites():
        raise click.ClickException(
            f"{store.path}: nothing was recorded yet; browse through the proxy, or run"
            f" scripts/corpus.py add FILE --db {store.path}"
        )
    sites = []
    for host in hosts:
        site = known_site(store, host)
        if site is None:
            raise click.ClickException(
                f"{host}: nothing recorded of it in {store.path};"
                f" scripts/corpus.py list --db {store.path} shows what there is"
            )
        sites.append(site)
    return tuple(sites)


def _starter(plan: Plan, chosen: Choice, contact: str) -> Callable[[], Browser]:
    return partial(
        Browser,
        chosen.binary,
        kind=chosen.kind,
        grid=chosen.grid,
        needs=content_ids.get(plan.content_id).needs,
        contact=contact,
    )


def _probe(store: Store, plan: Plan, running: Engine, robots: Robots | None) -> Summary:
    with showing() as show:
        prober = Prober(store, running, plan, show, robots, priors_of(store))
        run = prober.run()
    return summarize(store, prober.progress, publish(store, run, plan.rules))


if __name__ == "__main__":
    main()
