"""Times as files write them, as the store keeps them: ISO 8601 in UTC, seconds.

Every function gives an empty text for what is no time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_LOG = re.compile(
    r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)", re.ASCII
)
_DIGITS = re.compile(r"(\d{4})" + r"(\d\d)" * 5, re.ASCII)
# By hand: `strptime` knows the names in the language of the machine.
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}


def of_timestamp(seconds: float | None) -> str:
    """Of seconds since 1970."""
    try:
        return _utc(datetime.fromtimestamp(seconds, UTC)) if seconds else ""
    except (ValueError, OverflowError, OSError, TypeError):
        return ""


def of_iso(text: object) -> str:
    """Of an ISO 8601 text; one without a time zone is taken as UTC."""
    try:
        when = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return ""
    if when is None:
        return ""
    return _utc(when if when.tzinfo else when.replace(tzinfo=UTC))


def of_digits(text: str) -> str:
    """Of the fourteen digits of web archives, `20260131235959`; what follows is left out."""
    match = _DIGITS.match(text)
    if match is None:
        return ""
    year, month, day, hour, minute, second = map(int, match.groups())
    try:
        return _utc(datetime(year, month, day, hour, minute, second, tzinfo=UTC))
    except ValueError:
        return ""


def of_log(text: str) -> str:
    """Of an access log's `31/Jan/2026:23:59:59 +0100`."""
    match = _LOG.match(text)
    if match is None:
        return ""
    day, month, year, hour, minute, second, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    try:
        return _utc(
            datetime(
                int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second),
                tzinfo=timezone(-offset if sign == "-" else offset),
            )
        )  # fmt: skip
    except (ValueError, KeyError):
        return ""


def _utc(when: datetime) -> str:
    try:
        return when.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except OverflowError:
        return ""
