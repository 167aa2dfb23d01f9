"""Ages as people write them: `90d`, `12w`, `90`."""

from __future__ import annotations

import re

_AGE = re.compile(r"(\d{1,6})([dw]?)", re.ASCII)


def days(text: str) -> float:
    """The days that are meant.

    >>> days("90d"), days("2w"), days("7")
    (90.0, 14.0, 7.0)

    Raises ValueError: neither days nor weeks.
    """
    match = _AGE.fullmatch(text)
    if match is None:
        raise ValueError(f"takes days or weeks, like 90d or 12w, not {text!r}")
    return float(match[1]) * (7 if match[2] == "w" else 1)
