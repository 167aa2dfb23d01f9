"""A map in a folder of shards: a process reads only what is known of the sites that it meets.

Sites are divided by the hash of their names, as `scripts/corpus.py bulk` divides them, so the map
of a share can be made, copied and replaced by itself. A shard is a constant hash table, as in
D. J. Bernstein's cdb: what is known of each site, compressed, then a table of where it stands. A
look-up is two reads of a few bytes at a known place. Nothing is mapped into memory, so what many
look-ups touch is the system's cache and not the process's.

`map.json` in the folder says what belongs to the map. It is replaced last and at once, and the
shards of a map that was replaced stay readable for those who have opened them.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import struct
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from miqps.mapping import (
    CountedSites,
    Map,
    MapError,
    PackedSites,
    SiteMap,
    from_json,
    to_json,
    unpacked,
)
from miqps.reservoir import digest

logger = logging.getLogger(__name__)

FORMAT = "miqps-shards/1"
MANIFEST = "map.json"

_HEADER = struct.Struct(">8sQQQ")
"""Magic, where the table begins, how many slots it has, how many of them are taken."""

_MAGIC = b"miqps/1\n"
_SLOT = struct.Struct(">QQ")
"""The hash of a site's name; where its record begins and, in the last bits, how long it is. Empty
slots are 0."""

_LENGTH_BITS = 24
_AT_ONCE = 4
"""Slots read at once: with half of them empty a search seldom goes on longer."""

_LENGTH_OF_NAME = struct.Struct(">H")
_ANY = (1 << 64) - 1


class _Manifest(msgspec.Struct):
    format: str
    version: int
    created: str
    contexts: int
    files: list[str]


def write(folder: Path, maps: Iterable[Map], shares: int) -> Map:
    """Write maps, of different sites, as one map in shards; gives it.

    The version and the date are those of the newest.

    Raises:
        MapError: a site is in two of them.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(4)
    names = [f"{share:03}-{token}.shard" for share in range(shares)]
    version, created, contexts = 0, "", 0
    try:
        with ExitStack() as stack:
            writers = [_Writer(stack.enter_context(open(folder / name, "xb"))) for name in names]
            for map in maps:
                for site, packed in _packed(map):
                    writers[digest(site) % shares].add(site, packed)
                version, created = max(version, map.version), max(created, map.created)
                contexts += map.contexts
            for writer in writers:
                writer.finish()
    except BaseException:
        for name in names:
            (folder / name).unlink(missing_ok=True)
        raise
    old = _manifest(folder) if (folder / MANIFEST).exists() else None
    raw = json.dumps(
        {
            "format": FORMAT,
            "version": version,
            "created": created,
            "contexts": contexts,
            "files": names,
        }
    )
    part = folder / f"{MANIFEST}.part"
    part.write_text(raw, encoding="utf-8")
    os.replace(part, folder / MANIFEST)
    for name in old.files if old else ():
        with suppress(FileNotFoundError):
            os.unlink(folder / name)
    return read(folder)


def read(folder: Path) -> Map:
    """The map in a folder of shards. Raises MapError, and OSError for the files."""
    manifest = _manifest(folder)
    sites = ShardedSites([folder / name for name in manifest.files], manifest.contexts)
    return Map(manifest.version, manifest.created, sites)


def in_memory(map: Map) -> Map:
    """The same map, with nothing left on the disk. Raises MapError."""
    if not isinstance(map.sites, ShardedSites):
        return map
    return Map(map.version, map.created, PackedSites.of(map.sites.packed(), map.contexts))


class ShardedSites(CountedSites):
    """The sites of a map in shards, read one by one. Many threads may read.

    Of a damaged site nothing is known, which is said once a look-up and harms nobody: all its
    parameters stay.

    Args:
        files: the shards, the share 0 first. They stay open.
        contexts: how many contexts all sites have together.

    Raises:
        MapError: one of them is no shard.
        OSError: one of them cannot be opened.
    """

    def __init__(self, files: list[Path], contexts: int) -> None:
        self.contexts = contexts
        self._files = files
        self._shards: list[int] = []
        self._tables: list[tuple[int, int, int]] = []
        weakref.finalize(self, _close, self._shards)
        for file in files:
            self._shards.append(os.open(file, os.O_RDONLY | os.O_CLOEXEC))
            self._tables.append(_table(self._shards[-1], file))

    def __contains__(self, site: object) -> bool:
        return isinstance(site, str) and self._record(site) is not None

    def __getitem__(self, site: str) -> SiteMap:
        record = self._record(site)
        if record is None:
            raise KeyError(site)
        try:
            return unpacked(site, record)
        except MapError as error:
            file = self._files[digest(site) % len(self._files)]
            logger.warning(f"miqps: {file} is damaged, copy it anew: {error}")
            return SiteMap(site, ())

    def __iter__(self) -> Iterator[str]:
        return (site for site, _ in self.packed())

    def __len__(self) -> int:
        return sum(taken for _, _, taken in self._tables)

    def packed(self) -> Iterator[tuple[str, bytes]]:
        """All sites, with what is known of them still packed."""
        for shard, (start, slots, _) in zip(self._shards, self._tables, strict=True):
            for slot in range(0, slots, 4_096):
                raw = os.pread(shard, 4_096 * _SLOT.size, start + slot * _SLOT.size)
                raw = raw[: (slots - slot) * _SLOT.size]
                for _, place in _SLOT.iter_unpack(raw):
                    if place:
                        yield _split(_read(shard, place))

    def _record(self, site: str) -> bytes | None:
        hashed = digest(site)
        share = hashed % len(self._shards)
        shard, (start, slots, _) = self._shards[share], self._tables[share]
        hashed &= _ANY
        at = _first_slot(hashed, slots)
        for _ in range(0, slots, _AT_ONCE):
            raw = os.pread(shard, _AT_ONCE * _SLOT.size, start + at * _SLOT.size)
            for known, place in _SLOT.iter_unpack(raw[: (slots - at) * _SLOT.size]):
                if not place:
                    return None
                if known == hashed:
                    name, packed = _split(_read(shard, place))
                    if name == site:
                        return packed
            at = at + _AT_ONCE if at + _AT_ONCE < slots else 0
        return None


class _Writer:
    """A shard that is being written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._places: dict[str, int] = {}
        file.write(bytes(_HEADER.size))

    def add(self, site: str, packed: bytes) -> None:
        if site in self._places:
            raise MapError(f"{site} is in two of the maps")
        name = site.encode()
        record = _LENGTH_OF_NAME.pack(len(name)) + name + packed
        if len(record) >= 1 << _LENGTH_BITS:
            raise MapError(f"{site}: more than 16 MB are known of it")
        self._places[site] = self._file.tell() << _LENGTH_BITS | len(record)
        self._file.write(record)

    def finish(self) -> None:
        slots = 2 * len(self._places) + 1
        table: list[tuple[int, int]] = [(0, 0)] * slots
        for site, place in self._places.items():
            hashed = digest(site) & _ANY
            at = _first_slot(hashed, slots)
            while table[at][1]:
                at = (at + 1) % slots
            table[at] = hashed, place
        start = self._file.tell()
        self._file.write(b"".join(_SLOT.pack(*slot) for slot in table))
        self._file.seek(0)
        self._file.write(_HEADER.pack(_MAGIC, start, slots, len(self._places)))
        self._places.clear()


def _first_slot(hashed: int, slots: int) -> int:
    # Not the bits that say which share it is.
    return (hashed >> 20) % slots


def _packed(map: Map) -> Iterator[tuple[str, bytes]]:
    if not isinstance(map.sites, PackedSites | ShardedSites):
        # Its JSON is what is packed.
        map = from_json(to_json(map))
    assert isinstance(map.sites, PackedSites | ShardedSites)
    return map.sites.packed()


def _manifest(folder: Path) -> _Manifest:
    place = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(place.read_bytes(), type=_Manifest)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise MapError(f"{place}: not the contents of a map in shards: {error}") from None
    if manifest.format != FORMAT:
        raise MapError(f"{place}: 'format' is {manifest.format!r}, not {FORMAT!r}")
    if not manifest.files or any(Path(name).name != name for name in manifest.files):
        raise MapError(f"{place}: 'files' must be names of files beside it")
    return manifest


def _table(shard: int, file: Path) -> tuple[int, int, int]:
    raw = os.pread(shard, _HEADER.size, 0)
    if len(raw) == _HEADER.size:
        magic, start, slots, taken = _HEADER.unpack(raw)
        size = os.fstat(shard).st_size
        if magic == _MAGIC and slots and start + slots * _SLOT.size == size:
            return start, slots, taken
    raise MapError(f"{file}: not a shard of a map, or not all of it")


def _read(shard: int, place: int) -> bytes:
    return os.pread(shard, place & ((1 << _LENGTH_BITS) - 1), place >> _LENGTH_BITS)


def _split(record: bytes) -> tuple[str, bytes]:
    """The name of the site, and what is known of it."""
    if len(record) < _LENGTH_OF_NAME.size:
        return "", b""
    (length,) = _LENGTH_OF_NAME.unpack_from(record)
    start = _LENGTH_OF_NAME.size
    return record[start : start + length].decode("utf-8", "replace"), record[start + length :]


def _close(shards: list[int]) -> None:
    for shard in shards:
        with suppress(OSError):
            os.close(shard)
    shards.clear()
