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

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        fetched.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        links = "".join(f'<a href="/p/5?utm_source={n}&amp;id=1&amp;ref=">x</a>' for n in range(5))
        self.wfile.write(f"<html>{links if self.path == '/' else 'page'}</html>".encode())

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
    start_urls = [f"http://127.0.0.1:{port}/"]

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


def crawl(map_file: Path, **settings: Any) -> list[str]:
    command = [sys.executable, "-c", SPIDER, str(map_file), json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == ""
    return list(json.loads(done.stdout))


def test_duplicates_are_fetched_once_and_as_found(map_file: Path) -> None:
    name = "miqps.contrib.scrapy.RequestFingerprinter"
    fetched = crawl(map_file, REQUEST_FINGERPRINTER_CLASS=name)
    assert fetched == ["/", "/p/5?utm_source=0&id=1&ref="]


def test_links_are_cleaned(map_file: Path) -> None:
    fetched = crawl(map_file, SPIDER_MIDDLEWARES={"miqps.contrib.scrapy.CleanLinks": 550})
    assert fetched == ["/", "/p/5?id=1&ref="]


def test_without_them_every_link_is_fetched(map_file: Path) -> None:
    assert len(crawl(map_file)) == 6


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
