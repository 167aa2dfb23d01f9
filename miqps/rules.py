"""Static rules: what people know about sites and need not be learned.

A rule says for a site and a path which names are kept or stripped. `keep` wins over everything
that was learned, and over `strip`. The shipped rules are in `data/rules.toml`; a user's own file
adds to them. What is pinned in the map stands above both, and the never-touch classes
(`miqps.classes`) above all.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any, Literal

from miqps import urls
from miqps.classes import CLASSES, never_touch
from miqps.deeds import deed
from miqps.mapping import Action, Pin

__all__ = [
    "Rule",
    "Rules",
    "RulesError",
    "SiteRules",
    "deed",
    "default_rules",
    "load_rules",
    "never_touch",
    "parse_rules",
]

_REMEMBERED_NAMES = 10_000
_KEYS = frozenset({"site", "path", "keep", "strip", "reason"})


class RulesError(ValueError):
    """A rule file that cannot be used; the message is one line: file, line, what is wrong."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Names to keep and to strip on the sites that a glob covers, below a path prefix.

    `*` in a site or a name stands for any text. `source` is `file:line`.
    """

    site: str
    path: str = "/"
    keep: tuple[str, ...] = ()
    strip: tuple[str, ...] = ()
    reason: str = ""
    source: str = ""
    pinned: bool = False
    """A person's decision about this very site: it stands above all other rules."""


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules in force, and the never-touch classes that are switched off."""

    rules: tuple[Rule, ...] = ()
    off: frozenset[str] = frozenset()

    @property
    def strips(self) -> bool:
        """Whether any name is stripped on any site."""
        return any(rule.strip for rule in self.rules)

    def of_site(self, site: str, pins: Iterable[Pin] = ()) -> SiteRules:
        """The rules for one site, below what is pinned there."""
        pinned = [_as_rule(site, pin) for pin in pins]
        rules = [rule for rule in self.rules if _matches(rule.site, site)]
        return _site_rules((*pinned, *rules))


class SiteRules:
    """The rules for one site. What they say about a name is worked out once."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.strips = any(rule.strip for rule in rules)
        """Whether any name is stripped on this site."""
        self._rules = rules
        self._by_name: dict[str, tuple[tuple[Action, Rule], ...]] = {}

    def decide(self, path: str, name: str) -> tuple[Action, Rule] | None:
        """What the rules say about a name on a raw path, and the rule that says it."""
        for found in self._about(name):
            if path.startswith(found[1].path):
                return found
        return None

    def kept(self, name: str) -> Literal["everywhere", "somewhere", "nowhere"]:
        """On how much of the site a `keep` rule covers this name."""
        paths = [rule.path for action, rule in self._about(name) if action == "keep"]
        return "everywhere" if "/" in paths else "somewhere" if paths else "nowhere"

    def _about(self, name: str) -> tuple[tuple[Action, Rule], ...]:
        found = self._by_name.get(name)
        if found is None:
            keeps: list[tuple[Action, Rule]] = [
                ("keep", rule) for rule in self._rules if _covers(rule, rule.keep, name)
            ]
            strips: list[tuple[Action, Rule]] = [
                ("strip", rule) for rule in self._rules if _covers(rule, rule.strip, name)
            ]
            found = tuple(sorted((*keeps, *strips), key=_rank))
            if len(self._by_name) >= _REMEMBERED_NAMES:
                self._by_name.clear()
            self._by_name[name] = found
        return found


def load_rules(path: str | os.PathLike[str], base: Rules | None = None) -> Rules:
    """The rules in a TOML file, added to those of `base`. Raises RulesError."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise RulesError(f"{os.fspath(path)}: {what}") from None
    except ValueError:
        raise RulesError(f"{os.fspath(path)!r}: not the path of a file") from None
    own = parse_rules(text, os.fspath(path))
    base = base or Rules()
    return Rules(own.rules + base.rules, own.off | base.off)


@cache
def default_rules() -> Rules:
    """The shipped rules. Raises RulesError when the package is installed without them."""
    return load_rules(_shipped())


def parse_rules(text: str, source: str = "rules") -> Rules:
    """The rules in a TOML text. Raises RulesError; `source` names the text in messages."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what = re.sub(r" \(at (?:line \d+, column \d+|end of document)\)", "", str(error))
        raise RulesError(f"{source}:{_line_of_error(text, str(error))}: {what}") from None
    except (RecursionError, ValueError):
        raise RulesError(f"{source}:1: nested too deep, or a number too long") from None
    for key in table:
        if key not in {"rule", "off"}:
            raise RulesError(
                f"{source}:{_line(text, key)}: unknown key '{key}'; only 'rule', 'off'"
            )
    entries = table.get("rule", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RulesError(f"{source}:{_line(text, 'rule')}: write each rule as a [[rule]] table")
    off = table.get("off", [])
    if not isinstance(off, list) or not CLASSES.issuperset(map(str, off)):
        known = ", ".join(sorted(CLASSES))
        raise RulesError(f"{source}:{_line(text, 'off')}: 'off' must be a list out of: {known}")
    rules = tuple(_rule(entry, text, number, source) for number, entry in enumerate(entries))
    return Rules(rules, frozenset(off))


def _shipped() -> Path:
    beside = Path(__file__).parents[1] / "data" / "rules.toml"
    if beside.exists():
        return beside
    # A wheel puts the file below share/; its record knows where that is.
    with suppress(PackageNotFoundError):
        for file in files("miqps") or ():
            if file.name == "rules.toml":
                return Path(str(file.locate()))
    raise RulesError("data/rules.toml: the shipped rules are missing; install miqps again")


def _rule(entry: dict[str, Any], text: str, number: int, source: str) -> Rule:
    def wrong(key: str, what: str) -> RulesError:
        return RulesError(f"{source}:{_line(text, key, number)}: {what}")

    for key in entry:
        if key not in _KEYS:
            raise wrong(key, f"unknown key '{key}'; a rule has {', '.join(sorted(_KEYS))}")
    for key in ("site", "path", "reason"):
        if not isinstance(entry.get(key, ""), str):
            raise wrong(key, f"'{key}' must be a text")
    for key in ("keep", "strip"):
        names = entry.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise wrong(key, f"'{key}' must be a list of names")
    if not entry.get("keep") and not entry.get("strip"):
        raise wrong("", "a rule needs 'keep' or 'strip'")
    path = entry.get("path", "/")
    if not path.startswith("/"):
        raise wrong("path", f"'path' must begin with '/', not {path!r}")
    site = _site_glob(entry.get("site", ""))
    if site is None:
        raise wrong("site", "'site' must be a host, host:port or a glob like '*.example.com'")
    return Rule(
        site,
        path,
        tuple(entry.get("keep", ())),
        tuple(entry.get("strip", ())),
        entry.get("reason", ""),
        f"{source}:{_line(text, '', number)}",
    )


def _site_glob(text: str) -> str | None:
    if "*" in text:
        return text.lower() if re.fullmatch(r"[\w.*:\[\]-]+", text, re.ASCII) else None
    return urls.site(f"https://{text}") if not re.search(r"[/?#@]", text) else None


def _as_rule(site: str, pin: Pin) -> Rule:
    keep, strip = ((pin.name,), ()) if pin.action == "keep" else ((), (pin.name,))
    reason = f"{pin.action}, by hand"
    return Rule(site, pin.path, keep, strip, reason, "pinned in the map", pinned=True)


def _matches(pattern: str, text: str) -> bool:
    if "*" not in pattern:
        return pattern == text
    return pattern == "*" or _glob(pattern).fullmatch(text) is not None


def _covers(rule: Rule, names: tuple[str, ...], name: str) -> bool:
    # What is pinned is one parameter, whatever letters it has.
    return name in names if rule.pinned else any(_matches(pattern, name) for pattern in names)


def _rank(found: tuple[Action, Rule]) -> tuple[bool, int]:
    """Pins first, and of these the one with the longest path."""
    rule = found[1]
    return not rule.pinned, -len(rule.path) if rule.pinned else 0


@lru_cache(maxsize=1_000)
def _site_rules(rules: tuple[Rule, ...]) -> SiteRules:
    return SiteRules(rules)


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


def _line(text: str, key: str, number: int | None = None) -> int:
    """The line of a key: in the rule with this number, or before the first rule."""
    seen = -1
    header = 1
    for line, content in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[\[\s*rule\s*\]\]", content):
            seen += 1
            if seen == number:
                header = line
        inside = seen == (-1 if number is None else number)
        if (
            inside
            and key
            and re.match(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=\].]""", content)
        ):
            return line
    return header


def _line_of_error(text: str, message: str) -> int:
    match = re.search(r"at line (\d+)", message)
    return int(match[1]) if match else max(len(text.splitlines()), 1)
