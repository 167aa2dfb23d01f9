"""Sites and path templates."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import urls
from miqps.settings import PATHS
from miqps.urls import Context

segment = st.text(alphabet="abzAZ019-_.;=@%+*, ~é٣/", max_size=12) | st.text(max_size=5)
paths = st.lists(segment, max_size=6).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://shop.example/p", "shop.example"),
        ("https://shop.example", "shop.example"),
        ("https://shop.example?a=1", "shop.example"),
        ("https://shop.example#a", "shop.example"),
        ("HTTPS://SHOP.Example/P", "shop.example"),
        ("https://shop.example:443/", "shop.example"),
        ("http://shop.example:443/", "shop.example:443"),
        ("http://shop.example:080/", "shop.example"),
        ("http://shop.example:/", "shop.example"),
        ("http://shop.example:8080/", "shop.example:8080"),
        ("https://me:se@cret@shop.example/", "shop.example"),
        ("https://shop.example./", "shop.example."),
        ("https://münchen.example/", "xn--mnchen-3ya.example"),
        ("https://MÜNCHEN.example/", "xn--mnchen-3ya.example"),
        ("http://[2001:DB8:0::1]:8080/", "[2001:db8::1]:8080"),
        ("http://[::1]:80/", "[::1]"),
        ("http://192.0.2.1:8080/", "192.0.2.1:8080"),
        ("http://my_host-1/", "my_host-1"),
    ],
)
def test_site(url: str, site: str) -> None:
    assert urls.site(url) == site


@pytest.mark.parametrize(
    "url",
    [
        "",
        "shop.example/p",
        "//shop.example/p",
        "/p",
        "ftp://shop.example/",
        "mailto:a@shop.example",
        "https:/shop.example",
        "https:///p",
        "https://",
        " https://shop.example/",
        "https://shop .example/",
        "https://shop\t.example/",
        "https://other.example\\@shop.example/",
        "https://shop.example:port/",
        "https://shop.example:65536/",
        "https://shop.example:٨٠/",
        "https://shop.example:80:81/",
        "https://sh%6Fp.example/",
        "https://-.example:443x/",
        "http://[::1/",
        "http://[::1%25eth0]/",
        "http://[1.2]/",
        "http://[::1]x/",
        "https://straße.example/",
        "https://..example/",
        f"https://{'a' * 64}ü.example/",
        f"https://{'a.' * 200}example:443/",
        "https://\ud800.example/",
    ],
)
def test_no_site(url: str) -> None:
    assert urls.site(url) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://shop.example", "/"),
        ("https://shop.example?a=/b", "/"),
        ("https://shop.example/a/../b//c/./?x", "/a/../b//c/./"),
        ("https://shop.example/p;v=1#x?y", "/p;v=1"),
        ("/p?x", "/p"),
    ],
)
def test_path(url: str, path: str) -> None:
    assert urls.path(url) == path


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/", "/"),
        ("/p/123", "/p/*"),
        ("/p/123/", "/p/*/"),
        ("/p/search", "/p/search"),
        ("/p/123/reviews", "/p/*/reviews"),
        ("/catalogue/the-shadow-of-x_12/reviews/", "/catalogue/*/reviews/"),
        ("/catalogue/category/fiction_1/", "/catalogue/category/*/"),
        ("/library/books/5", "/library/books/*"),
        ("/library/books", "/library/books"),
        ("/sphinx/usage/quickstart.html", "/sphinx/usage/quickstart.html"),
        ("/a/12345.html", "/a/*.html"),
        ("/a/12345.HTML", "/a/*.HTML"),
        ("/site/shop.example", "/site/shop.example"),
        ("/2024-01-02/12:30", "/*/*"),
        ("/1,234/3.11", "/*/*"),
        ("/how-to-bake-bread", "/*"),
        ("/how_to_bake_bread.html", "/*.html"),
        ("/terms-of-service", "/terms-of-service"),
        ("/how%20to%20bake%20bread", "/*"),
        ("/caf%C3%A9", "/caf%C3%A9"),
        ("/%31%32", "/*"),
        ("/iphone-12", "/*"),
        ("/12345-iphone", "/*"),
        ("/7-zip", "/7-zip"),
        ("/3d-printers", "/3d-printers"),
        ("/a/3F2504E0-4F89-11D3-9A0C-0305E82C3301", "/a/*"),
        ("/a/9e107d9d372bb6826bd81d3542a419d6", "/a/*"),
        ("/a/deadbeef/facade", "/a/deadbeef/facade"),
        ("/dp/B08N5WRWNW", "/dp/*"),
        ("/v/dQw4w9WgXcQ", "/v/*"),
        ("/title/tt0111161", "/title/*"),
        ("/v1/es2015/windows11/utf8/mp3player", "/v1/es2015/windows11/utf8/mp3player"),
        ("/@ada/posts", "/*/posts"),
        ("/user/ada%40shop.example", "/user/*"),
        ("/" + "a" * 65, "/*"),
        ("/" + "a" * 64, "/" + "a" * 64),
        ("/p;jsessionid=A1B2C3D4E5;lang=en/q", "/p;jsessionid=*;lang=en/q"),
        ("/12;v=1", "/*;v=*"),
        ("//a//", "//a//"),
        ("/a/../b/.", "/a/../b/."),
        ("/.well-known/x", "/.well-known/x"),
        ("/__debug__/_next", "/__debug__/_next"),
        ("/p/*", "/p/%2A"),
        ("/p/**;a=*", "/p/%2A%2A;a=%2A"),
        ("/wiki/User:Ada", "/wiki/User:Ada"),
        ("/Search/SEARCH", "/Search/SEARCH"),
    ],
)
def test_path_template(path: str, template: str) -> None:
    assert urls.path_template(path) == template
    assert urls.path_template(path, open_prefixes={"/nowhere"}) == template


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/wiki/Ada", "/wiki/*"),
        ("/wiki/Ada/talk", "/wiki/*/talk"),
        ("/wiki/Ada.html", "/wiki/*.html"),
        ("/wiki/Ada;v=1", "/wiki/*;v=*"),
        ("/wiki/", "/wiki/"),
        ("/wiki", "/wiki"),
        ("/other/Ada", "/other/Ada"),
        ("/u/5/likes/tea", "/u/*/likes/*"),
    ],
)
def test_open_prefixes(path: str, template: str) -> None:
    assert urls.path_template(path, {"/wiki", "/u/*/likes"}) == template


@given(paths)
def test_template_has_the_shape_of_the_path(path: str) -> None:
    template = urls.path_template(path)
    assert template.count("/") == path.count("/")
    assert urls.path_template(path, {"/nowhere else"}) == template
    for before, after in zip(path.split("/"), template.split("/"), strict=True):
        assert before == after or "*" in after or "*" in before
        assert bool(before) == bool(after)


def test_long_paths_take_no_long_time() -> None:
    assert urls.path_template("/" + "-a" * 500_000) == "/*"
    assert urls.path_template("/a-" * 100_000).count("/") == 100_000


def test_positions_with_many_values_are_learned() -> None:
    words = [chr(97 + n % 26) * (n // 26 + 1) for n in range(PATHS.open_values)]
    many = [f"/wiki/{word}" for word in words] + [f"/u/{word}/likes/{word}" for word in words]
    few = [f"/menu/{word}" for word in words[:-1]]
    ids = [f"/p/{number}" for number in range(1000)]
    found = urls.learn_open_prefixes([*many, *few, *ids, "", "/", "/p/search"])
    assert found == {"/wiki", "/u", "/u/*/likes"}
    # At the root stand the fixed pages, and many of them.
    pages = [f"/{word}" for word in words]
    assert urls.learn_open_prefixes(pages) == set()
    names = [f"/{chr(97 + n % 26) * (n // 26 + 1)}" for n in range(PATHS.open_root_values)]
    assert urls.learn_open_prefixes(names) == {""}
    assert urls.path_template("/u/ada/likes/tea", found) == "/u/*/likes/*"
    assert urls.path_template("/menu/ada", found) == "/menu/ada"


def test_context() -> None:
    url = "https://Shop.example:443/p/7?b=1&%61=2#x"
    assert urls.context_of(url) == Context("shop.example", "/p/*", ("a", "b"))
    assert urls.context_of("https://shop.example/wiki/Ada?a", {"/wiki"}) == Context(
        "shop.example", "/wiki/*", ("a",)
    )
    assert urls.context_of("https://shop.example/p?&&") is None
    assert urls.context_of("/p?a=1") is None


def test_examples_in_the_documentation() -> None:
    assert doctest.testmod(urls).failed == 0


@given(paths, st.sets(paths.map(urls.path_template), max_size=4), st.data())
def test_a_template_is_refolded_as_its_paths_are(path: str, more: set[str], data) -> None:
    """Whatever is open on top: a template becomes what its path becomes."""
    parts = path.split("/")
    above = {urls.path_template("/".join(parts[:n])) for n in range(1, len(parts))}
    new = data.draw(st.sets(st.sampled_from(sorted(above)))) | more if above else more
    assert urls.refolded(urls.path_template(path), new) == urls.path_template(path, new)
    assert urls.refolded(urls.path_template(path), ()) == urls.path_template(path)
