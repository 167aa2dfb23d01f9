"""The map: what it says, and its JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps.mapping import (
    ALL_PATHS,
    ContextVerdicts,
    Map,
    MapError,
    SiteMap,
    Verdict,
    from_json,
    to_json,
)
from miqps.urls import Context

decisions = st.sampled_from(["important", "neutral", "undecided"])
scopes = st.sampled_from(["/", "/p/*", "/wiki/*", ALL_PATHS])
name_sets = st.sets(st.text(max_size=4), min_size=1, max_size=4).map(lambda s: tuple(sorted(s)))
counts = st.integers(0, 99)


@st.composite
def entries(draw: st.DrawFn, site: str, has_names: bool = True) -> ContextVerdicts:
    names = draw(name_sets)
    verdicts = tuple(
        Verdict(
            name,
            *draw(st.tuples(decisions, st.text(max_size=5), counts, counts, counts)),
            key=draw(st.none() | decisions),
        )
        for name in names
        if draw(st.booleans())
    )
    return ContextVerdicts(Context(site, draw(scopes), names if has_names else ()), verdicts)


@st.composite
def maps(draw: st.DrawFn) -> Map:
    sites = draw(st.sets(st.sampled_from(["a.example", "b.example:8080"])))
    return Map(
        draw(st.integers(1, 9)),
        "2026-12-01T00:00:00Z",
        {
            site: SiteMap(
                site,
                tuple(draw(st.lists(entries(site), max_size=4))),
                draw(st.frozensets(scopes)),
                tuple(draw(st.lists(entries(site, has_names=False), max_size=2))),
            )
            for site in sorted(sites)
        },
    )


@given(maps())
def test_json_gives_an_equal_map_back(map: Map) -> None:
    text = to_json(map)
    json.loads(text)
    assert from_json(text) == map
    assert from_json(text.encode()) == map
    assert from_json(json.dumps(json.loads(text), indent=2)) == map


def test_documented_form() -> None:
    map = from_json(
        """{"created": "2026-12-01T00:00:00Z", "sites": {"a.example": {
        "open_prefixes": ["/wiki"], "later": [1],
        "inferred": [{"path": "**", "parameters": {"gclid": {"verdict": "neutral"}}}],
        "contexts": [{"path": "/p/*", "names": ["a", "b", "c"], "parameters": {
            "a": {"verdict": "important", "reason": "differs", "samples": 3, "values": 2,
                  "mismatches": 1, "key": "neutral"},
            "b": {"verdict": "neutral", "reason": "same", "samples": 10, "values": 9}}}]}},
        "format": "miqps-map/1", "version": 7}"""
    )
    site = map.sites["a.example"]
    (context,) = site.contexts
    assert map.version == 7
    assert site.open_prefixes == {"/wiki"}
    assert context.context == Context("a.example", "/p/*", ("a", "b", "c"))
    assert context.verdicts[0] == Verdict("a", "important", "differs", 3, 2, 1, "neutral")
    assert context.neutral == {"b"}
    assert context.neutral_in_keys == {"a", "b"}
    assert site.inferred[0].neutral == {"gclid"}


def whole(**changes: Any) -> str:
    fields = {"format": "miqps-map/1", "version": 1, "created": "2026-12-01", "sites": {}}
    return json.dumps(fields | changes)


def with_context(**changes: Any) -> str:
    entry = {"path": "/p", "names": ["a"], "parameters": {"a": {"verdict": "neutral"}}}
    return whole(sites={"a.example": {"contexts": [entry | changes]}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "broken JSON"),
        ("[]", "Expected `object`"),
        ("{", "broken JSON"),
        ('{"format"', "broken JSON"),
        ('{"format": ', "broken JSON"),
        ('{"format": 1', "$.format"),
        ('{"sites": {"a": {"contexts": [', "broken JSON"),
        ('{"sites": {"a": {"contexts": [1,', "broken JSON"),
        ('{"version": 1,}', "broken JSON"),
        (whole() + "x", "broken JSON"),
        ("[" * 100_000, "Expected `object`"),
        ('{"a": ' + "[" * 100_000, "nested too deep"),
        (whole(format="other"), "'format' is 'other'"),
        (whole(version="1"), "$.version"),
        (whole(version=True), "$.version"),
        (whole(created=5), "$.created"),
        (whole(sites=5), "$.sites"),
        (whole(sites={"a": {"contexts": 5}}), "site a: Expected `array`"),
        (whole(sites={"a": {"open_prefixes": [5]}}), "$.open_prefixes[0]"),
        (with_context(path="p"), "'path' neither starts with /"),
        (with_context(path=5), "site a.example"),
        (with_context(names=["b", "a"]), "sorted and distinct"),
        (with_context(names=["a", "a"]), "sorted and distinct"),
        (with_context(names=[5]), "$.contexts[0].names[0]"),
        (with_context(names=["b"]), "not among the names"),
        (with_context(parameters={"a": {}}), "missing required field `verdict`"),
        (with_context(parameters={"a": {"verdict": "maybe"}}), "Invalid enum value 'maybe'"),
        (
            with_context(parameters={"a": {"verdict": "neutral", "key": "x"}}),
            "Invalid enum value 'x'",
        ),
        (with_context(parameters={"a": {"verdict": "neutral", "samples": "x"}}), "Expected `int`"),
        (with_context(parameters=[5]), "site a.example"),
        (whole(sites={"a": {"contexts": [{"path": "/"}]}}), "missing required field `parameters`"),
    ],
)
def test_wrong_map(text: str, message: str) -> None:
    with pytest.raises(MapError) as error:
        from_json(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
