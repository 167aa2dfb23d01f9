"""The server behind the proxies of the bench: far faster than any of them, and it counts."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import zlib
from collections import Counter

import click
from benches.made_site import NEUTRAL
from benches.made_urls import WORDS

_TRACKERS = tuple(f"{name}=".encode() for name in NEUTRAL)
_OWN_LINK = b'<li><a href="/product/%d?id=%d&amp;ref=list">Number %d</a>\n'
_OWN_LINKS = 10


def _page() -> tuple[bytes, bytes]:
    """What stands before and after a page's own links: some 9 kB with 30 links of a menu."""
    draw = random.Random(1)
    menu = "\n".join(
        f'<a class="menu-entry" href="/{draw.choice(WORDS)}/?page={n}&amp;ref=menu">Part {n}</a>'
        for n in range(30)
    )
    text = "\n".join(f"<p>{' '.join(draw.choices(WORDS, k=60))}.</p>" for _ in range(17))
    before = f"<!doctype html><html lang=en><title>A page</title><nav>{menu}</nav><ul>"
    return before.encode(), f"</ul>{text}</html>".encode()


_BEFORE, _AFTER = _page()
_OTHERS = {
    b"/img": (b"image/png", bytes(6_000)),
    b"/js/": (b"application/javascript", b"window.x = 1; // padding\n" * 400),
    b"/api": (b"application/json", json.dumps({"items": list(range(300))}).encode()),
}


class _Site(asyncio.Protocol):
    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._unread = (self._unread + data).split(b"\r\n\r\n")
        for head in heads:
            self._transport.write(self._answer(head.split(b" ", 2)[1]))

    def _answer(self, target: bytes) -> bytes:
        if target == b"/counts":
            body = json.dumps(self._counts).encode()
            self._counts.clear()
            return _response(b"application/json", body)
        if other := _OTHERS.get(target[:4]):
            self._counts["others"] += 1
            return _response(*other)
        _, mark, query = target.partition(b"?")
        self._counts["pages"] += 1
        if mark:
            self._counts["with_query"] += 1
            self._counts["uncleaned"] += any(name in query for name in _TRACKERS)
        number = zlib.crc32(target)
        own = b"".join(_OWN_LINK % (n, n, n) for n in range(number, number + _OWN_LINKS))
        return _response(b"text/html; charset=utf-8", _BEFORE + own + _AFTER)


def _response(kind: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
        kind,
        len(body),
        body,
    )


@click.command()
def upstream() -> None:
    """Serve the site of the proxy bench; print its port; end with standard input."""
    # The terminal tells the whole group to stop; this process goes by its pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    asyncio.run(_serve())


async def _serve() -> None:
    counts: Counter[str] = Counter()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Site(counts), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Whatever becomes of the bench, its end closes this pipe.
    await asyncio.to_thread(sys.stdin.read)
