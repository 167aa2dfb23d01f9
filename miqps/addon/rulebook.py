"""The static rules in force: the shipped ones, and a file of the user's own that may be edited."""

from __future__ import annotations

import logging
import os

from miqps.rules import Rules, RulesError, default_rules, load_rules

logger = logging.getLogger(__name__)

Edition = tuple[int, ...]


class Rulebook:
    """The shipped rules, and those of a user's file as it was when it was last right.

    Raises RulesError when the file cannot be used at the start. One that is wrong or gone later
    changes nothing, and is said once. Without a path there are the shipped rules alone.
    """

    def __init__(self, path: str | None = None) -> None:
        self.path = path
        self._seen = self._read = _edition(path)
        self._trouble = ""
        self.rules = _rules(path)
        """The rules in force; another object after every edit."""

    def __str__(self) -> str:
        return f"rules from {self.path}" if self.path else "the shipped rules alone"

    def look(self) -> Rules:
        """The rules in force, after the file was read again where it was edited.

        Editors write a file in steps, and half a file may pass for a right one that keeps too
        little: it is read when it is the same at two looks.
        """
        before, self._seen = self._seen, _edition(self.path)
        if self._seen != self._read and self._seen == before:
            self._read = self._seen
            try:
                self.rules, self._trouble = _rules(self.path), ""
            except RulesError as error:
                if str(error) != self._trouble:
                    logger.warning(f"miqps: the rules stay as they were: {error}")
                self._trouble = str(error)
        return self.rules


def _edition(path: str | None) -> Edition | None:
    """What tells one state of a file from another; None without a file."""
    try:
        status = os.stat(path or "")
    except OSError:
        return None
    # The change time too: a file that became readable has the size and age that it had before.
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _rules(path: str | None) -> Rules:
    if path is None:
        return default_rules()
    # To read a pipe or a terminal would take for ever.
    if os.path.exists(path) and not os.path.isfile(path):
        raise RulesError(f"{path}: not a file")
    return load_rules(path, default_rules())
