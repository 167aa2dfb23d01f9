"""Where a published map is read from: a store, a file of JSON, an address."""

from __future__ import annotations

from typing import Protocol

from miqps.mapping import Map

__all__ = ["Source", "SourceError", "is_address", "open_source"]


class SourceError(Exception):
    """The source cannot be read for now; the message is one line. What was read stays good."""


class Source(Protocol):
    """A place that has a map, and later perhaps another one. Belongs to one thread."""

    name: str
    """For people: without passwords and other secrets."""

    def edition(self) -> object:
        """What tells the map that is there now from another one; None when there is none.

        May take a while and ask the network, but reads no more than it must. Raises SourceError.
        """
        ...

    def read(self) -> Map:
        """The map of the edition that was asked for last, an empty one where none was published.

        Raises:
            MapError: what is there is no map.
            SourceError: it cannot be read for now.
        """
        ...


def open_source(place: str) -> Source:
    """The source for a path, or for an address that starts with http:// or https://.

    Nothing is read yet. Raises ValueError with one line: the address is none.
    """
    from miqps.sources.address import AddressSource
    from miqps.sources.path import PathSource

    return AddressSource(place) if is_address(place) else PathSource(place)


def is_address(place: str) -> bool:
    """Whether a place is an http(s) address, and no path."""
    return place.lower().startswith(("http://", "https://"))
