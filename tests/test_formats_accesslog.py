"""Access logs: real ones of Apache and nginx, and lines that are hard to read."""

from __future__ import annotations

import pytest

from miqps.formats.entry import BadLine, Entry
from tests.test_formats import DATA, given, reasons

WHEN = "2026-12-01T04:07:48Z"
SITE = "https://shop.example"
# What was asked, in this order, of every server (see the README beside the files).
TARGETS: dict[int, str] = {
    1: "/p?id=1&utm_source=mail",
    2: '/p?q="quoted"&b=\\x',
    3: "/p?q=café",
    16: "/p?id=10&x=%C3%A9;1",
}
REASONS = {
    4: "not UTF-8",
    5: "no document",
    6: "status",
    7: "status",
    8: "method",
    9: "method",
    10: "authorization",
    11: "deed",
    12: "no named parameter",
    14: "odd target",
    15: "method",
}
PROBER = {13: "prober"}
# The common format has no agent, so there the prober is not known.
ANYBODY = {13: "/p?id=8"}


@pytest.mark.parametrize(
    ("name", "site", "base"),
    [
        ("apache_common.log", SITE, SITE),
        ("apache_combined.log", SITE, SITE),
        ("nginx_combined.log", "https://shop.example:8443/", "https://shop.example:8443"),
        ("apache_vhost_combined.log", None, "http://shop.example"),
        ("apache_vhost_combined.log", "https://other.example", "http://shop.example"),
        ("nginx_host.log", None, "https://shop.example"),
    ],
)
def test_real_logs(name: str, site: str | None, base: str) -> None:
    is_common = "common" in name
    targets = TARGETS | (ANYBODY if is_common else {})
    why = REASONS | ({} if is_common else PROBER)
    expected = [
        Entry(number, base + targets[number], seen=WHEN)
        if number in targets
        else BadLine(number, why[number])
        for number in range(1, 17)
    ]
    assert given((DATA / name).read_bytes(), site=site) == expected


def line(
    *, before: str = "1.2.3.4", user: str = "-", time: str = "01/Dec/2026:04:07:48 +0000",
    request: str = "GET /p?id=1 HTTP/1.1", rest: str = '200 230 "-" "Mozilla/5.0"',
) -> bytes:  # fmt: skip
    return f'{before} - {user} [{time}] "{request}" {rest}\n'.encode()


TAKEN: list[tuple[str, bytes, str, str]] = [
    ("IPv6 client", line(before="2001:db8::1"), f"{SITE}/p?id=1", WHEN),
    ("named client", line(before="dead.beef.example"), f"{SITE}/p?id=1", WHEN),
    ("local client", line(before="::1"), f"{SITE}/p?id=1", WHEN),
    ("port 443", line(before="a.example:443 1.2.3.4"), "https://a.example/p?id=1", WHEN),
    ("port 80", line(before="a.example:80 ::1"), "http://a.example/p?id=1", WHEN),
    ("port 8443", line(before="a.example:8443 x"), "https://a.example:8443/p?id=1", WHEN),
    ("port 8080", line(before="a.example:8080 x"), "http://a.example:8080/p?id=1", WHEN),
    ("address with port", line(before="10.0.0.1:80 x"), "http://10.0.0.1/p?id=1", WHEN),
    ("IPv6 host", line(before="[::1]:8080 x"), "http://[::1]:8080/p?id=1", WHEN),
    ("name without port", line(before="a.example 1.2.3.4"), "https://a.example/p?id=1", WHEN),
    ("HTTP/2", line(request="GET /p?id=1 HTTP/2.0"), f"{SITE}/p?id=1", WHEN),
    ("no protocol", line(request="GET /p?id=1"), f"{SITE}/p?id=1", WHEN),
    ("status 206", line(rest="206 1"), f"{SITE}/p?id=1", WHEN),
    ("no size", line(rest="200 -"), f"{SITE}/p?id=1", WHEN),
    ("more behind", line(rest='200 1 "-" "-" 0.123 "x"'), f"{SITE}/p?id=1", WHEN),
    ("empty user", line(user='""'), f"{SITE}/p?id=1", WHEN),
    ("a zone", line(time="31/Dec/2026:23:30:00 -0130"), f"{SITE}/p?id=1", "2027-01-01T01:00:00Z"),
    ("no such day", line(time="31/Feb/2026:23:30:00 +0000"), f"{SITE}/p?id=1", ""),
    ("another clock", line(time="2026-12-01T04:07:48"), f"{SITE}/p?id=1", ""),
    ("year one", line(time="01/Jan/0001:00:00:00 +2300"), f"{SITE}/p?id=1", ""),
    ("script in a value", line(request="GET /p?f=x.js HTTP/1.1"), f"{SITE}/p?f=x.js", WHEN),
    ("no picture", line(request="GET /png?id=1 HTTP/1.1"), f"{SITE}/png?id=1", WHEN),
    ("both slashes", line(request="GET //p?id=1 HTTP/1.1"), f"{SITE}//p?id=1", WHEN),
]


@pytest.mark.parametrize(("log", "url", "seen"), [case[1:] for case in TAKEN],
                         ids=[case[0] for case in TAKEN])  # fmt: skip
def test_lines_that_give_a_url(log: bytes, url: str, seen: str) -> None:
    assert given(log, format="accesslog", site=SITE) == [Entry(1, url, seen=seen)]


PASSED_OVER: list[tuple[str, bytes, str]] = [
    ("a user", line(user="frank"), "authorization"),
    ("a user with spaces", line(user="frank of x"), "authorization"),
    ("not changed", line(rest="304 0"), "status"),
    ("a server's error", line(rest='500 0 "-" "-"'), "status"),
    ("OPTIONS", line(request="OPTIONS * HTTP/1.1"), "method"),
    ("no request", line(request="-"), "method"),
    ("an empty one", line(request=""), "method"),
    ("only a method", line(request="GET"), "odd target"),
    ("spaces", line(request="GET /p?id=1 2 3 HTTP/1.1"), "odd target"),
    ("a proxy's", line(request="GET http://a.example/?id=1 HTTP/1.1"), "odd target"),
    ("a fragment", line(request="GET /p?id=1#x HTTP/1.1"), "odd target"),
    ("a line break in it", line(request="GET /p?id=\\n HTTP/1.1"), "control character or space"),
    ("a picture", line(request="GET /a/b.JPEG?id=1 HTTP/1.1"), "no document"),
    ("a font", line(request="GET /a/b.woff2?id=1 HTTP/1.1"), "no document"),
    ("a token", line(request="GET /reset?token=secret HTTP/1.1"), "token"),
    ("junk", b"secret junk\n", "not a line of an access log"),
    ("no end", line()[:60] + b"\n", "not a line of an access log"),
    ("JSON", b'{"request": "GET /secret?id=1"}\n', "not a line of an access log"),
    ("overlong", line(request="GET /?secret=" + "x" * 70_000), "too long"),
    ("very long", line(request="GET /?secret=" + "x" * 9_000), "too long"),
]


@pytest.mark.parametrize(("log", "reason"), [case[1:] for case in PASSED_OVER],
                         ids=[case[0] for case in PASSED_OVER])  # fmt: skip
def test_lines_that_give_nothing(log: bytes, reason: str) -> None:
    found = given(log + b"\n" + line(), format="accesslog", site=SITE)
    assert found[1:] == [Entry(3, f"{SITE}/p?id=1", seen=WHEN)]
    assert isinstance(found[0], BadLine)
    assert (found[0].number, found[0].reason) == (1, reason) or reason == "token"
    assert "secret" not in reasons(found)[0]


@pytest.mark.parametrize("mark", ["a", "a.", "1.", "\\", '"', "[", "a:1 "])
def test_long_lines_of_one_kind_take_no_long_time(mark: str) -> None:
    # Backtracking would take minutes here.
    content = (mark * 60_000)[:60_000].encode() + b"\n"
    assert len(given(content * 20, format="accesslog", site=SITE)) == 20
