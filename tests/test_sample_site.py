"""The sample site answers as its table of truth says, and logs what reached it byte for byte."""

from __future__ import annotations

import csv
import functools
import json
import re
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
from flask.testing import FlaskClient

SITE = Path(__file__).parent.parent / "data" / "sample_site"
sys.path.append(str(SITE))

import forum  # noqa: E402
import make_visits  # noqa: E402
import news  # noqa: E402
import pictures  # noqa: E402
import shop  # noqa: E402
from app import create_app  # noqa: E402

VISITS = (SITE / "visits.txt").read_text().split()
EXTRA = [
    "/shop/search?q=chair&lang=de",
    "/shop/search?q=oak&page=2",
    "/shop/cart?lang=fr",
]
with (SITE / "truth.tsv").open(newline="") as rows:
    ROWS = list(csv.DictReader(rows, delimiter="\t"))
TRUTH = {(row["path"], row["parameter"]): row["truth"] for row in ROWS}


def path_of(url: str) -> str:
    return url.partition("?")[0]


def items_of(url: str) -> list[str]:
    return [item for item in url.partition("?")[2].split("&") if item]


def names_of(url: str) -> list[str]:
    return [item.partition("=")[0] for item in items_of(url)]


def without(url: str, *names: str) -> str:
    left = [item for item in items_of(url) if item.partition("=")[0] not in names]
    return path_of(url) + ("?" + "&".join(left) if left else "")


def rows_of(truth: str) -> list[tuple[str, str]]:
    return [key for key, value in TRUTH.items() if value == truth]


@pytest.fixture
def client() -> FlaskClient:
    return create_app().test_client()


Look = Callable[[str], tuple[int, str]]


@pytest.fixture(scope="module")
def look() -> Look:
    """Gives a URL's status and page, links' addresses left out; the noisy page holds still.

    Each URL is asked once: another test sees that the site answers the same each time.
    """
    client, still = create_app().test_client(), news.live()

    @functools.cache
    def look(url: str) -> tuple[int, str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(news, "live", lambda: still)
            answer = client.get(url)
        return answer.status_code, re.sub(r' href="[^"]*"', "", answer.text)

    return look


@pytest.mark.parametrize(("path", "name"), rows_of("neutral"))
def test_neutral_parameters_change_nothing(look: Look, path: str, name: str) -> None:
    on_path = [url for url in VISITS if path_of(url) == path]
    assert on_path
    for url in on_path:
        bare = without(url, name)
        tagged = url if name in names_of(url) else f"{url}{'&' if '?' in url else '?'}{name}=x9"
        assert look(tagged) == look(bare)


@pytest.mark.parametrize(
    ("path", "name"), [row for row in rows_of("important") if row[0] != "/forum/thread"]
)
def test_important_parameters_change_the_page(look: Look, path: str, name: str) -> None:
    by_names = defaultdict(list)
    for url in VISITS + EXTRA:
        if path_of(url) == path and name in names_of(url):
            by_names[frozenset(names_of(url))].append(url)
    assert by_names
    for urls in by_names.values():
        assert any(look(url) != look(without(url, name)) for url in urls)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("/shop/?sort=popular", "sort"),
        ("/shop/?page=1&sort=name", "page"),
        ("/shop/product?id=1007&color=oak", "color"),
        ("/shop/product?id=1007&lang=en", "lang"),
        ("/news/?page=1", "page"),
    ],
)
def test_a_default_value_equals_no_parameter(look: Look, url: str, name: str) -> None:
    assert look(url) == look(without(url, name))


def test_of_a_pair_either_may_go_but_not_both(look: Look) -> None:
    (path, one), (_, other) = rows_of("pair")
    urls = [url for url in VISITS if path_of(url) == path and one in names_of(url)]
    assert urls
    for url in urls:
        page = look(url)
        assert look(without(url, one)) == page
        assert look(without(url, other)) == page
        assert look(without(url, one, other)) != page


def test_threads_are_drawn_by_a_script(client: FlaskClient) -> None:
    pages = {client.get(url).text for url in VISITS if path_of(url) == "/forum/thread"}
    assert len(pages) == 1
    script = (SITE / "static/thread.js").read_text()
    for path, name in rows_of("important"):
        if path == "/forum/thread":
            assert f'asked.get("{name}")' in script
    assert all(thread.title in next(iter(pages)) for thread in forum.THREADS)


def test_an_article_differs_each_time_in_three_places_only(client: FlaskClient) -> None:
    url = "/news/article?id=50211"
    first, second = client.get(url).text.splitlines(), client.get(url).text.splitlines()
    assert len(first) == len(second)
    moved = [one for one, other in zip(first, second, strict=True) if one != other]
    assert [re.search(r'class="(\w+)"', line)[1] for line in moved if "class" in line] == [
        "clock",
        "advert",
        "request",
    ]
    assert len(moved) == 3


def test_all_other_pages_are_the_same_each_time(client: FlaskClient) -> None:
    for url in VISITS:
        if path_of(url) != "/news/article":
            assert client.get(url).data == client.get(url).data


def test_deeds_are_answered_and_logged(client: FlaskClient) -> None:
    paths = {path for path, _ in rows_of("deed")}
    deeds = [url for url in VISITS if path_of(url) in paths]
    assert {path_of(url) for url in deeds} == paths
    for url in deeds:
        answer = client.get(url)
        assert (answer.status_code, answer.mimetype) == (200, "text/html")
    log = client.application.extensions["request_log"]
    assert [request.target for request in log.requests] == deeds


@pytest.mark.parametrize(
    "url",
    [
        "/shop/product?id=9999",
        "/shop/product",
        "/shop/?page=5",
        "/shop/?page=two",
        "/shop/cart/add?id=1",
        "/shop/picture.svg?id=1007&color=pink",
        "/news/article?id=x",
        "/news/story?story=99&slug=nothing",
        "/news/picture.svg?id=1",
        "/shop/nothing",
    ],
)
def test_what_is_not_there_is_a_404(client: FlaskClient, url: str) -> None:
    assert client.get(url).status_code == 404


def test_the_visits_are_those_of_the_generator_and_light() -> None:
    client = create_app().test_client()
    assert make_visits.visits() == VISITS
    assert len(VISITS) >= 120
    for url in VISITS:
        answer = client.get(url)
        assert answer.status_code == 200
        assert len(answer.data) < 30_000


def test_every_set_of_parameters_is_visited_with_four_values_each() -> None:
    values: dict[tuple[str, frozenset[str], str], set[str]] = defaultdict(set)
    for url in VISITS:
        for item in items_of(url):
            name, _, value = item.partition("=")
            values[path_of(url), frozenset(names_of(url)), name].add(value)
    assert min(map(len, values.values())) >= 4
    assert {(path, name) for path, _, name in values} <= TRUTH.keys()


def test_the_table_has_one_row_for_each_parameter() -> None:
    assert len(ROWS) == len(TRUTH)
    assert set(TRUTH.values()) == {"neutral", "important", "pair", "deed"}
    assert all(row["why"] for row in ROWS)


def links_of(page: str) -> Iterator[str]:
    for link in re.findall(r'(?:href|src)="(/[^"]*)"', page):
        yield unescape(link)


def test_links_lead_to_pages_and_pictures_and_their_parameters_are_in_the_table() -> None:
    client = create_app().test_client()
    one_per_path = {path_of(url): url for url in VISITS}.values()
    links = {link for url in one_per_path for link in links_of(client.get(url).text)}
    assert len(links) > 100
    for link in links:
        with client.get(link) as answer:
            assert answer.status_code == 200, link
        if answer.mimetype == "text/html":
            assert {(path_of(link), name) for name in names_of(link)} <= TRUTH.keys(), link


def test_each_thing_has_its_own_picture() -> None:
    products = [pictures.product(p.id, p.kind, "#123456", "") for p in shop.PRODUCTS.values()]
    scenes = [pictures.scene(number, "") for number in news.ARTICLES]
    assert len(products) >= 24
    assert len({*products, *scenes}) == len(products) + len(scenes)


def test_colour_changes_picture_and_price(client: FlaskClient) -> None:
    oak = client.get("/shop/product?id=1007&color=oak").text
    walnut = client.get("/shop/product?id=1007&color=walnut").text
    assert "€129.00" in oak
    assert "€149.00" in walnut
    assert "color=oak" in re.search(r"<img[^>]*>", oak)[0]
    assert "color=walnut" in re.search(r"<img[^>]*>", walnut)[0]


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SITE), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_server_logs_targets_byte_for_byte(tmp_path: Path) -> None:
    targets = [
        b"/shop/product?id=1007&utm_source=a%2fb&&x=%zz&=&flag",
        b"/news/?page=2&raw=\xe9\xc3\xa9+~'()",
        b"//forum/?ref=radio",
        b"/nothing?q=a#b",
    ]
    log = tmp_path / "requests.jsonl"
    with start("--port", "0", "--log", str(log)) as server:
        try:
            url = server.stdout.readline().strip()
            port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", url)[1])
            for target in targets:
                with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
                    wire.sendall(b"GET %b HTTP/1.0\r\nUser-Agent: test/1\r\n\r\n" % target)
                    assert wire.makefile("rb").readline().startswith(b"HTTP/1.")
        finally:
            server.terminate()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["target"].encode("latin-1") for line in lines] == targets
    assert {(line["method"], line["user_agent"]) for line in lines} == {("GET", "test/1")}
    assert all(line["time"].endswith("+00:00") for line in lines)


def test_a_taken_port_is_one_line_and_status_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with start("--port", str(port)) as server:
            out, errors = server.communicate(timeout=30)
    assert server.returncode == 1
    assert out == ""
    assert len(errors.splitlines()) == 1
    assert f"127.0.0.1:{port}" in errors
