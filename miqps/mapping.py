"""The learned map: all verdicts of one published version, in memory and as JSON.

The JSON is one object:

    format    "miqps-map/1"
    version   int, counts up from 1
    created   ISO time, UTC
    sites     object: site -> object with
        open_prefixes   list of path templates below which every segment is a variable (optional)
        contexts        list of objects with
            path        path template, or "**": all paths of the site
            names       sorted list of the distinct names of the pattern
            parameters  object: name -> object with
                verdict     "important", "neutral" or "undecided": what holds on the wire
                reason      text
                samples, values, mismatches    int, the evidence (optional, 0)
                key         the verdict on the parameter in the address where it is another one
                            (optional): what only scripts read may go on the wire, but not from a
                            key; where script and server must agree it is the other way round
        inferred        list like `contexts`, without `names` (optional): verdicts on single
                        parameters for patterns that were never seen
        pins            list of objects with `name`, `action` ("keep" or "strip") and `path`, a
                        prefix (optional, "/"): what a person decided, whatever was learned

A parameter that is not listed is undecided, and unknown fields are ignored. Only neutral ones may
ever go. `to_json` writes one context a line for people and diffs; any layout is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec
import zstandard

from miqps.urls import Context

FORMAT = "miqps-map/1"

Decision = Literal["important", "neutral", "undecided"]
Action = Literal["keep", "strip"]
_COUNTS = ("samples", "values", "mismatches")

ALL_PATHS = "**"
"""The path scope of a verdict that holds on every path that has no verdict of its own."""


class MapError(ValueError):
    """A map that cannot be used; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found out about one parameter, with its evidence.

    `decision` holds on the wire, where the page keeps its address, and for the address too unless
    `key` says otherwise.
    """

    name: str
    decision: Decision
    reason: str
    samples: int = 0
    values: int = 0
    mismatches: int = 0
    key: Decision | None = None

    @property
    def in_key(self) -> Decision:
        """What holds where two addresses are compared: the parameter goes from the address."""
        return self.key or self.decision

    @property
    def fetched(self) -> Decision:
        """What holds where an address is cleaned and then fetched: both must let it go."""
        return self.in_key if self.decision == "neutral" else self.decision


@dataclass(frozen=True, slots=True)
class ContextVerdicts:
    """The verdicts of one context. In `SiteMap.inferred` the context has no names."""

    context: Context
    verdicts: tuple[Verdict, ...]

    @property
    def neutral(self) -> frozenset[str]:
        """The names that may go on the wire."""
        return frozenset(v.name for v in self.verdicts if v.decision == "neutral")

    @property
    def neutral_in_keys(self) -> frozenset[str]:
        """The names that may go from dedup keys."""
        return frozenset(v.name for v in self.verdicts if v.in_key == "neutral")


@dataclass(frozen=True, slots=True, order=True)
class Pin:
    """What a person decided about a parameter below a path prefix, whatever was learned."""

    name: str
    action: Action
    path: str = "/"


@dataclass(frozen=True, slots=True)
class SiteMap:
    """All that is known about one site."""

    site: str
    contexts: tuple[ContextVerdicts, ...]
    open_prefixes: frozenset[str] = frozenset()
    inferred: tuple[ContextVerdicts, ...] = ()
    pins: tuple[Pin, ...] = ()


@dataclass(frozen=True, slots=True)
class Map:
    """All verdicts of a published version. `created` is an ISO time in UTC."""

    version: int
    created: str
    sites: Mapping[str, SiteMap]

    @property
    def contexts(self) -> int:
        """How many contexts have verdicts."""
        if isinstance(self.sites, CountedSites):
            return self.sites.contexts
        return sum(len(site.contexts) for site in self.sites.values())


def to_json(map: Map) -> str:
    """The map as JSON text, one context a line; `from_json` gives an equal map back."""
    return "".join(_lines(map))


def from_json(text: str | bytes) -> Map:
    """The map in a JSON text. Raises MapError: what is wrong, where.

    All of it is checked at once; the verdicts of a site are made when the site is asked for.
    """
    try:
        whole = msgspec.json.decode(text, type=_MapFields)
    except _UNREADABLE as error:
        raise MapError(f"not a map: {_what(error)}") from None
    if whole.format != FORMAT:
        raise MapError(f"not a map: 'format' is {whole.format!r}, not {FORMAT!r}")
    return Map(whole.version, whole.created, PackedSites(whole.sites))


class CountedSites(Mapping[str, SiteMap]):
    """Sites that need not be looked at to know how many contexts they have together."""

    contexts: int


class PackedSites(CountedSites):
    """The sites of a map that was read: checked, then kept as compressed JSON.

    A process asks for few of the sites of a big map, and a site's JSON is a twentieth of what its
    verdicts take as objects. Raises MapError at once when a site is not what it should be.
    """

    def __init__(self, sites: dict[str, msgspec.Raw]) -> None:
        self.contexts = 0
        self._packed: dict[str, bytes] = {}
        pack = zstandard.ZstdCompressor(level=1).compress
        for site in list(sites):
            body = memoryview(sites.pop(site))
            self.contexts += len(_checked(site, body).contexts)
            self._packed[site] = pack(body)

    @classmethod
    def of(cls, packed: Iterable[tuple[str, bytes]], contexts: int) -> PackedSites:
        """Sites that were packed before, and checked."""
        sites = cls({})
        sites._packed, sites.contexts = dict(packed), contexts
        return sites

    def packed(self) -> Iterator[tuple[str, bytes]]:
        """All sites, with what is known of them for `unpacked`."""
        return iter(self._packed.items())

    def __getitem__(self, site: str) -> SiteMap:
        return unpacked(site, self._packed[site])

    def __contains__(self, site: object) -> bool:
        return site in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


def unpacked(site: str, packed: bytes) -> SiteMap:
    """What is known of a site. Raises MapError: it is damaged."""
    try:
        fields = _checked(site, memoryview(zstandard.decompress(packed)))
    except zstandard.ZstdError as error:
        raise MapError(f"not a map: site {site}: {error}") from None
    return SiteMap(
        site,
        tuple(_entry_of(site, entry) for entry in fields.contexts),
        frozenset(fields.open_prefixes),
        tuple(_entry_of(site, entry) for entry in fields.inferred),
        tuple(Pin(pin.name, pin.action, pin.path) for pin in fields.pins),
    )


class _VerdictFields(msgspec.Struct):
    verdict: Decision
    reason: str = ""
    samples: int = 0
    values: int = 0
    mismatches: int = 0
    key: Decision | None = None


class _EntryFields(msgspec.Struct):
    path: str
    parameters: dict[str, _VerdictFields]
    names: list[str] | None = None


class _PinFields(msgspec.Struct):
    name: str
    action: Action
    path: str = "/"


class _SiteFields(msgspec.Struct):
    contexts: list[_EntryFields] = []
    open_prefixes: list[str] = []
    inferred: list[_EntryFields] = []
    pins: list[_PinFields] = []


class _MapFields(msgspec.Struct):
    format: str
    version: int
    created: str
    sites: dict[str, msgspec.Raw]


_site_fields = msgspec.json.Decoder(_SiteFields).decode


_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


def _what(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deep"
    return str(error) if isinstance(error, msgspec.ValidationError) else f"broken JSON: {error}"


def _checked(site: str, body: memoryview) -> _SiteFields:
    try:
        fields = _site_fields(body)
    except _UNREADABLE as error:
        raise MapError(f"not a map: site {site}: {_what(error)}") from None
    for entry in fields.contexts:
        names = entry.names
        if names is None or (names != sorted(names)) or len(set(names)) < len(names):
            raise _wrong_entry(site, entry, "'names' must be there, sorted and distinct")
        if not entry.parameters.keys() <= set(names):
            raise _wrong_entry(site, entry, "a verdict on a name that is not among the names")
    for entry in (*fields.contexts, *fields.inferred):
        if not entry.path.startswith("/") and entry.path != ALL_PATHS:
            raise _wrong_entry(site, entry, f"'path' neither starts with / nor is {ALL_PATHS}")
    for pin in fields.pins:
        if not pin.path.startswith("/"):
            raise MapError(f"not a map: site {site}: the pin of {pin.name!r}: 'path' must start"
                           " with /")  # fmt: skip
    return fields


def _wrong_entry(site: str, entry: _EntryFields, what: str) -> MapError:
    return MapError(f"not a map: site {site}: {what}: {msgspec.json.encode(entry).decode()[:120]}")


def _entry_of(site: str, entry: _EntryFields) -> ContextVerdicts:
    return ContextVerdicts(
        Context(site, entry.path, tuple(entry.names or ())),
        tuple(
            Verdict(name, v.verdict, v.reason, v.samples, v.values, v.mismatches, v.key)
            for name, v in entry.parameters.items()
        ),
    )


def _lines(map: Map) -> Iterator[str]:
    yield f'{{"format": {_dump(FORMAT)}, "version": {map.version}, '
    yield f'"created": {_dump(map.created)}, "sites": {{'
    for number, (name, site) in enumerate(map.sites.items()):
        yield f"{',' if number else ''}\n{_dump(name)}: {{"
        if site.open_prefixes:
            yield f'"open_prefixes": {_dump(sorted(site.open_prefixes))}, '
        if site.inferred:
            yield '"inferred": ['
            yield ",".join(f"\n  {_dump(_entry(entry))}" for entry in site.inferred)
            yield "], "
        if site.pins:
            yield f'"pins": {_dump([asdict(pin) for pin in site.pins])}, '
        yield '"contexts": ['
        yield ",".join(f"\n  {_dump(_entry(entry))}" for entry in site.contexts)
        yield "]}"
    yield "\n}}\n"


def _entry(entry: ContextVerdicts) -> dict[str, Any]:
    names = {"names": list(entry.context.names)} if entry.context.names else {}
    parameters = {verdict.name: _fields(verdict) for verdict in entry.verdicts}
    return {"path": entry.context.path, **names, "parameters": parameters}


def _fields(verdict: Verdict) -> dict[str, Any]:
    fields: dict[str, Any] = {"verdict": verdict.decision, "reason": verdict.reason}
    for count in _COUNTS:
        if number := getattr(verdict, count):
            fields[count] = number
    if verdict.key is not None:
        fields["key"] = verdict.key
    return fields


def _dump(value: Any) -> str:
    return json.dumps(value)
