"""Make the README's pictures of dashboard and report, from what the demo has left."""

from __future__ import annotations

import io
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from miqps.browser import BrowserError
from miqps.cli import failing_in_one_line
from miqps.rehearsal import ROOT, RehearsalError, free_port, mitmdump, person, serving
from miqps.report import as_html
from miqps.report.findings import gather
from miqps.store import Store, now

_SIZE = (1000, 760)


@click.command(epilog="Example: scripts/demo.sh && scripts/readme_pictures.py")
@click.option("--db", default=str(ROOT / "data" / "demo" / "demo.db"), show_default=True)
@click.option("--out", default=str(ROOT / "data" / "pictures"), show_default=True)
def main(db: str, out: str) -> None:
    """Take pictures of the dashboard and the report into a folder."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with failing_in_one_line(), Store.open(db, create=False) as store:
        known = store.maps.newest()
        if known is None or not known.sites:
            raise click.ClickException(f"{db}: nothing was learned yet; run scripts/demo.sh first")
        site = next(iter(known.sites))
        report = as_html(gather(store, now()))
        urls = [u for c in store.corpus.contexts(site) for u in store.corpus.urls_of(c.id)[:1]]
    try:
        take(Path(db), urls, report, folder)
    except (BrowserError, RehearsalError) as error:
        raise click.ClickException(str(error)) from error


def take(db: Path, urls: list[str], report: str, folder: Path) -> None:
    """Open what is to be seen, and keep what it looks like."""
    port = free_port()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="miqps-pictures-")))
        proxy = mitmdump(port, db, scratch, "miqps_record=off")
        stack.enter_context(serving(proxy, port, scratch / "mitmdump.log"))
        driver = stack.enter_context(person(port))
        driver.set_window_size(*_SIZE)
        for url in urls:
            driver.get(url)
        pages = {"dashboard": "http://miqps.test/"}
        (scratch / "report.html").write_text(report, encoding="utf-8")
        pages["report"] = (scratch / "report.html").as_uri()
        for name, page in pages.items():
            driver.get(page)
            shot = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
            shot.save(folder / f"{name}.webp", "WEBP", quality=60, method=6)
            click.echo(f"{folder / name}.webp")


if __name__ == "__main__":
    main()
