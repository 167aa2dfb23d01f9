"""A map at an address, so that many follow one published map. The last one is kept for when the
network is gone.

It is asked for with the validators of the last answer (ETag, Last-Modified; RFC 9110, 13), so that
an unchanged map costs a few bytes, and no sooner than the answer's max-age allows (RFC 9111).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import urllib3
from platformdirs import user_cache_path

from miqps.mapping import Map, MapError, from_json
from miqps.sources import SourceError

logger = logging.getLogger(__name__)

_TIMEOUT = urllib3.Timeout(connect=5.0, read=15.0)
_SECONDS = 60.0
"""How long a whole map may take."""

_MOST_BYTES = 1 << 29
_PIECE = 1 << 20

_WITHOUT_VALIDATORS = 30.0
"""Seconds between two questions to a server that cannot say whether the map is another one."""

_LONGEST_AGE = 86_400.0


class _Kept(NamedTuple):
    """What to say when the map is asked for again, and which one it was."""

    etag: str
    modified: str
    digest: bytes


class AddressSource:
    """The map at an http(s) address.

    Args:
        address: where it is.
        folder: where the last map is kept; None for the user's cache.

    Raises:
        ValueError: the address is none.
    """

    def __init__(self, address: str, folder: Path | None = None) -> None:
        self.name = _without_secrets(address)
        self._address = address
        self._pool = urllib3.PoolManager(timeout=_TIMEOUT, retries=urllib3.Retry(0, redirect=3))
        place = hashlib.blake2b(address.encode(), digest_size=16).hexdigest()
        self._file = (folder or user_cache_path("miqps") / "maps") / place
        self._kept: _Kept | None = None
        self._map: Map | MapError | None = None
        self._restore()
        self._ask_at = 0.0
        self._is_down = False

    def edition(self) -> bytes | None:
        """Which map is there; the kept one until the network is back. Raises SourceError."""
        if time.monotonic() >= self._ask_at:
            try:
                self._ask()
                self._is_down = False
            except (urllib3.exceptions.HTTPError, OSError) as error:
                why = f"{self.name}: {_in_words(error)}"
                if self._kept is None:
                    raise SourceError(why) from error
                # Who has a map goes on with it, and asks again.
                if not self._is_down:
                    logger.warning(f"miqps: {why}; the last map from there stays in force")
                self._is_down = True
        return self._kept.digest if self._kept else None

    def read(self) -> Map:
        """The map. Raises MapError, SourceError."""
        if self._map is None:
            raise SourceError(f"{self.name}: nothing came yet")
        if isinstance(self._map, MapError):
            raise self._map
        return self._map

    def _ask(self) -> None:
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip"}
        if self._kept and self._kept.etag:
            headers["If-None-Match"] = self._kept.etag
        if self._kept and self._kept.modified:
            headers["If-Modified-Since"] = self._kept.modified
        answer = self._pool.request("GET", self._address, headers=headers, preload_content=False)
        try:
            if answer.status == 200:
                self._take(_whole(answer), answer.headers)
            elif answer.status != 304:
                raise urllib3.exceptions.HTTPError(f"answered {answer.status}")
        finally:
            answer.close()
        pause = _age(answer.headers)
        if self._kept and not self._kept.etag and not self._kept.modified:
            pause = max(pause, _WITHOUT_VALIDATORS)
        self._ask_at = time.monotonic() + pause

    def _take(self, body: bytes, headers: Mapping[str, str]) -> None:
        etag, modified = headers.get("ETag", ""), headers.get("Last-Modified", "")
        digest = hashlib.blake2b(body).digest()
        try:
            self._map = from_json(body)
        except MapError as error:
            if isinstance(self._map, Map) and self._kept:
                # It is not asked for again before it changes; the one of before stays.
                logger.warning(f"miqps: a map is left out: {self.name}: {error}")
                self._kept = self._kept._replace(etag=etag, modified=modified)
            else:
                self._map, self._kept = error, _Kept(etag, modified, digest)
            return
        self._kept = _Kept(etag, modified, digest)
        # Without a place to keep it all goes on, until a start without the network.
        with suppress(OSError):
            self._keep(body)

    def _keep(self, body: bytes) -> None:
        assert self._kept
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        head = json.dumps({"etag": self._kept.etag, "modified": self._kept.modified})
        with tempfile.NamedTemporaryFile(dir=self._file.parent, delete=False) as file:
            file.write(head.encode() + b"\n" + body)
        os.replace(file.name, self._file)

    def _restore(self) -> None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            head, _, body = self._file.read_bytes().partition(b"\n")
            said = json.loads(head)
            self._map = from_json(body)
            self._kept = _Kept(said["etag"], said["modified"], hashlib.blake2b(body).digest())


def _without_secrets(address: str) -> str:
    """An address for people. Raises ValueError: it is none."""
    try:
        parts = urlsplit(address)
        if parts.hostname:
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        pass
    raise ValueError(f"{address!r} is no address of a map")


def _whole(answer: urllib3.BaseHTTPResponse) -> bytes:
    """All of a body. Raises HTTPError: too big, or too slow."""
    pieces, size, until = [], 0, time.monotonic() + _SECONDS
    for piece in answer.stream(_PIECE, decode_content=True):
        pieces.append(piece)
        size += len(piece)
        if size > _MOST_BYTES:
            raise urllib3.exceptions.HTTPError(f"more than {_MOST_BYTES:,} bytes")
        if time.monotonic() > until:
            raise urllib3.exceptions.HTTPError(f"not there after {_SECONDS:.0f} s")
    return b"".join(pieces)


def _age(headers: Mapping[str, str]) -> float:
    """Seconds for which an answer is good."""
    said = re.search(r"max-age=(\d{1,9})", headers.get("Cache-Control", ""))
    return min(float(said[1]), _LONGEST_AGE) if said else 0.0


def _in_words(error: Exception) -> str:
    """One line of what the library says, without the address and its secrets."""
    cause = error.reason if isinstance(error, urllib3.exceptions.MaxRetryError) else error
    said = str(cause or error)
    return re.sub(r"^.*?: ", "", said, count=1) if said.startswith("<") else said
