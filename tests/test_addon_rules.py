"""The addon's rule file: at the start, changed at run time, and edited while it is in force."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mitmproxy.exceptions import OptionsError
from mitmproxy.test import taddons

from miqps.addon import Miqps
from miqps.addon.rulebook import Rulebook
from miqps.addon.watcher import Watcher
from miqps.rules import RulesError, default_rules
from miqps.settings import Recording
from tests import test_mitmdump as real
from tests.test_addon import (
    a_flow,
    a_map,
    load,
    mitmproxy_context,
    publish,
    put_body,
    wait_for,
)

KEEP = '[[rule]]\nsite = "*"\nkeep = ["utm_source"]\n'
STRIP = '[[rule]]\nsite = "shop.example"\nstrip = ["id"]\nreason = "for the test"\n'
WRONG = '[[rule]]\nsite = "*"\nkep = ["utm_source"]\n'
WHY = ":3: unknown key 'kep'; a rule has keep, path, reason, site, strip"


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    recording = Recording(flush_seconds=0.02, reload_seconds=0.02)
    monkeypatch.setattr("miqps.addon.writer.RECORDING", recording)
    monkeypatch.setattr("miqps.addon.watcher.RECORDING", recording)
    caplog.set_level(logging.INFO)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "miqps.db"
    publish(path, a_map(1, "utm_source"))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "my.toml"


@pytest.fixture
def context() -> Iterator[taddons.context]:
    with mitmproxy_context() as context:
        yield context


@pytest.fixture
def start(context: taddons.context, db: Path) -> Iterator[Callable[..., Miqps]]:
    """Give the function that makes an addon with this rule file, and runs it."""
    addon = Miqps()
    context.master.addons.add(addon)

    def started(rules: object = "") -> Miqps:
        context.configure(addon, miqps_db=str(db), miqps_rules=str(rules), miqps_canary=0)
        addon.running()
        return addon

    yield started
    addon.done()


def sent(addon: Miqps, target: bytes = b"/p?id=7&utm_source=mail") -> bytes:
    """What the site is asked for when the client asks for this."""
    path: bytes = load(addon, a_flow(target)).request.data.path
    return path


# At the start


def test_a_rule_file_adds_to_map_and_shipped_rules(
    start: Callable[..., Miqps], file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text(STRIP)
    addon = start(file)
    assert sent(addon, b"/p?id=7&utm_source=mail") == b"/p"
    assert sent(addon, b"/q?id=7&start=5") == b"/q?start=5"
    assert f"map version 1, 1 contexts, rules from {file}" in caplog.text


def test_a_home_directory_is_found(
    start: Callable[..., Miqps], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(STRIP)
    monkeypatch.setenv("HOME", str(file.parent))
    assert sent(start("~/my.toml"), b"/q?id=7") == b"/q"


def test_a_class_that_is_switched_off_is_rewritten(start: Callable[..., Miqps], file: Path) -> None:
    file.write_text(STRIP)
    addon = start(file)
    assert sent(addon, b"/login?id=7&token=5") == b"/login?id=7&token=5"
    file.write_text('off = ["log-in token"]\n' + STRIP)
    wait_for(lambda: sent(addon, b"/login?id=7&token=5") == b"/login?token=5")
    assert sent(addon, b"/checkout?id=7") == b"/checkout?id=7"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{tmp}/my.toml", "miqps_rules: {tmp}/my.toml" + WHY),
        ("{tmp}/none.toml", "miqps_rules: {tmp}/none.toml: No such file or directory"),
        ("{tmp}", "miqps_rules: {tmp}: not a file"),
        ("{tmp}/pipe", "miqps_rules: {tmp}/pipe: not a file"),
        ("{tmp}/my.toml/x", "miqps_rules: {tmp}/my.toml/x: Not a directory"),
        ("{tmp}/binary", "miqps_rules: {tmp}/binary: not UTF-8 text"),
        ("a\0b", "miqps_rules must be the path of a file"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_and_the_old_rules_stay(
    context: taddons.context, start: Callable[..., Miqps], file: Path, value: str, message: str
) -> None:
    file.write_text(WRONG)
    file.with_name("binary").write_bytes(b"\xff")
    os.mkfifo(file.with_name("pipe"))
    place = str(file.parent)
    with pytest.raises(OptionsError) as at_the_start:
        start(value.format(tmp=place))
    good = file.with_name("good.toml")
    good.write_text(STRIP)
    addon = start(good)
    with pytest.raises(OptionsError) as later:
        context.configure(addon, miqps_rules=value.format(tmp=place))
    for raised in (at_the_start, later):
        assert str(raised.value) == message.format(tmp=place)
    assert sent(addon, b"/q?id=7") == b"/q"
    # And the watcher looks after the old file still.
    good.write_text(KEEP)
    wait_for(lambda: sent(addon) == b"/p?id=7&utm_source=mail")


# As an option at run time


def test_other_rules_at_run_time(
    context: taddons.context,
    start: Callable[..., Miqps],
    file: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    addon = start()
    assert sent(addon) == b"/p?id=7"
    file.write_text(KEEP)
    context.configure(addon, miqps_rules=str(file))
    wait_for(lambda: sent(addon) == b"/p?id=7&utm_source=mail")
    context.configure(addon, miqps_rules="")
    wait_for(lambda: sent(addon) == b"/p?id=7")
    wait_for(lambda: "miqps: the shipped rules alone in force" in caplog.messages)
    assert caplog.messages.count(f"miqps: rules from {file} in force") == 1


def test_another_database_keeps_the_rules_that_are_in_force(
    context: taddons.context, start: Callable[..., Miqps], file: Path, tmp_path: Path
) -> None:
    file.write_text(STRIP)
    addon = start(file)
    file.unlink()
    publish(tmp_path / "other.db", a_map(5))
    context.configure(addon, miqps_db=str(tmp_path / "other.db"))
    assert sent(addon, b"/q?id=7") == b"/q"
    file.write_text(STRIP.replace("id", "ref"))
    wait_for(lambda: sent(addon, b"/q?id=7&ref=1") == b"/q?id=7")


# Edited while it is in force


def test_an_edited_file_comes_into_force_with_the_map_that_is_loaded(
    start: Callable[..., Miqps], db: Path, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text(STRIP)
    addon = start(file)
    put_body(db, 2, "{")
    wait_for(lambda: "a map is left out" in caplog.text)
    file.write_text(KEEP)
    wait_for(lambda: sent(addon) == b"/p?id=7&utm_source=mail")
    file.write_text("")
    wait_for(lambda: sent(addon) == b"/p?id=7")
    wait_for(lambda: caplog.messages.count(f"miqps: rules from {file} in force") == 2)


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([WRONG], ["{file}" + WHY]),
        ([None], ["{file}: No such file or directory"]),
        ([WRONG, "# again\n" + WRONG], ["{file}" + WHY, "{file}" + WHY.replace("3", "4", 1)]),
        ([WRONG, WRONG + "# the same\n"], ["{file}" + WHY]),
        ([WRONG, None], ["{file}" + WHY, "{file}: No such file or directory"]),
    ],
)
def test_a_file_that_goes_wrong_changes_nothing_until_it_is_mended(
    file: Path, caplog: pytest.LogCaptureFixture, states: list[str | None], said: list[str]
) -> None:
    file.write_text(STRIP)
    rulebook = Rulebook(str(file))
    before = rulebook.rules
    for state in states:
        if state is None:
            file.unlink()
        else:
            file.write_text(state)
        assert [rulebook.look() is before for _ in range(5)] == [True] * 5
    assert caplog.messages == [
        "miqps: the rules stay as they were: " + line.format(file=file) for line in said
    ]
    file.write_text(STRIP)
    after = [rulebook.look() for _ in range(3)]
    assert after[0] is before
    assert after[1] is after[2] is not before
    assert after[2] == before


def test_what_is_being_written_is_not_read(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_text(KEEP)
    rulebook = Rulebook(str(file))
    before = rulebook.look()
    for half in ("", KEEP[:20], KEEP[:30], "[[rule]]\n"):
        file.write_text(half)
        assert rulebook.look() is before
    file.write_text(KEEP + STRIP)
    assert [len(rulebook.look().rules) - len(before.rules) for _ in range(3)] == [0, 1, 1]
    assert caplog.messages == []


def test_a_file_that_is_renamed_over_it_is_noticed(file: Path) -> None:
    file.write_text(KEEP)
    rulebook = Rulebook(str(file))
    status = file.stat()
    other = file.with_name("other.toml")
    other.write_text(KEEP.replace("utm_source", "utm_medium"))
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.rename(file)
    rulebook.look()
    assert rulebook.look().rules[0].keep == ("utm_medium",)


def test_an_error_in_a_rule_book_costs_neither_watcher_nor_map(
    start: Callable[..., Miqps],
    db: Path,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file.write_text(STRIP)
    addon = start(file)

    def broken(*_: object) -> None:
        publish(db, a_map(2))
        raise RecursionError

    with monkeypatch.context() as patch:
        patch.setattr("miqps.addon.rulebook.load_rules", broken)
        file.write_text("# edited\n" + STRIP)
        wait_for(lambda: sent(addon) == b"/p?utm_source=mail")
    assert caplog.text.count("could not be looked at") == 1
    file.write_text(KEEP)
    wait_for(lambda: sent(addon) == b"/p?id=7&utm_source=mail")


def test_without_a_file_nothing_is_looked_at(db: Path) -> None:
    watcher = Watcher(str(db), lambda normalizer: None)
    assert watcher.begin().version == 1
    assert watcher.look() is None
    assert watcher.rulebook.look() is default_rules()
    with pytest.raises(RulesError, match="No such file"):
        Rulebook("/nowhere/my.toml")


# In a real mitmdump

upstream = real.upstream


def test_a_wrong_rule_file_ends_it_at_the_start(tmp_path: Path, file: Path) -> None:
    file.write_text(WRONG)
    with real.mitmdump(tmp_path, "--set", f"miqps_rules={file}") as proxy:
        assert proxy.process.wait(30) == 1
        proxy._reader.join(20)
    assert any(f"miqps_rules: {file}{WHY}" in line for line in proxy.said)


def test_edited_while_mitmdump_runs(tmp_path: Path, file: Path, upstream: real.Upstream) -> None:
    db = tmp_path / "real.db"
    file.write_text("")
    publish(db, a_map(1, "utm_source", site=upstream.site))
    set_db, set_rules = f"miqps_db={db}", f"miqps_rules={file}"
    with real.mitmdump(tmp_path, "--set", set_db, "--set", set_rules) as proxy:
        port = proxy.port()
        real.ask(port, upstream.site, b"/p?id=1&utm_source=x")
        file.write_text(KEEP)
        proxy.wait_for_line(f"miqps: rules from {file} in force")
        real.ask(port, upstream.site, b"/p?id=2&utm_source=x")
        file.write_text(WRONG)
        proxy.wait_for_line("miqps: the rules stay as they were")
        real.ask(port, upstream.site, b"/p?id=3&utm_source=x")
        assert proxy.end(signal.SIGTERM) == 0
    assert upstream.lines == [
        b"GET /p?id=1 HTTP/1.1\r\n",
        b"GET /p?id=2&utm_source=x HTTP/1.1\r\n",
        b"GET /p?id=3&utm_source=x HTTP/1.1\r\n",
    ]
