"""What a page's scripts complain of, and nothing else of what they say to the console."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST = 20
"""Complaints kept of one visit."""

LONGEST = 300
"""Characters of one."""

EVENT = "log.entryAdded"

# Runs before any script of a document. Every line a page writes is a message to the driver: some
# pages write a hundred thousand, and then nothing else gets through.
PRELOAD = r"""
() => {
  for (const name of ["log", "info", "debug", "warn", "trace", "dir", "dirxml", "table", "group",
      "groupCollapsed", "groupEnd", "assert", "count", "timeLog", "timeEnd"]) {
    console[name] = () => undefined;
  }
  const complain = console.error;
  let left = __MOST__;
  const line = (what) => { try { return String(what); } catch { return typeof what; } };
  console.error = (...what) => {
    if (left-- > 0) complain.call(console, what.map(line).join(" ").slice(0, __LONGEST__));
  };
}
""".replace("__MOST__", str(MOST)).replace("__LONGEST__", str(LONGEST))


def complaint(about: Mapping[str, Any]) -> str:
    """The complaint in an event's parameters; "" when it is none."""
    if about.get("level") != "error":
        return ""
    return " ".join(str(about.get("text") or "").split())[:LONGEST]
