"""Pictures beside the evidence: what they show, how small they are, and that they leave with it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from miqps import query, thumbnails
from miqps.page import Metadata, Page, Pixels
from miqps.probe import Plan, Prober
from miqps.store import Observation, Store, evidence
from miqps.trial import Trial
from miqps.urls import path
from miqps.view import Render
from tests.imagined import SITE
from tests.looks import listing
from tests.looks import page as drawn
from tests.test_probe import Imagined

URL = f"{SITE}/p?id=5&utm_source=x"
WHITE = (255, 255, 255)
RED = (208, 0, 32)


def trial(outcome: str, *removed: str, blamed: str | None = None, url: str = URL) -> Trial:
    return Trial(url, frozenset(removed), outcome, "", blamed)  # type: ignore[arg-type]


def blank(height: int = 256) -> Pixels:
    return np.full((height, 320, 3), 255, np.uint8)


def spot(at: int, height: int = 256) -> Pixels:
    """White paper with a black block at that row."""
    pixels = blank(height)
    pixels[at : at + 8, 100:120] = 0
    return pixels


def pages(*loads: tuple[str, Pixels | None]) -> dict[Render, Page]:
    """Pages by render; several pictures of one URL are its repeats."""
    found: dict[Render, Page] = {}
    for url, pixels in loads:
        number = sum(render.url == url for render in found)
        found[Render(url, number)] = Page(url, "seen", pixels=pixels)
    return found


def opened(data: bytes) -> Pixels:
    assert len(data) <= thumbnails.BYTES
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "WEBP"
        return np.array(image.convert("RGB"))


def near(pixels: Pixels, row: int, colour: tuple[int, int, int]) -> bool:
    """Whether the block's middle has that colour there, as far as WebP keeps colours."""
    return bool(np.abs(pixels[row, 110].astype(int) - colour).max() < 40)


STRIPPED = query.remove(URL, {"id"})


def test_original_stripped_and_difference() -> None:
    changed = trial("different", "id", blamed="id")
    found = thumbnails.thumbnails([changed], pages((URL, spot(100)), (STRIPPED, blank())))
    images = {kind: opened(data) for kind, data in found[changed].items()}
    assert {kind: image.shape for kind, image in images.items()} == dict.fromkeys(
        ("original", "stripped", "difference"), (256, 320, 3)
    )
    assert near(images["original"], 103, (0, 0, 0))
    assert near(images["stripped"], 103, WHITE)
    assert near(images["difference"], 103, RED)
    assert near(images["difference"], 50, WHITE)


def test_a_high_page_is_shown_where_it_changed() -> None:
    changed = trial("different", "id", blamed="id")
    found = thumbnails.thumbnails(
        [changed], pages((URL, spot(3_000, 5_000)), (STRIPPED, blank(4_000)))
    )
    images = {kind: opened(data) for kind, data in found[changed].items()}
    assert {len(image) for image in images.values()} == {thumbnails.HEIGHT}
    assert near(images["original"], 43, (0, 0, 0))
    assert near(images["difference"], 43, RED)


def test_what_moves_by_itself_is_not_marked() -> None:
    def load(clock: int, *, hour: int = 200) -> Pixels:
        pixels = spot(hour)
        pixels[20:24, 100:120] = clock
        return pixels

    changed = trial("different", "id", blamed="id")
    loads = pages((URL, load(0)), (URL, load(90)), (STRIPPED, load(40, hour=100)))
    difference = opened(thumbnails.thumbnails([changed], loads)[changed]["difference"])
    assert not near(difference, 22, RED)
    assert near(difference, 103, RED)
    assert near(difference, 203, RED)


def test_of_what_was_not_seen_there_is_no_picture() -> None:
    changed = trial("different", "id", blamed="id")
    found = thumbnails.thumbnails([changed], pages((URL, spot(9)), (STRIPPED, None)))
    assert set(found[changed]) == {"original"}
    assert thumbnails.thumbnails([changed], pages((URL, None), (STRIPPED, blank()))) == {}
    assert thumbnails.thumbnails([changed], {}) == {}


def test_which_trials_are_shown() -> None:
    def all_pages(trials: list[Trial]) -> dict[Render, Page]:
        return pages(*((each.url, blank()) for each in trials))

    trials = [
        trial("different", "a", blamed="a", url=f"{SITE}/p?1"),
        trial("different", "a", blamed="a", url=f"{SITE}/p?2"),
        trial("different", "b", blamed="b", url=f"{SITE}/p?3"),
        trial("same", "c", url=f"{SITE}/p?4"),
        trial("same", "c", "d", url=f"{SITE}/p?5"),
        trial("same", "e", url=f"{SITE}/p?6"),
        trial("invalid", "f", url=f"{SITE}/p?7"),
    ]
    found = list(thumbnails.thumbnails(trials, all_pages(trials)))
    assert [each.url[-1] for each in found] == ["1", "3", "5", "6", "2"]
    many = [trial("different", "a", blamed="a", url=f"{SITE}/p?{n}") for n in range(50)]
    assert len(thumbnails.thumbnails(many, all_pages(many))) == thumbnails.TRIALS


def test_the_wildest_page_is_small() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (3_000, 320, 3), np.uint8)
    changed = trial("different", "id", blamed="id")
    found = thumbnails.thumbnails([changed], pages((URL, noise), (STRIPPED, noise[::-1])))
    for data in found[changed].values():
        assert opened(data).size


# -- in the store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "miqps.db") as running:
        yield running


def shop(url: str, visit: int) -> Page:
    """Shows what `id` says."""
    lines = (f"thing {query.values(url, 'id')}", *(f"line {n} of {path(url)}" for n in range(5)))
    return replace(drawn(listing(*lines)), url=url, final_url=url)


def count(store: Store) -> int:
    return store._file.rows("SELECT count(*) FROM thumbnails")[0][0]  # type: ignore[return-value]


def judge(store: Store, **plan: object) -> None:
    store.corpus.add(Observation(f"{SITE}/p?id={n}&utm_source=s{n}") for n in range(5))
    Prober(store, Imagined(shop), Plan(delay=0, **plan)).run()  # type: ignore[arg-type]


def test_a_run_keeps_pictures_of_its_evidence(store: Store) -> None:
    judge(store)
    (context,) = store.corpus.contexts("shop.example")
    found = store.evidence.pictures(context.id)
    assert set(found) <= set(store.evidence.trials(context.id))
    assert {(t.outcome, t.removed) for t in found} == {
        ("different", frozenset({"id", "utm_source"})),
        ("same", frozenset({"utm_source"})),
    }
    for images in found.values():
        assert set(images) == {"original", "stripped", "difference"}
        for data in images.values():
            opened(data)


def test_pictures_are_replaced_with_their_evidence(store: Store) -> None:
    judge(store)
    before = count(store)
    judge(store, again=True)
    assert count(store) == before > 0


@pytest.mark.parametrize("how", ["site", "age", "run"])
def test_pictures_leave_with_their_evidence(store: Store, how: str) -> None:
    judge(store)
    assert count(store)
    match how:
        case "site":
            store.forget_site("shop.example")
        case "age":
            store.forget_older(-1)
        case "run":
            with store._file.writing() as db:
                db.execute("DELETE FROM runs")
    assert count(store) == 0


def test_there_are_never_too_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_THUMBNAILS", 4)
    for n in range(3):
        store.corpus.add(Observation(f"{SITE}/{n}?id={m}&utm_source=s{m}") for m in range(5))
    judge(store)
    assert count(store) == 4


def test_a_content_id_that_takes_no_pictures_keeps_none(store: Store) -> None:
    def words(url: str, visit: int) -> Page:
        title = f"Thing {query.values(url, 'id')}"
        return replace(shop(url, visit), title=title, pixels=None, metadata=Metadata())

    store.corpus.add(Observation(f"{SITE}/p?id={n}&utm_source=s{n}") for n in range(5))
    Prober(store, Imagined(words), Plan(delay=0, content_id="metadata")).run()
    (context,) = store.corpus.contexts("shop.example")
    assert store.evidence.trials(context.id)
    assert store.evidence.pictures(context.id) == {}
