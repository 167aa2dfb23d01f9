"""Which browser somebody means, and that pages of two browsers do not meet in one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from miqps.browser.choice import Choice, choose
from miqps.browser.driver import BrowserError
from miqps.probe import Plan, Prober
from miqps.store import Observation, Store
from miqps.view import Render
from tests.imagined import SITE, ByTitle, reads
from tests.test_probe import Imagined

GRID = "http://user:se%40cret@grid.example:4444/wd/hub"


@pytest.fixture(autouse=True)
def _no_browser_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIQPS_BROWSER", raising=False)


def program(folder: Path, says: str) -> str:
    path = folder / "browser"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("browser", "grid", "choice", "name"),
    [
        (None, None, Choice("chromium"), "chromium"),
        ("chromium", None, Choice("chromium"), "chromium"),
        ("firefox", None, Choice("firefox"), "firefox"),
        (
            "/nowhere/firefox",
            None,
            Choice("chromium", "/nowhere/firefox"),
            "chromium /nowhere/firefox",
        ),
        (
            None,
            GRID,
            Choice("chromium", grid=GRID),
            "chromium at http://grid.example:4444/wd/hub",
        ),
        (
            "firefox",
            "https://grid.example",
            Choice("firefox", grid="https://grid.example"),
            "firefox at https://grid.example",
        ),
    ],
)
def test_choice(browser: str | None, grid: str | None, choice: Choice, name: str) -> None:
    assert choose(browser, grid) == choice
    assert choose(browser, grid).name == name


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        ("Mozilla Firefox 153.8.0esr", "firefox"),
        ("Chromium 156.0.8078.114 built on Debian", "chromium"),
        ("Google Chrome 156.0", "chromium"),
    ],
)
def test_a_program_says_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, kind: str
) -> None:
    path = program(tmp_path, says)
    assert choose(path) == Choice(kind, path)  # type: ignore[arg-type]
    monkeypatch.setenv("MIQPS_BROWSER", path)
    assert choose() == Choice(kind, path)  # type: ignore[arg-type]
    assert choose("firefox") == Choice("firefox")
    assert choose(None, GRID).binary is None, "a grid has its own"


@pytest.mark.parametrize(
    ("browser", "grid", "words"),
    [
        (None, "grid.example:4444", "'grid.example:4444' is no address of a grid"),
        (None, "ws://grid.example", "is no address of a grid"),
        (None, "http://", "is no address of a grid"),
        (None, "http://grid.example:port", "is no address of a grid"),
        ("/usr/bin/chromium", GRID, "a grid has its own browsers"),
    ],
)
def test_what_cannot_be_chosen(browser: str | None, grid: str, words: str) -> None:
    with pytest.raises(BrowserError, match=words) as caught:
        choose(browser, grid)
    assert "\n" not in str(caught.value)


def test_pages_of_another_browser_are_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miqps.probe.get_content_id", lambda name: ByTitle())
    with Store.open(tmp_path / "miqps.db") as store:
        store.corpus.add(Observation(f"{SITE}/p?id={n}&utm_source=s{n}") for n in range(5))

        def probe(browser: str, limit: int | None = None) -> set[Render]:
            engine = Imagined(reads("id"))
            Prober(store, engine, Plan(delay=0, browser=browser, max_renders=limit)).run()
            return set(engine.log)

        first = probe("chromium", 3)
        other = probe("firefox", 3)
        assert first & other, "nothing of the other browser's pages was used"
        assert not other & probe("firefox"), "its own are"
        assert not probe("chromium"), "what another browser judged stays valid"
