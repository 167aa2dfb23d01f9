"""Which URLs are kept: the same ones in whatever order, split and merged however they come."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import query
from miqps.reservoir import LISTED, REDACTED, VISITED, Reservoir, Sample, digest

NAMES = ("id", "ref")
paths = st.sampled_from(["/a", "/b", "/c", "/d"])
values = st.integers(0, 12)
standings = st.sampled_from([VISITED, LISTED, REDACTED])
made = st.builds(
    lambda path, id, ref, standing: sample(f"http://x{path}?id={id}&ref={ref}", standing),
    paths,
    values,
    values,
    standings,
)


def sample(url: str, standing: int = VISITED) -> Sample:
    return Sample(url, digest(url), standing)


def kept(samples: list[Sample], room: int = 12, least: int = 1) -> dict[int, Sample]:
    reservoir = Reservoir(NAMES, True, room, least)
    for one in samples:
        reservoir.offer(one)
    best: dict[int, Sample] = {}
    for one in samples:
        if one.id in reservoir and (one.id not in best or one.rank < best[one.id].rank):
            best[one.id] = one
    assert best.keys() == set(reservoir)
    return best


@given(st.lists(made, max_size=60), st.randoms(use_true_random=False))
def test_the_order_does_not_matter(samples: list[Sample], random: random.Random) -> None:
    shuffled = list(samples)
    random.shuffle(shuffled)
    assert kept(shuffled) == kept(samples)


@given(st.lists(made, max_size=40), st.lists(made, max_size=40))
def test_parts_that_are_put_together_are_the_whole(one: list[Sample], two: list[Sample]) -> None:
    parts = [*kept(one).values(), *kept(two).values()]
    assert kept(parts) == kept(one + two)


@given(st.lists(made, max_size=60))
def test_there_is_no_more_than_there_is_room_for(samples: list[Sample]) -> None:
    assert len(kept(samples)) <= 12


@pytest.mark.parametrize(
    ("room", "least", "distinct"), [(300, 3, 100), (30, 3, 10), (3, 3, 3), (3, 1, 1)]
)
def test_every_name_keeps_as_many_values_as_there_is_room_for(
    room: int, least: int, distinct: int
) -> None:
    # One value in a thousand differs: by chance alone it would be lost.
    urls = [f"http://x/p?id={n % 200}&ref={n // 990}" for n in range(100_000)]
    random.Random(7).shuffle(urls)
    found = kept([sample(url) for url in urls], room, least)
    for name in NAMES:
        seen = {query.values(one.url, name) for one in found.values()}
        assert len(seen) >= distinct


def test_what_was_visited_outranks_a_list_and_a_list_what_was_redacted() -> None:
    listed = [sample(f"http://x/p?id={n}&ref=1", LISTED) for n in range(500)]
    visited = [sample(f"http://x/p?id={n}&ref=1", VISITED) for n in range(500, 504)]
    redacted = [sample(f"http://x/p?id={n}&ref=1", REDACTED) for n in range(600, 900)]
    found = kept(redacted + listed + visited, 12)
    assert found.keys() >= {one.id for one in visited}
    assert REDACTED not in {one.standing for one in found.values()}


def test_a_listed_url_that_is_visited_gains_the_standing_of_a_visit() -> None:
    urls = [f"http://x/p?id={n}&ref=1" for n in range(300)]
    late = urls[137]
    assert digest(late) not in kept([sample(url, LISTED) for url in urls], 9)
    found = kept([sample(url, LISTED) for url in urls] + [sample(late, VISITED)], 9)
    assert found[digest(late)].standing == VISITED


def test_a_name_that_comes_twice_and_one_that_has_no_value_count_as_values() -> None:
    urls = [
        "http://x/p?id=1&id=2&ref",
        "http://x/p?id=2&id=1&ref=",
        "http://x/p?%69d=3&ref",
    ]
    assert len(kept([sample(url) for url in urls], 30)) == 3


def test_the_hash_is_the_same_everywhere() -> None:
    assert digest("http://x/p?id=1") == 495802533986529691
    assert digest("\udcff") != digest("")
