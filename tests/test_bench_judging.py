"""The bench of judging counts right: labels, patterns, pairs, and what a map drops."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

from benches import labels
from benches.labels import Label, read_paths, read_patterns, score

from miqps import query

ADDRESSES = ["/p/1?id=1&utm=a&s=x&t=x", "/p/2?id=2&utm=b&s=y&t=y", "/p/3?id=3&utm=c&s=z&t=z"]
PATTERN = ("/p/{n}", ("id", "s", "t", "utm"))
LABELS = [
    Label(PATTERN, "id", "value-dependent"),
    Label(PATTERN, "utm", "neutral"),
    Label(PATTERN, "s", "non-neutral", "t"),
    Label(PATTERN, "t", "non-neutral", "s"),
]


@pytest.mark.parametrize(
    ("dropped", "wrong", "found"),
    [
        (set(), [], 0),
        ({"utm"}, [], 1),
        ({"utm", "s"}, [], 2),
        ({"s", "t"}, ["s", "t"], 1),
        ({"id"}, ["id"], 0),
    ],
)
def test_counts(dropped: set[str], wrong: list[str], found: int) -> None:
    counted = score(
        LABELS, ADDRESSES, lambda url: query.remove(url, dropped), lambda url, name: "why", 3
    )
    assert sorted({w.name for w in counted.wrong}) == wrong
    assert len(counted.wrong) == 3 * len(wrong)
    assert (counted.found, counted.neutral) == (found, 2)
    assert (counted.found_with_samples, counted.neutral_with_samples) == (found, 2)


def test_few_values_are_counted_apart() -> None:
    counted = score(LABELS, ADDRESSES[:2], lambda url: url, lambda url, name: "", 3)
    assert (counted.neutral, counted.neutral_with_samples) == (2, 0)


def test_the_most_literal_template_speaks_for_a_url(tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv"
    file.write_text(
        "pattern\tparam\tlabel\twhy\n"
        '/a/{x}?id\tid\tneutral\ta "quoted" reason\n'
        "/a/b?id\tid\tnon-neutral\tPAIR(other): says the same\n"
    )
    found = read_patterns(file)
    assert [label.pair for label in found] == ["", "other"]
    by_pattern = {label.pattern: [label] for label in found}
    assert labels._of("/a/b?id=1", by_pattern) == [found[1]]
    assert labels._of("/a/c?id=1", by_pattern) == [found[0]]
    assert labels._of("/a/b/c?id=1", by_pattern) == labels._of("/a/b?x=1", by_pattern) == []


def test_labels_by_path(tmp_path: Path) -> None:
    file = tmp_path / "truth.tsv"
    file.write_text(
        "path\tparameter\ttruth\twhy\n/p\ta\tpair(b)\t\n/p\tb\tpair(a)\t\n"
        "/q\tc\tpair\t\n/q\td\tpair\t\n/q\te\tneutral\t\n"
    )
    found = read_paths(file, ["/p?a=1&b=2", "/p?b=1", "/q?c&d&e"])
    assert [(label.pattern, label.name, label.pair) for label in found] == [
        (("/p", ("a", "b")), "a", "b"),
        (("/p", ("a", "b")), "b", "a"),
        (("/p", ("b",)), "b", "a"),
        (("/q", ("c", "d", "e")), "c", "d"),
        (("/q", ("c", "d", "e")), "d", "c"),
        (("/q", ("c", "d", "e")), "e", ""),
    ]
