"""The bench of the look-up: it runs, and its map and URLs are what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from miqps.mapping import to_json
from miqps.normalizer import Normalizer
from tests.known_map import KNOWN

ROOT = Path(__file__).parents[1]


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    from benches import made_urls

    return made_urls


def test_made_urls_look_real_and_are_the_same_every_time(made) -> None:
    urls = made.made_urls(5_000, 100)
    assert urls == made.made_urls(5_000, 100)
    assert len(set(urls)) == 5_000
    assert 0.18 < sum("?" in url for url in urls) / 5_000 < 0.23
    normalizer = Normalizer(made.made_map(2_000))
    assert normalizer.contexts == 2_000
    assert sum(normalizer.clean(url) is not url for url in urls) > 200


def test_table(script, tmp_path: Path) -> None:
    pytest.importorskip("w3lib", reason="needs the extra: pip install 'miqps[bench]'")
    sizes = ("--count", 500, "--contexts", 200, "--big", 400, "--rounds", 3)
    done = script("bench.py", "lookup", *sizes, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("miqps clean ", "floor: split and dict ", "w3lib url_query_cleaner "):
        assert name in done.stdout
    assert '"contexts": 400' in done.stdout


def test_load(script, tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text(to_json(KNOWN))
    done = script("bench.py", "load", path, cwd=tmp_path)
    assert json.loads(done.stdout)["contexts"] == 12
