"""Runs: what a reader had in memory, written in an order in which many of them can be merged.

A run is a file with a segment for each share of the sites, compressed by itself. A segment holds
records in the order of their keys: of each site first the sample of its paths, then its contexts.
"""

from __future__ import annotations

import heapq
import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import IO

import msgspec
import zstandard

from miqps.bulk.samples import Kept
from miqps.formats.stream import Part
from miqps.reservoir import digest

_LEVEL = 1
_PIECE = 1 << 18
_MOST_AT_ONCE = 100
"""Runs that are merged at once: each is an open file and a buffer."""

Key = tuple[str, str, tuple[str, ...]]


class Paths(msgspec.Struct, tag=0, array_like=True, frozen=True):
    """A sample of the paths of a site."""

    site: str
    paths: list[str]

    @property
    def key(self) -> Key:
        """Where it stands among the others: before all contexts of its site."""
        return self.site, "", ()


class Gathered(msgspec.Struct, tag=1, array_like=True, frozen=True):
    """A context: how often it was seen, when last, and its samples."""

    site: str
    path: str
    names: tuple[str, ...]
    hits: int
    last: str
    urls: list[Kept]

    @property
    def key(self) -> Key:
        """Where it stands among the others."""
        return self.site, self.path, self.names


Record = Paths | Gathered

_KEY = attrgetter("key")


class Run(msgspec.Struct, frozen=True):
    """A run that is written: its file, and where the segment of each share begins and ends."""

    file: str
    bounds: list[int]


def share_of(site: str, shares: int) -> int:
    """Which share of the sites a site belongs to."""
    return digest(site) % shares


def write(path: Path, records: Iterable[Record], shares: int) -> Run:
    """Write records, which come in the order of their sites, as a run.

    Raises OSError.
    """
    encoder = msgspec.msgpack.Encoder()
    segments: list[list[bytes]] = [[] for _ in range(shares)]
    # What two of them pack at the same time must not come from the same compressor.
    packing = [zstandard.ZstdCompressor(_LEVEL).compressobj() for _ in range(shares)]
    site, share = "", 0
    for record in records:
        if record.site != site:
            site, share = record.site, share_of(record.site, shares)
        raw = encoder.encode(record)
        if piece := packing[share].compress(len(raw).to_bytes(4, "big") + raw):
            segments[share].append(piece)
    bounds = [0]
    with open(path, "xb") as file:
        for share, pieces in enumerate(segments):
            file.writelines(pieces)
            file.write(packing[share].flush())
            bounds.append(file.tell())
    return Run(path.name, bounds)


def merged(folder: Path, runs: Sequence[Run], share: int) -> Iterator[Record]:
    """The records of one share from all runs, in the order of their keys.

    Raises OSError; ValueError for a file that is not what was written.
    """
    if len(runs) <= _MOST_AT_ONCE:
        yield from _merge(folder, runs, share)
        return
    with tempfile.TemporaryDirectory(dir=folder) as name:
        parts = [
            write(Path(name, str(start)), _merge(folder, runs[start:][:_MOST_AT_ONCE], share), 1)
            for start in range(0, len(runs), _MOST_AT_ONCE)
        ]
        yield from merged(Path(name), parts, 0)


def _merge(folder: Path, runs: Iterable[Run], share: int) -> Iterator[Record]:
    segments = (_segment(folder / run.file, *run.bounds[share : share + 2]) for run in runs)
    return heapq.merge(*segments, key=_KEY)


def _segment(path: Path, start: int, end: int) -> Iterator[Record]:
    decoder = msgspec.msgpack.Decoder(Record)
    with open(path, "rb") as file:
        file.seek(start)
        part = io.BufferedReader(Part(file, end - start))
        with zstandard.ZstdDecompressor().stream_reader(part, read_size=_PIECE) as stream:
            while head := _read(stream, 4):
                yield decoder.decode(_read(stream, int.from_bytes(head, "big")))


def _read(stream: IO[bytes], size: int) -> bytes:
    found = b""
    while len(found) < size and (piece := stream.read(size - len(found))):
        found += piece
    if found and len(found) < size:
        raise ValueError("it ends early")
    return found
