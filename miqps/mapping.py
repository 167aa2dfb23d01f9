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
                key         the verdict for dedup keys where it is another one (optional): a site
                            that puts a parameter back needs it on the wire, but not in a key
        inferred        list like `contexts`, without `names` (optional): verdicts on single
                        parameters for patterns that were never seen

A parameter that is not listed is undecided, and unknown fields are ignored. Only neutral ones may
ever go. `to_json` writes one context a line for people and diffs; any layout is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from miqps.json_stream import JsonStream
from miqps.urls import Context

FORMAT = "miqps-map/1"

Decision = Literal["important", "neutral", "undecided"]
_DECISIONS = frozenset(get_args(Decision))
_COUNTS = ("samples", "values", "mismatches")

ALL_PATHS = "**"
"""The path scope of a verdict that holds on every path that has no verdict of its own."""


class MapError(ValueError):
    """A map that cannot be used; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found out about one parameter, with its evidence.

    `decision` holds on the wire, and for dedup keys too unless `key` says otherwise.
    """

    name: str
    decision: Decision
    reason: str
    samples: int = 0
    values: int = 0
    mismatches: int = 0
    key: Decision | None = None


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
        return frozenset(v.name for v in self.verdicts if (v.key or v.decision) == "neutral")


@dataclass(frozen=True, slots=True)
class SiteMap:
    """All that is known about one site."""

    site: str
    contexts: tuple[ContextVerdicts, ...]
    open_prefixes: frozenset[str] = frozenset()
    inferred: tuple[ContextVerdicts, ...] = ()


@dataclass(frozen=True, slots=True)
class Map:
    """All verdicts of a published version. `created` is an ISO time in UTC."""

    version: int
    created: str
    sites: Mapping[str, SiteMap]


def to_json(map: Map) -> str:
    """The map as JSON text, one context a line; `from_json` gives an equal map back."""
    return "".join(_lines(map))


def from_json(text: str | Iterable[str]) -> Map:
    """The map in a JSON text, or in the pieces of one. Raises MapError: what is wrong, where."""
    stream = JsonStream([text] if isinstance(text, str) else text)
    fields: dict[str, Any] = {}
    sites: dict[str, SiteMap] = {}
    shared = _Shared()
    try:
        for key in stream.members():
            if key == "sites":
                sites.update((site, _site(stream, site, shared)) for site in stream.members())
            else:
                fields[key] = stream.value()
        stream.finish()
    except MapError:
        raise
    except UnicodeDecodeError:
        raise MapError("not a map: not UTF-8 text") from None
    except ValueError as error:
        raise MapError(f"not a map: {error}") from None
    if fields.get("format") != FORMAT:
        raise MapError(f"not a map: 'format' is {fields.get('format')!r}, not {FORMAT!r}")
    version, created = fields.get("version"), fields.get("created")
    if type(version) is not int or not isinstance(created, str):
        raise MapError("not a map: 'version' must be a number and 'created' a text")
    return Map(version, created, sites)


def _site(stream: JsonStream, site: str, shared: _Shared) -> SiteMap:
    contexts: tuple[ContextVerdicts, ...] = ()
    inferred: tuple[ContextVerdicts, ...] = ()
    open_prefixes: frozenset[str] = frozenset()
    for key in stream.members():
        if key == "contexts":
            contexts = tuple(shared.context(site, entry) for entry in stream.elements())
        elif key == "inferred":
            inferred = tuple(shared.context(site, entry, False) for entry in stream.elements())
        elif key == "open_prefixes":
            open_prefixes = _texts(site, key, stream.value())
        else:
            stream.value()
    return SiteMap(site, contexts, open_prefixes, inferred)


def _texts(site: str, key: str, value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise MapError(f"not a map: site {site}: '{key}' must be a list of texts")
    return frozenset(value)


class _Shared:
    """Contexts from JSON. Equal parts become one object: a million contexts fit in memory."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._verdicts: dict[Any, Verdict] = {}
        self._rows: dict[tuple[int, ...], tuple[Verdict, ...]] = {}

    def context(self, site: str, entry: Any, has_names: bool = True) -> ContextVerdicts:
        try:
            path, parameters = entry["path"], entry["parameters"]
            names = tuple(entry["names"]) if has_names else ()
            path = self._paths.get(path) or self._new_path(path)
            names = self._names.get(names) or self._new_names(names)
            known = self._verdicts.get
            row = tuple(
                [
                    known((name, *fields, *fields.values())) or self._new_verdict(name, fields)
                    for name, fields in parameters.items()
                ]
            )
            # The verdicts are shared by now: telling them apart by identity is enough, and fast.
            row = self._rows.setdefault(tuple(map(id, row)), row)
            if has_names and tuple(parameters) != names and not parameters.keys() <= set(names):
                raise ValueError("a verdict on a name that is not among the names")
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else error
            text = json.dumps(entry)
            raise MapError(f"not a map: site {site}: {what}: {text[:120]}") from None
        return ContextVerdicts(Context(site, path, names), row)

    def _new_verdict(self, name: str, fields: dict[str, Any]) -> Verdict:
        decision, key = fields["verdict"], fields.get("key")
        if decision not in _DECISIONS or not (key is None or key in _DECISIONS):
            raise ValueError(f"the verdict on {name!r} is none of {sorted(_DECISIONS)}")
        counts = {count: fields[count] for count in _COUNTS if count in fields}
        if any(type(count) is not int for count in counts.values()):
            raise ValueError(f"the evidence for {name!r} must be whole numbers")
        verdict = Verdict(name, decision, str(fields.get("reason", "")), **counts, key=key)
        return self._verdicts.setdefault((name, *fields, *fields.values()), verdict)

    def _new_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        if not all(isinstance(name, str) for name in names) or list(names) != sorted(set(names)):
            raise ValueError("the names are not sorted and distinct")
        return self._names.setdefault(names, names)

    def _new_path(self, path: str) -> str:
        if not path.startswith("/") and path != ALL_PATHS:
            raise ValueError(f"the path neither starts with / nor is {ALL_PATHS}")
        return self._paths.setdefault(path, path)


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
