"""What a browser on this machine is started with, and what it could leave behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from miqps.browser.driver import BrowserError

_PREFIX = "miqps-browser-"

_LONGEST_FOLDER = 56
"""Bytes. A socket's whole path has 104 on macOS, and Chromium puts 46 behind the folder."""

# The kernel ends a child when the *thread* that started it ends. This one never does.
starter = ThreadPoolExecutor(1, thread_name_prefix="miqps-starter")
"""Starts browsers."""


def find(named: str | None, names: tuple[str, ...], advice: str) -> str:
    """A browser's path.

    Args:
        named: a path or name to use instead of what MIQPS_BROWSER or the system offers.
        names: what it is called, the first found is taken.
        advice: what to do when there is none.

    Raises:
        BrowserError: there is none.
    """
    named = named or os.environ.get("MIQPS_BROWSER")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserError(f"no browser at {named}: {advice}")
        return found
    for name in names:
        found = shutil.which(name)
        if found is not None:
            return found
    raise BrowserError(f"no browser found: {advice}")


@cache
def version(binary: str) -> str:
    """What a program says of itself, in lower case.

    Raises:
        BrowserError: it cannot be run.
    """
    try:
        said = subprocess.run(
            [binary, "--version"], capture_output=True, timeout=20, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BrowserError(f"{binary} cannot be run, is it a browser? ({error})") from error
    return said.decode(errors="replace").lower()


def guard() -> tuple[str, ...]:
    """What to put before a command so that it ends with its owner; nothing where no kernel can."""
    setpriv = shutil.which("setpriv") if sys.platform.startswith("linux") else None
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


def environment(profile: Path) -> dict[str, str]:
    """The variables browsers are started with: the same language and time zone everywhere.

    What they and their drivers put into a temporary folder goes with the profile, where its name
    leaves room for that of a socket.
    """
    alike = {**os.environ, "TZ": "UTC", "LANGUAGE": "en_US", "LC_ALL": "C.UTF-8"}
    temporary = profile / "tmp"
    if len(os.fsencode(temporary)) > _LONGEST_FOLDER:
        return alike
    temporary.mkdir(exist_ok=True)
    return {**alike, "TMPDIR": str(temporary)}


def new_profile() -> Path:
    """A folder for a browser's profile, named after its owner.

    Those of owners that were killed are cleared away.
    """
    for profile in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = profile.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(profile, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def remove(profile: Path) -> None:
    """Removes a profile, against processes that write into it while they end."""
    for _ in range(40):
        shutil.rmtree(profile, ignore_errors=True)
        time.sleep(0.05)
        if not profile.exists():
            return


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
