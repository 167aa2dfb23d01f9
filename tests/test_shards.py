"""Maps in shards: they say what the whole map says, are replaced at once, and survive damage."""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miqps import shards
from miqps.addon.watcher import Watcher
from miqps.mapping import Map, MapError, PackedSites, SiteMap, from_json, to_json
from miqps.normalizer import Normalizer
from miqps.shards import MANIFEST, ShardedSites
from tests.known_map import KNOWN, SHOP

URL = f"{SHOP}/p/7?utm_source=x"

NAMES = [f"s{n}.example" for n in range(300)] + ["xn--bcher-kva.example", "[::1]:8080"]


def made(names: list[str], version: int = 1) -> Map:
    site = KNOWN.sites["shop.example"]
    sites = {name: _renamed(site, name) for name in names}
    return Map(version, f"2026-01-{version:02}T00:00:00Z", sites)


def _renamed(site: SiteMap, name: str) -> SiteMap:
    entries = {
        part: tuple(
            replace(entry, context=replace(entry.context, site=name))
            for entry in getattr(site, part)
        )
        for part in ("contexts", "inferred")
    }
    return replace(site, site=name, **entries)


@pytest.mark.parametrize("number", [1, 7, 16])
def test_it_says_what_the_whole_map_says(tmp_path: Path, number: int) -> None:
    whole = made(NAMES, 3)
    found = shards.write(tmp_path / "map", [whole], number)
    assert isinstance(found.sites, ShardedSites)
    assert (found.version, found.created, found.contexts) == (3, whole.created, whole.contexts)
    assert dict(found.sites) == dict(whole.sites)
    assert len(found.sites) == len(NAMES)
    assert "other.example" not in found.sites
    assert 7 not in found.sites
    with pytest.raises(KeyError):
        found.sites["other.example"]
    assert from_json(to_json(found)).sites == from_json(to_json(whole)).sites
    sharded, plain = Normalizer.load(tmp_path / "map"), Normalizer(whole)
    for name in [*NAMES, "other.example"]:
        url = URL.replace("shop.example", name)
        assert sharded.clean(url) == plain.clean(url)
        assert sharded.explain(url) == plain.explain(url)
    assert sharded.clean(URL.replace("shop.example", NAMES[0])) != URL


@settings(max_examples=50)
@given(st.sets(st.text("ab.", min_size=1, max_size=6), max_size=120), st.integers(1, 5))
def test_every_site_is_found_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], number: int
) -> None:
    sites = {name: SiteMap(name, ()) for name in names}
    found = shards.write(tmp_path_factory.mktemp("map"), [Map(1, "", sites)], number)
    assert set(found.sites) == names
    assert all(name in found.sites for name in names)
    assert not any(f"{name}x" in found.sites for name in names if f"{name}x" not in names)


def test_names_with_the_same_hash_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "digest", lambda text: len(text))
    names = [f"{n:03}.example" for n in range(50)]
    found = shards.write(tmp_path, [made(names)], 3)
    assert set(found.sites) == set(names)
    assert all(found.sites[name].site == name for name in names)
    assert "999.example" not in found.sites


def test_maps_of_shares_become_one(tmp_path: Path) -> None:
    parts = [made(NAMES[:100], 1), made(NAMES[100:], 4)]
    found = shards.write(tmp_path / "map", parts, 4)
    assert found.version == 4
    assert set(found.sites) == set(NAMES)
    before = sorted(os.listdir(tmp_path / "map"))
    with pytest.raises(MapError, match="in two of the maps"):
        shards.write(tmp_path / "map", [parts[0], parts[0]], 4)
    assert sorted(os.listdir(tmp_path / "map")) == before


def test_who_has_it_open_keeps_it_and_who_follows_gets_the_next(tmp_path: Path) -> None:
    place = tmp_path / "map"
    old = shards.write(place, [made(NAMES[:9])], 2)
    with Normalizer.load(place, watch=True) as live:
        assert live.version == 1
        shards.write(place, [made(NAMES[9:20], 2)], 3)
        assert set(old.sites) == set(NAMES[:9])
        assert old.sites[NAMES[0]] == made(NAMES[:1]).sites[NAMES[0]]
        for _ in range(400):
            if live.version == 2:
                break
            live._stop.wait(0.05)
        assert live.version == 2
        assert live.clean(URL.replace("shop.example", NAMES[10])) != URL
    assert len(os.listdir(place)) == 4


def test_the_proxy_has_it_in_memory(tmp_path: Path) -> None:
    shards.write(tmp_path / "map", [made(NAMES)], 4)
    watcher = Watcher(str(tmp_path / "map"), lambda normalizer: None)
    normalizer = watcher.begin()
    assert isinstance(normalizer._learned, PackedSites)
    shutil.rmtree(tmp_path / "map")
    url = URL.replace("shop.example", NAMES[0])
    assert normalizer.clean(url) == Normalizer(made(NAMES), on_wire=True).clean(url) != url


@pytest.mark.parametrize("size", [0, 10, 40, -1])
def test_half_a_shard_is_no_map(tmp_path: Path, size: int) -> None:
    shards.write(tmp_path, [made(NAMES)], 1)
    (file,) = tmp_path.glob("*.shard")
    os.truncate(file, size if size >= 0 else file.stat().st_size - 1)
    with pytest.raises(MapError, match="not a shard of a map"):
        Normalizer.load(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"format": "x", "version": 1, "created": "", "contexts": 0}']
)
def test_a_folder_of_something_else_is_no_map(tmp_path: Path, text: str) -> None:
    with pytest.raises(MapError):
        Normalizer.load(tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(MapError, match="map"):
        Normalizer.load(tmp_path)


def test_no_file_outside_of_the_folder_is_read(tmp_path: Path) -> None:
    shards.write(tmp_path / "map", [made(NAMES)], 1)
    manifest = tmp_path / "map" / MANIFEST
    manifest.write_text(manifest.read_text().replace('["', '["../'))
    with pytest.raises(MapError, match="beside it"):
        Normalizer.load(tmp_path / "map")


@settings(max_examples=150)
@given(st.data())
def test_damage_never_drops_anything_and_never_raises(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("map")
    shards.write(folder, [made(NAMES[:20])], 1)
    (file,) = folder.glob("*.shard")
    raw = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 40))):
        at = data.draw(st.integers(shards._HEADER.size, len(raw) - 1))
        raw[at] = data.draw(st.integers(0, 255))
    file.write_bytes(raw)
    normalizer, sound = Normalizer.load(folder), Normalizer(made(NAMES[:20]))
    logging.disable()
    try:
        for name in NAMES[:20]:
            url = URL.replace("shop.example", name)
            assert normalizer.clean(url) in (url, sound.clean(url))
    finally:
        logging.disable(logging.NOTSET)


def test_the_command_line(script, tmp_path: Path) -> None:
    for number, names in enumerate((NAMES[:5], NAMES[5:9])):
        (tmp_path / f"{number}.json").write_text(to_json(made(names, number + 1)))
    done = script("maps.py", "shard", "0.json", "1.json", "--out", "map", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        f"9 sites, {made(NAMES[:9]).contexts} contexts in map\n",
    )
    assert Normalizer.load(tmp_path / "map").version == 2
    done = script("clean.py", "--map", "map", URL.replace("shop.example", NAMES[0]), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = script("maps.py", "shard", "0.json", "0.json", "--out", "map", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"Error: {NAMES[0]} is in two of the maps\n")
    done = script("maps.py", "shard", "none.json", "--out", "map", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
