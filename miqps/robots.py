"""What robots.txt allows (RFC 9309): one file an origin, read once a run, beside the browser.

A file that is not there (4xx) allows everything. One that cannot be read - 5xx, no answer, too
slow - forbids everything for this run; so does 429, by which a site asks to be left alone.

Files are read in threads of their own: a slow site keeps nobody else waiting.
"""

from __future__ import annotations

import queue
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from urllib import request
from urllib.error import HTTPError, URLError

from protego import Protego

from miqps import urls
from miqps.politeness import on_loopback
from miqps.settings import POLITENESS, PROBER_TOKEN, Politeness

DISALLOWED = "robots.txt disallows it"

_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """What one origin says to the prober."""

    parsed: Protego = field(default_factory=lambda: Protego.parse(""))
    unreadable: str = ""
    """Why it is not known what the origin says; then it is left alone."""

    def allows(self, url: str) -> bool:
        """Whether the prober may ask for a URL."""
        return not self.unreadable and self.parsed.can_fetch(url, PROBER_TOKEN)

    @property
    def delay(self) -> float:
        """Seconds that it wants between two requests; 0 when it does not say."""
        rate = self.parsed.request_rate(PROBER_TOKEN)
        by_rate = rate.seconds / rate.requests if rate and rate.requests else 0.0
        return max(self.parsed.crawl_delay(PROBER_TOKEN) or 0.0, by_rate)


def origin(url: str) -> str | None:
    """Scheme, host and port; None: nothing that is asked over HTTP.

    >>> origin("HTTPS://Shop.Example:443/p?id=7"), origin("ftp://shop.example/p")
    ('https://shop.example', None)
    """
    site = urls.site(url)
    return None if site is None else f"{url.partition(':')[0].lower()}://{site}"


def read(of: str, agent: str, rules: Politeness = POLITENESS) -> RobotsFile:
    """Read the robots.txt of an origin, as `agent`. Never raises for what a server does."""
    asked = request.Request(f"{of}/robots.txt", headers={"User-Agent": agent})
    until = time.monotonic() + rules.robots_seconds
    try:
        with _opener(of).open(asked, timeout=rules.robots_seconds) as answer:
            return RobotsFile(Protego.parse(_text(answer, rules.robots_bytes, until)))
    except HTTPError as error:
        error.close()
        if error.code == 429 or error.code >= 500:
            return RobotsFile(unreadable=f"status {error.code}")
        # Also more than five redirects: RFC 9309 lets that count as a file that is not there.
        return RobotsFile()
    except (OSError, HTTPException, ValueError, zlib.error) as error:
        return RobotsFile(unreadable=_why(error))


class Robots:
    """The robots.txt files that a run has read, and those that it waits for. For one thread."""

    def __init__(
        self,
        agent: str,
        rules: Politeness = POLITENESS,
        read: Callable[[str, str, Politeness], RobotsFile] = read,
    ) -> None:
        self._agent = agent
        self._rules = rules
        self._read = read
        self._files: dict[str, RobotsFile] = {}
        self._awaited: dict[str, float] = {}
        self._done: queue.SimpleQueue[tuple[str, RobotsFile]] = queue.SimpleQueue()

    def file(self, of: str) -> RobotsFile | None:
        """The file of an origin; None when it was not read yet."""
        return self._files.get(of)

    def awaits(self, of: str | None = None) -> bool:
        """Whether the file of an origin, or any, is being read."""
        return bool(self._awaited) if of is None else of in self._awaited

    def begin(self, of: str, now: float) -> None:
        """Read the file of an origin."""
        # What drips in byte by byte is given up, not waited for: the thread ends with the process.
        self._awaited[of] = now + 2 * self._rules.robots_seconds
        threading.Thread(target=self._fetch, args=[of], name="miqps-robots", daemon=True).start()

    def finished(self, now: float) -> list[tuple[str, RobotsFile]]:
        """The files that have come since the last call, by origin."""
        found = {}
        while not self._done.empty():
            of, file = self._done.get()
            if of in self._awaited:
                found[of] = file
        for of, until in self._awaited.items():
            if of not in found and now > until:
                found[of] = RobotsFile(unreadable="no answer in time")
        for of in found:
            del self._awaited[of]
        self._files |= found
        return list(found.items())

    def _fetch(self, of: str) -> None:
        try:
            file = self._read(of, self._agent, self._rules)
        except Exception as error:
            file = RobotsFile(unreadable=str(error))
        self._done.put((of, file))


class _FewRedirects(request.HTTPRedirectHandler):
    max_redirections = 5


def _opener(of: str) -> request.OpenerDirector:
    """Over HTTP only, wherever a redirect may point; through the system's proxy, as the browser."""
    opener = request.OpenerDirector()
    proxies: dict[str, str] | None = {} if on_loopback(of.partition("//")[2]) else None
    for handler in (
        request.ProxyHandler(proxies),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        _FewRedirects(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _text(answer: HTTPResponse, most: int, until: float) -> str:
    """The beginning of a file, without the line that it is cut off in."""
    body = b""
    while len(body) <= most and (chunk := answer.read1(_CHUNK)):
        body += chunk
        if time.monotonic() > until:
            raise TimeoutError("no answer in time")
    coding = answer.headers.get("Content-Encoding", "identity").lower()
    if coding in ("gzip", "x-gzip", "deflate"):
        # Not asked for, sent nevertheless: what cannot be read would seem to allow everything.
        body = zlib.decompressobj(wbits=47).decompress(body, most + 1)
    elif coding != "identity":
        raise ValueError(f"encoded as {coding}")
    if len(body) > most:
        body = body[:most].rpartition(b"\n")[0]
    return body.decode("utf-8-sig", "replace")


def _why(error: Exception) -> str:
    """The reason in a few words: what the system says is wrapped up once or twice."""
    inner = error.reason if isinstance(error, URLError) else error
    if isinstance(inner, TimeoutError):
        return "no answer in time"
    said = inner.strerror if isinstance(inner, OSError) and inner.strerror else str(inner)
    return (said or type(error).__name__).partition("\n")[0].lower()
