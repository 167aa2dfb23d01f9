"""The report: one file that says what was found out, whatever strangers called their parameters."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import turbohtml
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By

from miqps.mapping import Pin
from miqps.publish import publish
from miqps.rehearsal import ROOT, person
from miqps.report import as_html
from miqps.report.findings import gather
from miqps.settings import JUDGING
from miqps.store import Observation, Store
from miqps.trial import Trial

SITE = "shop.example"
HOSTILE = '"><script>document.title="owned"</script><img src=x onerror=alert(1)>'
NAME = "<b>x</b>&{{7*7}}"


def picture(colour: str, width: int = 64) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (width, 40), colour).save(made, "WEBP")
    return made.getvalue()


PICTURES = {
    "original": picture("red"),
    "stripped": picture("green"),
    "difference": picture("blue"),
}


def judged(store: Store, path: str, *names: str, pictures: dict[str, bytes] = PICTURES) -> None:
    """A context whose first name matters and whose others do not."""
    urls = [
        f"http://{SITE}{path}?" + "&".join(f"{quote(name)}={n}" for name in names) for n in range(4)
    ]
    store.corpus.add(map(Observation, urls))
    run = store.journal.begin("{}")
    (context,) = [c for c in store.corpus.contexts(SITE) if c.context.path == path]
    matters, others = names[0], frozenset(names[1:])
    changed = Trial(
        urls[0], frozenset({matters}), "different", "the content changed", matters, path
    )
    same = [Trial(url, others, "same", look=url) for url in urls if others]
    shown = {changed: pictures, **({same[0]: pictures} if same else {})}
    store.evidence.save(run, context, [changed, *same], [], shown)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "miqps.db") as store:
        judged(store, "/p", "id", "utm_source", NAME)
        judged(store, "/list", "page", HOSTILE)
        store.pins.put(SITE, Pin(HOSTILE, "keep"))
        publish(store, store.journal.newest(), JUDGING)
        yield store


def test_the_numbers_are_those_of_the_store(store: Store) -> None:
    found = gather(store, "2026-12-01T00:00:00Z")
    (site,) = found.sites
    assert (site.site, site.urls, site.hits) == (SITE, 8, 8)
    assert site.counts == {"important": 2, "neutral": 3}
    assert dict(site.duplicates)["utm_source"] == 4
    assert [c.path for c in site.contexts] == ["/list", "/p"]
    assert [v.decision for v in site.contexts[1].verdicts] == ["important", "neutral", "neutral"]
    assert [p.outcome for p in site.contexts[1].pictures] == ["different", "same"]
    assert (found.version, found.pictures_left_out) == (1, 0)


def test_nothing_of_a_stranger_becomes_markup(store: Store) -> None:
    text = as_html(gather(store, "now"))
    page = turbohtml.parse(text)
    assert len(page.select("script")) == 1
    assert [e for e in page.select("img") if not (e.attr("src") or "").startswith("data:")] == []
    assert [e for e in page.select("*") if any(name.startswith("on") for name in e.attrs)] == []
    assert HOSTILE not in text
    assert "49" not in {e.text for e in page.select("code")}
    addresses = [e.attr(name) for name in ("href", "src") for e in page.select(f"[{name}]")]
    assert all(each and each.startswith(("#", "data:image/webp;base64,")) for each in addresses)


def test_an_empty_store_has_a_report_too(tmp_path: Path) -> None:
    with Store.open(tmp_path / "empty.db") as store:
        text = as_html(gather(store, "now"))
    assert "No map was published yet" in text


def test_two_hundred_contexts_are_less_than_five_megabytes(tmp_path: Path) -> None:
    noise = random.Random(1)
    made = io.BytesIO()
    Image.frombytes("RGB", (160, 100), noise.randbytes(160 * 100 * 3)).save(
        made, "WEBP", quality=60
    )
    heavy = dict.fromkeys(("original", "stripped", "difference"), made.getvalue())
    with Store.open(tmp_path / "miqps.db") as store:
        for number in range(200):
            judged(store, f"/{'x' * (number % 7)}{number}p", "id", "ref", pictures=heavy)
        publish(store, store.journal.newest(), JUDGING)
        found = gather(store, "now")
    assert sum(len(site.contexts) for site in found.sites) == 200
    assert found.pictures_left_out > 0
    text = as_html(found)
    assert len(text.encode()) < 5_000_000
    assert f"{found.pictures_left_out} pictures are left out" in text


@pytest.fixture
def driver() -> Iterator[webdriver.Chrome]:
    with person() as driver:
        yield driver


def test_in_a_browser(store: Store, driver: webdriver.Chrome, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(as_html(gather(store, "now")))
    driver.get(file.as_uri())
    assert driver.title == "Query parameters: what matters and what does not"
    widths = driver.execute_script("return [...document.images].map(i => i.naturalWidth)")
    assert widths == [64] * 12
    assert len(driver.find_elements(By.CSS_SELECTOR, "svg")) == 2

    def shown() -> list[str]:
        found = driver.find_elements(By.CSS_SELECTOR, "article h3 code")
        return [e.text for e in found if e.is_displayed()]

    assert shown() == ["/list", "/p"]
    driver.find_element(By.ID, "search").send_keys("utm_source")
    assert shown() == ["/p"]

    def column() -> list[str]:
        cells = driver.find_elements(By.CSS_SELECTOR, "article:not([hidden]) tbody td:first-child")
        return [cell.text for cell in cells]

    button = driver.find_element(By.CSS_SELECTOR, "article:not([hidden]) th button")
    button.click()
    first = column()
    button.click()
    assert column() == first[::-1]
    assert sorted(first) == sorted(["id", "utm_source", NAME])
    assert driver.get_log("browser") == []


def test_the_command(store: Store, tmp_path: Path, script) -> None:
    done = script("report.py", SITE, "--db", store.path, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("report.html: 1 sites, ")
    assert SITE in (tmp_path / "report.html").read_text()
    told = json.loads(script("report.py", "--db", store.path, "--json", cwd=tmp_path).stdout)
    assert told["sites"][0]["contexts"][0]["verdicts"]
    unknown = script("report.py", "nowhere.example", "--db", store.path, cwd=tmp_path)
    assert (unknown.returncode, unknown.stderr.count("\n")) == (1, 1)


def test_pictures_for_the_readme(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "pictures"

    def run(db: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "scripts" / "readme_pictures.py"), "--db", str(db)]
        return subprocess.run(
            [*command, "--out", str(out)], capture_output=True, text=True, timeout=300
        )

    done = run(store.path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["dashboard.webp", "report.webp"]
    with Image.open(out / "dashboard.webp") as shot:
        assert shot.width >= 900
    empty = run(tmp_path / "none.db")
    assert (empty.returncode, empty.stderr.count("\n")) == (1, 1)
