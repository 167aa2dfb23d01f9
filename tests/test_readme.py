"""The README says what is true: its commands exist, its options are the addon's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from mitmproxy.test import taddons

from miqps.addon import Miqps

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^    (?:\.venv/bin/python )?(scripts/\w+\.py)(.*)$", README, re.MULTILINE)
SHELL = re.findall(r"^    sh (\S+\.sh)", README, re.MULTILINE)


def test_the_two_commands_come_first() -> None:
    assert SHELL[:2] == ["scripts/demo.sh", "scripts/test.sh"]
    assert README.index("scripts/test.sh") < 1_200


@pytest.mark.parametrize("name", sorted({name for name, _ in COMMANDS}))
def test_every_option_in_a_command_is_known(name: str) -> None:
    for words in (words for other, words in COMMANDS if other == name):
        sub = [w for w in words.split()[:1] if re.fullmatch("[a-z]+", w)]
        helped = subprocess.run(
            [sys.executable, str(ROOT / name), *sub, "--help"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for option in re.findall(r"--[a-z-]+", words):
            assert option in helped, f"{name} has no {option}"
        assert sub or "Example: " in helped


def test_the_option_table_is_the_addons() -> None:
    written = dict(re.findall(r"^\| `(miqps_\w+)` \| `([^`]*)` \|", README, re.MULTILINE))
    with taddons.context(Miqps()) as context:
        declared = {
            name: str(option.default)
            for name, option in context.options.items()
            if name.startswith("miqps_")
        }
    context.master.event_loop.close()
    assert written == declared


def test_files_that_are_named_exist() -> None:
    for name in set(re.findall(r"\b(?:scripts|addons|miqps)/[\w/]+\.(?:py|sh)", README)):
        assert (ROOT / name).exists(), name
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 2
    for name in pictures:
        assert (ROOT / name).stat().st_size < 60_000, name
