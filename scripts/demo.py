"""The whole loop on the bundled sample site: record, probe, publish, rewrite."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from miqps import Normalizer, listing, query, urls
from miqps.browser.driver import BrowserError
from miqps.mapping import MapError
from miqps.rehearsal import (
    HOST,
    ROOT,
    RehearsalError,
    browsing,
    free_port,
    is_taken,
    mitmdump,
    sample_site,
    serving,
    wait_for,
)
from miqps.store import Store, StoreError

BROWSED = {
    "/shop/product": {("id", "ref", "sid"), ("color", "id")},
    "/shop/": {("page", "ref", "sid")},
    "/news/article": {("fbclid", "id")},
    "/news/story": {("slug", "story")},
    "/news/wire": {("ref", "source", "utm_campaign", "utm_source")},
    "/forum/thread": {("fbclid", "ref", "t", "utm_source")},
    "/forum/logout": {("sid",)},
}
"""The contexts that the demo visits: by path, the patterns."""

SHOWN = (
    "/shop/product?id=1044&ref=footer&sid=5e1f0a9b7c3d2468",
    "/shop/product?color=oak&id=1163",
    "/shop/?page=2&ref=home&sid=0a1b2c3d4e5f6071",
    "/news/article?fbclid=IwAR3demo&id=50230",
    "/news/story?story=12&slug=the-last-rope-maker-of-the-quay",
    "/news/wire?source=courier&ref=home&utm_source=mail&utm_campaign=demo",
    "/forum/thread?t=8107&ref=home&utm_source=mail&fbclid=IwAR3demo",
)


@dataclass(frozen=True, slots=True)
class Files:
    """Where the demo keeps what it makes."""

    folder: Path

    @property
    def db(self) -> Path:
        return self.folder / "demo.db"

    @property
    def report(self) -> Path:
        return self.folder / "report.txt"

    @property
    def requests(self) -> Path:
        return self.folder / "requests.jsonl"

    @property
    def port(self) -> Path:
        return self.folder / "port"


@click.command(epilog="Example: scripts/demo.py --port 9000")
@click.option("--port", type=click.IntRange(1, 65535), help="Where the sample site listens.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "data" / "demo",
    help="Where database and report go.  [default: data/demo]",
)
def main(port: int | None, folder: Path) -> None:
    """Record, probe, publish and rewrite on the bundled sample site, in a real browser."""
    files = Files(folder)
    try:
        files.folder.mkdir(parents=True, exist_ok=True)
        run(files, port or usual_port(files), Console())
    except (RehearsalError, BrowserError, StoreError, MapError, OSError) as error:
        raise click.ClickException(str(error)) from error
    except subprocess.CalledProcessError as error:
        raise click.ClickException(f"the prober failed with exit code {error.returncode}") from None
    except KeyboardInterrupt:
        raise click.ClickException("stopped; what was learned is kept, run again") from None


def usual_port(files: Files) -> int:
    """The port of the last run, which is part of the site's name: what it learned holds there."""
    used = files.port.read_text().strip() if files.port.exists() else ""
    port = int(used) if used.isdigit() and not is_taken(int(used)) else free_port()
    files.port.write_text(f"{port}\n")
    return port


def run(files: Files, port: int, console: Console) -> None:
    """The four steps, with what they did on the console."""
    base = f"http://{HOST}:{port}"
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="miqps-demo-")))
        files.requests.write_text("")
        stack.enter_context(serving(sample_site(port, files.requests), port, scratch / "site.log"))
        proxy_port = free_port()
        # The pages are chosen to suffice: with all their links, probing would take far longer.
        proxy = mitmdump(proxy_port, files.db, scratch, "miqps_harvest=off")
        proxy_log = scratch / "mitmdump.log"
        stack.enter_context(serving(proxy, proxy_port, proxy_log))
        visit = stack.enter_context(browsing(proxy_port))

        pages = to_visit(files, f"{HOST}:{port}")
        console.print(f"[bold]1 Record[/]   browse {len(pages)} pages of {base} through mitmdump")
        for page in track(pages, console=console, transient=True, description="browsing"):
            visit(base + page)
        wait_for(lambda: recorded(files), 5)

        console.print("[bold]2 Probe[/]    replay them in a browser without their parameters")
        probe = [sys.executable, str(ROOT / "scripts" / "probe.py"), "--db", str(files.db)]
        subprocess.run([*probe, "--samples", "4", f"{HOST}:{port}"], check=True)

        version = Normalizer.load(files.db).version
        in_force = f"map version {version}"
        wait_for(lambda: in_force in proxy_log.read_text(errors="replace"), 10)
        console.print(f"[bold]3 Publish[/]  {in_force} is in force in the running proxy")

        console.print("[bold]4 Rewrite[/]  browse again; what reached the site, by its own log:")
        console.print(rewritten(files, base, visit))
    write_report(files)
    console.print(f"Database  {shown(files.db)}\nReport    {shown(files.report)}")


def to_visit(files: Files, site: str) -> list[str]:
    """Some fifty pages the first time; a handful when the site is known already."""
    listed = [
        target
        for target in (ROOT / "data" / "sample_site" / "visits.txt").read_text().splitlines()
        if query.names(target) in BROWSED.get(urls.path(target), ())
    ]
    known = files.db.exists() and Normalizer.load(files.db).version > 0
    if known:
        with Store.open(files.db) as store:
            known = bool(store.evidence.verdicts(site))
    return listed[::8] if known else listed


def recorded(files: Files) -> bool:
    """Whether the proxy has written what it saw."""
    if not files.db.exists():
        return False
    with Store.open(files.db) as store:
        return bool(store.corpus.sites())


def rewritten(files: Files, base: str, visit: Callable[[str], None]) -> Table:
    """What was asked for, and what reached the site."""
    table = Table("asked for", "reached the site", box=None, pad_edge=False, header_style="bold")
    for target in SHOWN:
        before = len(files.requests.read_text().splitlines())
        visit(base + target)
        table.add_row(target, first_page(files.requests.read_text().splitlines()[before:]))
    return table


def first_page(lines: Sequence[str]) -> str:
    """The first request that is not for a picture or a style."""
    targets: Iterator[str] = (json.loads(line)["target"] for line in lines)
    return next((t for t in targets if "picture" not in t and "/static/" not in t), "nothing")


def write_report(files: Files) -> None:
    """Everything that was learned, with the reason of each verdict, as text."""
    with Store.open(files.db) as store, files.report.open("w") as out:
        console = Console(file=out, width=140)
        listing.show(listing.listing(store), console)
        for site in store.corpus.sites():
            for found in store.evidence.verdicts(site):
                console.print(f"\n{site}{found.context.path}", highlight=False)
                for verdict in found.verdicts:
                    console.print(
                        f"  {verdict.decision:10} {verdict.name:14} {verdict.reason}",
                        highlight=False,
                    )


def shown(path: Path) -> str:
    """A path as the user would write it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    main()
