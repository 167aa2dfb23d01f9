"""Scrapy, the real one: duplicates are found by key, links are cleaned."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from miqps.mapping import MapError, to_json
from tests.known_map import KNOWN, SHOP

scrapy = pytest.importorskip("scrapy", reason="needs the extra: pip install 'miqps[scrapy]'")

from scrapy.exceptions import NotConfigured  # noqa: E402
from scrapy.utils.misc import build_from_crawler  # noqa: E402
from scrapy.utils.test import get_crawler  # noqa: E402

from miqps.contrib.scrapy import CleanLinks, RequestFingerprinter  # noqa: E402

SPIDER = """
import http.server, json, sys, threading
import scrapy
from scrapy.crawler import CrawlerProcess

fetched = []

LINKS = {
    "/": [f"/p/5?utm_source={n}&amp;id=1&amp;ref=" for n in range(5)],
    "/moved": ["/p/7?utm_source=1", "/p/7?utm_source=2", "/p/7", "/p/8?utm_source=1"],
}
MOVED = {"/p/7?utm_source=1": "/p/7", "/p/8": "/p/8?utm_source=1"}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        fetched.append(self.path)
        self.send_response(302 if self.path in MOVED else 200)
        if self.path in MOVED:
            self.send_header("Location", MOVED[self.path])
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        links = "".join(f'<a href="{link}">x</a>' for link in LINKS.get(self.path, ()))
        self.wfile.write(f"<html>{links or 'page'}</html>".encode())

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_address[1]
path = sys.argv[1]
text = open(path).read().replace('"shop.example"', f'"127.0.0.1:{port}"')
open(path, "w").write(text)

class Spider(scrapy.Spider):
    name = "links"
    start_urls = [f"http://127.0.0.1:{port}{sys.argv[3]}"]

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.page)

    def page(self, response):
        pass

process = CrawlerProcess({"MIQPS_MAP": path, "LOG_LEVEL": "ERROR", **json.loads(sys.argv[2])})
process.crawl(Spider)
process.start()
server.shutdown()
print(json.dumps(fetched))
"""


@pytest.fixture
def map_file(tmp_path: Path) -> Path:
    path = tmp_path / "map.json"
    path.write_text(to_json(KNOWN), encoding="utf-8")
    return path


FINGERPRINTER = {"REQUEST_FINGERPRINTER_CLASS": "miqps.contrib.scrapy.RequestFingerprinter"}
CLEANER = {"SPIDER_MIDDLEWARES": {"miqps.contrib.scrapy.CleanLinks": 550}}


def crawl(map_file: Path, settings: dict[str, Any], start: str = "/") -> list[str]:
    """The targets that the site was asked for, in order."""
    one_by_one = {"CONCURRENT_REQUESTS": 1, **settings}
    command = [sys.executable, "-c", SPIDER, str(map_file), json.dumps(one_by_one), start]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == ""
    return list(json.loads(done.stdout))


def test_duplicates_are_fetched_once_and_as_found(map_file: Path) -> None:
    assert crawl(map_file, FINGERPRINTER) == ["/", "/p/5?utm_source=0&id=1&ref="]


def test_links_are_cleaned(map_file: Path) -> None:
    assert crawl(map_file, CLEANER) == ["/", "/p/5?id=1&ref="]


def test_the_first_request_is_cleaned(map_file: Path) -> None:
    assert crawl(map_file, CLEANER, "/p/7?utm_source=1") == ["/p/7"]


def test_without_them_every_link_is_fetched(map_file: Path) -> None:
    assert len(crawl(map_file, {})) == 6


@pytest.mark.parametrize(
    ("settings", "fetched"),
    [
        (FINGERPRINTER, ["/p/7", "/p/7?utm_source=1", "/p/8?utm_source=1"]),
        (CLEANER, ["/p/7", "/p/8", "/p/8?utm_source=1"]),
        (FINGERPRINTER | CLEANER, ["/p/7", "/p/8", "/p/8?utm_source=1"]),
    ],
    ids=["fingerprinter", "cleaner", "both"],
)
def test_a_redirect_is_followed_where_only_neutral_parameters_change(
    map_file: Path, settings: dict[str, Any], fetched: list[str]
) -> None:
    assert sorted(crawl(map_file, settings, "/moved")[1:]) == fetched


def test_fingerprint_tells_methods_and_bodies_apart(map_file: Path) -> None:
    crawler = get_crawler(settings_dict={"MIQPS_MAP": str(map_file)})
    finger = build_from_crawler(RequestFingerprinter, crawler).fingerprint
    url = f"{SHOP}/p/5?id=1&ref=2"
    same = finger(scrapy.Request(url))
    assert len(same) == 20
    assert finger(scrapy.Request(f"{SHOP}/p/5?ref=2&utm_source=x&id=1#top")) == same
    assert finger(scrapy.Request(f"{SHOP}/p/5?ref=3&id=1")) != same
    assert finger(scrapy.Request(url, method="POST")) != same
    assert finger(scrapy.Request(url, body=b"x")) != same


def test_middleware_leaves_alone_what_it_should(map_file: Path) -> None:
    crawler = get_crawler(settings_dict={"MIQPS_MAP": str(map_file)})
    middleware = build_from_crawler(CleanLinks, crawler)
    url = f"{SHOP}/p/5?utm_source=x"
    for request in (
        scrapy.Request(url, method="POST"),
        scrapy.Request(url, meta={"miqps_keep": True}),
        scrapy.Request("https://other.example/?utm_source=x"),
    ):
        assert middleware.get_processed_request(request, None) is request
    cleaned = middleware.get_processed_request(scrapy.Request(url, priority=5), None)
    assert cleaned is not None
    assert (cleaned.url, cleaned.priority) == (f"{SHOP}/p/5", 5)


def test_without_a_map(tmp_path: Path) -> None:
    crawler = get_crawler(settings_dict={"MIQPS_MAP": str(tmp_path / "none.json")})
    with pytest.raises(MapError, match="No such file"):
        build_from_crawler(RequestFingerprinter, crawler)
    with pytest.raises(NotConfigured, match="No such file"):
        build_from_crawler(CleanLinks, crawler)
