"""The bench of judging: what is dropped, what is found and what it costs, beside the truth."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import click
from benches.labels import Label, Score, read_paths, read_patterns, score

from miqps import content_id, query
from miqps.browser import Browser
from miqps.classify import PROCEDURES
from miqps.engines.local import LocalEngine
from miqps.normalizer import Normalizer
from miqps.planning import Plan
from miqps.probe import Prober
from miqps.publish import publish
from miqps.rehearsal import HOST, ROOT, RehearsalError, free_port, sample_site, serving
from miqps.settings import JUDGING
from miqps.store import Observation, Store

_SITE = ROOT / "data" / "sample_site"
_OWN = {"sample": ("visits.txt", "truth.tsv"), "lab": ("lab.txt", "lab.tsv")}
_PAPERS_SAMPLES = 10
_UP_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Site:
    """A site whose parameters are known."""

    name: str
    addresses: tuple[str, ...]
    labels: tuple[Label, ...]
    up: Callable[[Path], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Result:
    """What one algorithm made of one site."""

    site: str
    algorithm: str
    score: Score
    renders: int
    papers: int
    """Renders of the paper's procedure, 2·S·k a context."""

    renders_of_many: float
    papers_of_many: int
    """The same on contexts with four parameters or more."""

    minutes: float


@click.command()
@click.option(
    "--sites",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of sites: NAME/up.sh PORT, down.sh, urls.txt, labels.tsv.",
)
@click.option("--site", "only", multiple=True, help="These sites only: sample, lab, NAME.")
@click.option("--algorithm", "algorithms", multiple=True, type=click.Choice(sorted(PROCEDURES)))
@click.option("--browsers", type=click.IntRange(1), default=2, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")  # fmt: skip
def judging(
    sites: Path | None,
    only: tuple[str, ...],
    algorithms: tuple[str, ...],
    browsers: int,
    as_json: bool,
) -> None:
    """Important parameters dropped, neutral ones found, renders spent: on sites with known truth.

    Example: python scripts/bench.py judging --site sample --algorithm minimal-set
    """
    results = []
    for site in _sites(sites, only):
        for algorithm in algorithms or sorted(PROCEDURES):
            try:
                results.append(_judge(site, algorithm, browsers))
            except (RehearsalError, subprocess.SubprocessError) as error:
                click.echo(f"Error: {site.name} does not come up: {error}", err=True)
                break
            if not as_json:
                click.echo(_row(results[-1]))
    if as_json:
        click.echo(json.dumps([asdict(result) for result in results], indent=2))
    else:
        click.echo("\n".join(_conclusions(results)))


def _sites(folder: Path | None, only: Sequence[str]) -> Iterator[Site]:
    for name, (addresses, truth) in _OWN.items():
        if not only or name in only:
            listed = tuple((_SITE / addresses).read_text().split())
            yield Site(name, listed, tuple(read_paths(_SITE / truth, listed)), _own)
    for place in sorted(folder.iterdir()) if folder else ():
        if (place / "labels.tsv").exists() and (not only or place.name in only):
            listed = tuple((place / "urls.txt").read_text().split())
            labels = tuple(read_patterns(place / "labels.tsv"))
            yield Site(place.name, listed, labels, partial(_foreign, place))


def _own(folder: Path) -> Iterator[str]:
    port = free_port()
    with serving(sample_site(port, folder / "requests.jsonl"), port, folder / "site.log"):
        yield f"http://{HOST}:{port}"


def _foreign(place: Path, folder: Path) -> Iterator[str]:
    port = free_port()
    log = folder / "up.log"
    with log.open("wb") as said:
        up = subprocess.run(
            ["bash", "up.sh", str(port)],
            cwd=place, stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=_UP_SECONDS,
        )  # fmt: skip
    if up.returncode:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise RehearsalError(f"{place / 'up.sh'} ended with {up.returncode}: {' '.join(last)}")
    try:
        yield f"http://{HOST}:{port}"
    finally:
        down = ["bash", "down.sh"]
        subprocess.run(down, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        _end_what_listens(port)


def _end_what_listens(port: int) -> None:
    """Ends a server that its own script left running."""
    psutil = import_module("psutil")
    for each in psutil.net_connections("tcp"):
        if each.pid and each.laddr.port == port and each.status == psutil.CONN_LISTEN:
            with contextlib.suppress(psutil.Error):
                psutil.Process(each.pid).terminate()


def _judge(site: Site, algorithm: str, browsers: int) -> Result:
    with (
        tempfile.TemporaryDirectory() as name,
        contextlib.contextmanager(site.up)(Path(name)) as base,
    ):
        path = Path(name) / "bench.db"
        with Store.open(path) as store:
            store.corpus.add(Observation(f"{base}{address}") for address in site.addresses)
            start = partial(Browser, needs=content_id.get("visual").needs)
            begun = time.monotonic()
            with LocalEngine(browsers, start) as engine:
                prober = Prober(store, engine, Plan(algorithm=algorithm))
                run = prober.run()
            minutes = (time.monotonic() - begun) / 60
            publish(store, run, JUDGING)
            spent, many, papers, papers_of_many = _spent(store, run)
        normalizer = Normalizer.load(path)

        def reason(address: str, name: str) -> str:
            rulings = normalizer.explain(base + address).rulings
            return next(ruling.reason for ruling in rulings if ruling.name == name)

        found = score(
            site.labels,
            site.addresses,
            lambda address: normalizer.clean(base + address)[len(base) :],
            reason,
            JUDGING.min_values,
        )
    return Result(site.name, algorithm, found, spent, papers, many, papers_of_many, minutes)


def _spent(store: Store, run: int) -> tuple[int, float, int, int]:
    """Renders in all and of contexts with many names, and what the paper's would be.

    A render belongs to the context that shows it first; what belongs to none (addresses that do not
    exist, the front page) is everybody's.
    """
    rows = store._file.rows("SELECT url, sent FROM renders WHERE run_id = ?", [run])
    renders = Counter((str(url), str(sent)) for url, sent in rows)
    total, papers, papers_of_many, of_many, contexts, contexts_of_many = (
        renders.total(),
        0,
        0,
        0,
        0,
        0,
    )
    for site in store.corpus.sites():
        for stored in store.corpus.contexts(site):
            trials = store.evidence.trials(stored.id)
            if not trials:
                continue
            names = len(stored.context.names)
            by_paper = 2 * min(_PAPERS_SAMPLES, stored.urls) * names
            spent = sum(
                renders.pop(place, 0)
                for trial in trials
                for without in (query.remove(trial.url, trial.removed),)
                for place in (
                    (trial.url, ""),
                    (trial.url, without) if trial.on_wire else (without, ""),
                )
            )
            contexts += 1
            papers += by_paper
            if names >= 4:
                papers_of_many += by_paper
                of_many += spent
                contexts_of_many += 1
    of_many_and_controls = of_many + renders.total() * contexts_of_many / max(contexts, 1)
    return total, of_many_and_controls, papers, papers_of_many


def _row(result: Result) -> str:
    found = result.score
    lines = [
        f"{result.site} / {result.algorithm}:"
        f" {len(found.wrong)} important dropped;"
        f" neutral found {found.found} of {found.neutral},"
        f" with enough samples {found.found_with_samples} of {found.neutral_with_samples};"
        f" {result.renders} renders, {result.renders / max(result.papers, 1):.2f} of the paper's,"
        f" {result.renders_of_many / max(result.papers_of_many, 1):.2f} with 4 parameters or more;"
        f" {result.minutes:.1f} minutes"
    ]
    lines += [f"  DROPPED {w.name} of {w.url}: {w.reason}" for w in found.wrong]
    lines += [f"  kept {w.name} of {w.url}: {w.reason}" for w in found.kept]
    return "\n".join(lines)


def _conclusions(results: Sequence[Result]) -> Iterator[str]:
    yield ""
    for algorithm in sorted({result.algorithm for result in results}):
        of_it = [result for result in results if result.algorithm == algorithm]
        wrong = sum(len(result.score.wrong) for result in of_it)
        found = sum(result.score.found_with_samples for result in of_it)
        neutral = sum(result.score.neutral_with_samples for result in of_it)
        many = sum(r.renders_of_many for r in of_it) / max(sum(r.papers_of_many for r in of_it), 1)
        over = [r.site for r in of_it if r.renders > r.papers]
        yield f"{algorithm}:"
        yield f"  important dropped: {wrong} (goal 0)"
        yield f"  neutral found: {found / max(neutral, 1):.1%} of {neutral} (goal 95 %)"
        yield f"  renders: {many:.2f} of the paper's with 4 parameters or more (goal 0.25)"
        yield f"  more than the paper's: {', '.join(over) or 'nowhere'} (goal nowhere)"
