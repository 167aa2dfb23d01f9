"""What several tests stand on: a folder of their own and the environment's Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

Ended = subprocess.CompletedProcess[str]

ROOT = Path(__file__).resolve().parent.parent


# A shell that starts the tests in the background has Ctrl-C ignored, also in all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def script():
    """Runs a script of the project as a process, from another folder, and gives what it said."""

    def run(name: str, *arguments: object, cwd: Path, **more: object) -> Ended:
        command = [sys.executable, str(ROOT / "scripts" / name), *map(str, arguments)]
        return subprocess.run(
            command,
            cwd=cwd,
            text=True,
            capture_output=True,
            timeout=900,
            env={**os.environ, "PYTHONWARNINGS": "error", "COLUMNS": "80"},
            **more,  # type: ignore[arg-type]
        )

    return run


# A busy machine is no fault: no test may fail for its speed.
hypothesis.settings.register_profile("miqps", deadline=None)
hypothesis.settings.load_profile("miqps")

_LONG = ("test_datasette", "test_loop", "test_map_life", "test_probe_run", "test_bench_proxy")
"""Whole runs, a minute and more each."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first: where two processes share the suite, none is left alone at its end."""
    items.sort(key=lambda item: item.path.stem not in _LONG)
