"""The commands of the addon, as mitmproxy calls them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mitmproxy.exceptions import CommandError
from mitmproxy.test import taddons

from miqps.addon import Miqps
from miqps.store import Store
from tests.test_addon import SITE, a_flow, a_map, load, publish, wait_for
from tests.test_addon import context as context
from tests.test_addon import db as db
from tests.test_addon import fast as fast
from tests.test_addon import start as start

WHOLE, CLEAN = b"/p?id=7&utm_source=mail", b"/p?id=7"


def sent(addon: Miqps) -> bytes:
    path: bytes = load(addon, a_flow()).request.data.path
    return path


Call = Callable[..., object]


@pytest.fixture
def call(context: taddons.context) -> Call:
    """Runs a command by its name, as the console does."""
    return lambda name, *arguments: context.master.commands.call_strings(name, arguments)


def test_status_says_what_is_in_force(start: Callable[..., Miqps], db: Path, call: Call) -> None:
    publish(db, a_map(3, "utm_source"))
    addon = start()
    sent(addon)
    assert call("miqps.status") == [
        "mode rewrite, scope documents",
        f"map version 3, 1 contexts, from {db}",
        "paused: nothing",
        "miqps/rewritten 1",
    ]


def test_a_site_is_paused_and_resumed(start: Callable[..., Miqps], db: Path, call: Call) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start()
    assert sent(addon) == CLEAN
    call("miqps.pause", f"https://{SITE}/any")
    assert sent(addon) == WHOLE
    call("miqps.pause", "other.example")
    call("miqps.resume", SITE)
    assert sent(addon) == CLEAN
    call("miqps.pause")
    assert sent(addon) == WHOLE
    assert call("miqps.status")[2] == "paused: everything, other.example"  # type: ignore[index]
    call("miqps.resume")
    assert sent(addon) == CLEAN


def test_a_parameter_is_explained_and_pinned(
    start: Callable[..., Miqps], db: Path, call: Call
) -> None:
    publish(db, a_map(1, "utm_source"))
    addon = start()
    url = f"https://{SITE}{WHOLE.decode()}"
    assert call("miqps.explain", url) == [
        f"-> https://{SITE}/p?id=7",
        "id: kept, verdict: important: for the test",
        "utm_source: goes, verdict: neutral: for the test",
    ]
    call("miqps.pin", SITE, "utm_source", "keep")
    wait_for(lambda: sent(addon) == WHOLE)
    with Store.open(db) as store:
        assert [pin.name for pin in store.pins.of_sites()[SITE]] == ["utm_source"]
    assert "pinned in the map: keep, by hand" in str(call("miqps.explain", url))


def test_a_new_map_is_taken_up_at_once_when_asked_for(
    start: Callable[..., Miqps], db: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    from miqps.settings import Recording

    monkeypatch.setattr("miqps.addon.watcher.RECORDING", Recording(reload_seconds=3600))
    addon = start()
    publish(db, a_map(1, "utm_source"))
    call("miqps.reload")
    wait_for(lambda: sent(addon) == CLEAN)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("miqps.pause", "no site"), "is no site"),
        (("miqps.pin", "no site", "x", "keep"), "is no site"),
        (("miqps.pin", SITE, "x", "maybe"), "keep or strip, not 'maybe'"),
    ],
)
def test_wrong_words_are_one_line(
    start: Callable[..., Miqps], call: Call, words: tuple[str, ...], said: str
) -> None:
    start()
    with pytest.raises(CommandError, match=said):
        call(*words)


def test_before_it_is_configured(call: Call, context: taddons.context) -> None:
    context.master.addons.add(Miqps())
    with pytest.raises(CommandError, match="not configured"):
        call("miqps.status")
