"""Scrapy: requests that lead to the same page are fetched once.

    REQUEST_FINGERPRINTER_CLASS = "miqps.contrib.scrapy.RequestFingerprinter"
    SPIDER_MIDDLEWARES = {"miqps.contrib.scrapy.CleanLinks": 550}
    MIQPS_MAP = "data/miqps.db"       # a store, or a map as JSON
    MIQPS_RULES = "my-rules.toml"     # optional, added to the shipped rules

The fingerprinter finds duplicates by `Normalizer.key` and leaves the request as it is: the URL that
was found is the one that is fetched. The spider middleware goes further and cleans the URLs of new
requests themselves, the first ones included. Either works without the other.

There is no downloader middleware, since all that one would add is to clean the targets of
redirects, and these a site chose itself: it would send the cleaned request back, or the duplicate
filter would drop it, and the page would be lost.
"""

from __future__ import annotations

from hashlib import sha1

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.request import fingerprint

from miqps.normalizer import MapError, Normalizer
from miqps.rules import RulesError, default_rules, load_rules
from miqps.settings import DEFAULT_DB


class RequestFingerprinter:
    """Gives requests that `Normalizer.key` takes for the same page the same fingerprint.

    Method and body count as they do in Scrapy. Where a redirect leads is another page than where it
    came from, even when only neutral parameters change. Raises MapError or RulesError when the
    crawler starts without a usable map: crawling on would store fingerprints of two kinds.
    """

    def __init__(self, normalizer: Normalizer) -> None:
        self._normalizer = normalizer

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RequestFingerprinter:
        """The fingerprinter for a crawler's settings."""
        return cls(_normalizer(crawler.settings))

    def fingerprint(self, request: Request) -> bytes:
        """The fingerprint of a request, 20 bytes."""
        key = self._normalizer.key
        url = key(request.url)
        if any(key(before) == url for before in request.meta.get("redirect_urls", ())):
            return sha1(b"redirected" + fingerprint(request), usedforsecurity=False).digest()
        return fingerprint(Request(url, method=request.method, body=request.body))


class CleanLinks(BaseSpiderMiddleware):
    """Cleans the URL of every GET request that a spider makes.

    `meta={"miqps_keep": True}` leaves one alone. Counts `miqps/cleaned`. Without a usable map it
    switches itself off with a message; crawling goes on.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        try:
            self._normalizer = _normalizer(crawler.settings)
        except (MapError, RulesError) as error:
            raise NotConfigured(str(error)) from None

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """The request with a cleaned URL, or the request itself."""
        if request.method != "GET" or request.meta.get("miqps_keep"):
            return request
        url = self._normalizer.clean(request.url)
        if url is request.url:
            return request
        if self.crawler.stats:
            self.crawler.stats.inc_value("miqps/cleaned")
        return request.replace(url=url)


def _normalizer(settings: BaseSettings) -> Normalizer:
    rules = default_rules()
    if path := settings.get("MIQPS_RULES"):
        rules = load_rules(path, rules)
    return Normalizer.load(settings.get("MIQPS_MAP", DEFAULT_DB), rules)
