"""The addon's options, and the checks that mitmproxy leaves to the addon."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, get_args

from mitmproxy.addonmanager import Loader
from mitmproxy.optmanager import OptManager

from miqps.addon.rulebook import Rulebook
from miqps.privacy import HARVESTS, Privacy
from miqps.rules import RulesError
from miqps.settings import DEFAULT_DB, DRIFT
from miqps.sources import is_address, open_source
from miqps.store import Store, StoreError

Mode = Literal["observe", "dry-run", "rewrite", "redirect"]
MODES: Sequence[Mode] = get_args(Mode)
Scope = Literal["documents", "all"]
SCOPES: Sequence[Scope] = get_args(Scope)
RECORDS = ("urls", "counts", "off")


def declare(loader: Loader) -> None:
    """Make the options known to mitmproxy."""
    loader.add_option(
        "miqps_db",
        str,
        DEFAULT_DB,
        "Database that traffic is recorded into and learned maps are read from; made when missing.",
    )
    loader.add_option(
        "miqps_map",
        str,
        "",
        "Where the map is read from instead: another database, a file of JSON, or an http(s)"
        " address that a fleet follows; the last map from there is kept for a start without it.",
    )
    loader.add_option(
        "miqps_mode",
        str,
        "rewrite",
        "observe: only record. dry-run: mark and count what would go. rewrite: remove neutral"
        " parameters from requests. redirect: send page loads to the clean URL, so that the address"
        " bar shows it.",
        choices=MODES,
    )
    loader.add_option(
        "miqps_scope",
        str,
        "documents",
        "What is rewritten: documents, or all requests that only read, of sites that are known.",
        choices=SCOPES,
    )
    loader.add_option(
        "miqps_rules",
        str,
        "",
        "Rule file (TOML) of your own, added to the shipped rules; read again when it is edited.",
    )
    loader.add_option(
        "miqps_trust_lists",
        bool,
        False,
        "Let go what imported lists (scripts/maps.py import) say, where nothing was learned.",
    )
    loader.add_option(
        "miqps_record",
        str,
        "urls",
        "urls: record page loads. counts: only how often each pattern was seen on which path,"
        " no URL; then there is nothing to probe. off: record nothing.",
        choices=RECORDS,
    )
    loader.add_option(
        "miqps_harvest",
        str,
        "site",
        "Links of recorded pages that are taken as samples: those to the same site, all, or off.",
        choices=HARVESTS,
    )
    loader.add_option(
        "miqps_record_api",
        bool,
        False,
        "Record the JSON calls of scripts too, apart from pages; they are not probed.",
    )
    loader.add_option(
        "miqps_allow_hosts",
        Sequence[str],
        [],
        "Record these hosts only: globs like *.shop.example. Empty: all.",
    )
    loader.add_option(
        "miqps_ignore_hosts", Sequence[str], [], "Never record these hosts: globs like *.bank."
    )
    loader.add_option(
        "miqps_retention",
        int,
        180,
        "Days after which what was not seen again is forgotten, with its evidence; 0: never.",
    )
    loader.add_option(
        "miqps_dashboard",
        str,
        "miqps.test",
        "Name under which clients of the proxy find the dashboard, http://NAME/; empty: nowhere.",
    )
    loader.add_option(
        "miqps_canary",
        int,
        DRIFT.canary,
        "Per cent of the page loads that could be rewritten and are not, to see whether what is"
        " stripped still shows the same.",
    )


def parse_mode(text: str) -> Mode:
    """The mode of this name. Raises ValueError with one line that lists the modes."""
    for mode in MODES:
        if text == mode:
            return mode
    raise ValueError(f"miqps_mode must be one of {', '.join(MODES)}, not {text!r}")


def parse_scope(text: str) -> Scope:
    """The scope of this name. Raises ValueError with one line that lists the scopes."""
    for scope in SCOPES:
        if text == scope:
            return scope
    raise ValueError(f"miqps_scope must be one of {', '.join(SCOPES)}, not {text!r}")


def parse_path(text: str) -> str:
    """The absolute path that the option names. Raises ValueError with one line: it names none."""
    if not text or "\0" in text:
        raise ValueError("miqps_db must be the path of a file")
    return os.path.abspath(os.path.expanduser(text))


def parse_canary(percent: int) -> int:
    """The share of canaries in per cent. Raises ValueError with one line: no percentage."""
    if not 0 <= percent <= 100:
        raise ValueError(f"miqps_canary must be a percentage from 0 to 100, not {percent}")
    return percent


def parse_map(text: str) -> str:
    """The place that the option names, "" for none. Raises ValueError with one line."""
    if "\0" in text:
        raise ValueError("miqps_map must be a file or an http(s) address")
    if is_address(text):
        open_source(text)
        return text
    return os.path.abspath(os.path.expanduser(text)) if text else ""


def parse_privacy(values: OptManager) -> Privacy:
    """What may be recorded. Raises ValueError with one line."""
    for option, known in (("miqps_record", RECORDS), ("miqps_harvest", HARVESTS)):
        # mitmproxy does not hold `--set` to the choices.
        if getattr(values, option) not in known:
            raise ValueError(
                f"{option} must be one of {', '.join(known)}, not {getattr(values, option)!r}"
            )
    if values.miqps_retention < 0:
        raise ValueError("miqps_retention must be a number of days, or 0 for ever")
    return Privacy(
        allow_hosts=_globs("miqps_allow_hosts", values.miqps_allow_hosts),
        ignore_hosts=_globs("miqps_ignore_hosts", values.miqps_ignore_hosts),
        harvest=values.miqps_harvest,
        keeps_urls=values.miqps_record == "urls",
        retention=values.miqps_retention,
    )


def _globs(option: str, values: Sequence[str]) -> tuple[str, ...]:
    for glob in values:
        if not re.fullmatch(r"[\w.*?:\[\]!-]+", glob, re.ASCII):
            raise ValueError(f"{option}: {glob!r} is no host, and no glob like *.shop.example")
    return tuple(glob.lower() for glob in values)


def parse_rules(text: str) -> str | None:
    """The absolute path of the rule file; None without one. Raises ValueError with one line."""
    if "\0" in text:
        raise ValueError("miqps_rules must be the path of a file")
    return os.path.abspath(os.path.expanduser(text)) if text else None


def open_rules(path: str | None) -> Rulebook:
    """The rules with the user's own file. Raises ValueError with one line: file, line, what."""
    try:
        return Rulebook(path)
    except RulesError as error:
        raise ValueError(f"miqps_rules: {error}") from None


def check_database(path: str) -> None:
    """Make sure that the file is a database that can be opened; a missing one is made.

    One that is locked, busy or read-only passes: the proxy works without writing. Raises ValueError
    with one line: a directory, not a database, damaged, cannot be made or opened.
    """
    try:
        if not os.path.exists(path):
            folder = next(p for p in Path(path).parents if p.exists())
            if not folder.is_dir():
                raise ValueError(f"miqps_db: {path}: {folder} is not a directory")
            Store.open(path).close()
        elif not os.path.isfile(path):
            raise ValueError(f"miqps_db: {path}: not a file; choose another miqps_db")
        else:
            _probe(path)
    except StoreError as error:
        raise ValueError(f"miqps_db: {str(error).replace('--db', 'miqps_db')}") from error
    except OSError as error:
        raise ValueError(f"miqps_db: {path}: {error.strerror or error}") from error


def _probe(path: str) -> None:
    """Raise ValueError unless the file is, or may be, a database. Waits for no lock."""
    with open(path, "rb"):
        pass
    try:
        uri = Path(path).as_uri() + "?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=0)) as db:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        # Its exact type: locked and the like are subclasses, and pass with time.
        if type(error) is sqlite3.DatabaseError:
            raise ValueError(f"miqps_db: {path}: {error}; choose another miqps_db") from error
