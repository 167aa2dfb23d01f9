"""What is exported, read back by those who read it: never more goes than by the map itself."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import query, urls
from miqps.formats import statements
from miqps.formats.exporting import EXPORTS, export
from miqps.formats.statements import exact, path_regex
from miqps.mapping import ContextVerdicts, Map, SiteMap, Verdict, from_json
from miqps.normalizer import Normalizer
from miqps.rehearsal import free_port, serving
from miqps.urls import Context
from tests.exported_map import (
    PORT,
    SHOP,
    TRAPPED,
    hard_urls,
    plain_urls,
    the_map,
    trapped_urls,
)
from tests.known_map import KNOWN

HERE = Path(__file__).resolve().parent
FILTER_LISTS = HERE / "filter_lists"
MAP = the_map()
NORMALIZER = Normalizer(MAP)
TRAPS = list(trapped_urls(TRAPPED, 2_000))


def items(url: str) -> Counter[str]:
    text = query.split(url)[1]
    return Counter(query.items(text)) if text else Counter()


def is_narrower(url: str, theirs: str, normalizer: Normalizer = NORMALIZER) -> bool:
    """Whether no item went that stays by the map, and nothing else was touched."""
    gone = items(url) - items(theirs)
    ours = items(url) - items(normalizer.clean(url))
    same_head = query.split(theirs)[0] == query.split(url)[0]
    return same_head and gone <= ours and not items(theirs) - items(url)


def check(
    apply: Callable[[Sequence[str]], list[str]],
    site: str = SHOP,
    scheme: str = "https",
    except_for: Callable[[str], bool] = lambda url: False,
) -> None:
    """Some hundred URLs come out as by the map, or with more left; plain ones exactly so."""
    plain, hard = plain_urls(site, scheme), hard_urls(site, scheme)
    assert len({*plain, *hard}) >= 200
    for url, theirs in zip(plain, apply(plain), strict=True):
        assert theirs == NORMALIZER.clean(url), url
    assert any(NORMALIZER.clean(url) != url for url in plain)
    for url, theirs in zip(hard, apply(hard), strict=True):
        assert is_narrower(url, theirs) or except_for(url), (url, theirs, NORMALIZER.clean(url))


def check_traps(
    apply: Callable[[Sequence[str]], list[str]],
    asked: Sequence[str],
    except_for: Callable[[str], bool] = lambda url: False,
) -> None:
    """Near misses and attacks: never more goes, and something does."""
    normalizer = Normalizer(TRAPPED)
    assert len(asked) >= 200
    left = apply(asked)
    for url, theirs in zip(asked, left, strict=True):
        narrower = is_narrower(url, theirs, normalizer) or except_for(url)
        assert narrower, (url, theirs, normalizer.clean(url))
    assert sum(url != theirs for url, theirs in zip(asked, left, strict=True)) > 20


# --- statements ---------------------------------------------------------------------------------


def test_what_cannot_be_said_is_counted() -> None:
    said = exact(MAP)
    assert said.left_out == {
        statements.UNTOUCHED: 2,
        statements.ODD_NAME: 4,
        statements.ODD_PATH: 2,
        statements.FOLDED: 1,
        statements.ON_ALL_PATHS: 1,
        statements.INFERRED: 1,
        statements.PINNED: 1,
        statements.KEPT: 2,
    }
    neutral = sum(
        v.fetched == "neutral"
        for site in MAP.sites.values()
        for c in (*site.contexts, *site.inferred)
        for v in c.verdicts
    )
    assert said.said + sum(said.left_out.values()) == neutral + 1


@pytest.mark.parametrize("format", sorted(EXPORTS))
def test_some_sites_only(format: str) -> None:
    text = export(MAP, format, sites=[PORT]).text
    assert SHOP not in text
    assert PORT in text.replace("\\", "") or format == "scrapy"


@given(st.from_regex(path_regex("/p/*/x/*.html"), fullmatch=True))
def test_a_path_that_is_covered_has_the_template(path: str) -> None:
    assert urls.path_template(path) == "/p/*/x/*.html"


letters = st.text(alphabet="aB1-_.[]*%\"'\n;&=$|/\\é", min_size=0, max_size=5)


@given(st.lists(letters, min_size=1, max_size=3, unique=True), letters, st.sampled_from(
    sorted(set(EXPORTS) - {"json", "csv", "scrapy"})))  # fmt: skip
def test_no_letter_of_a_link_becomes_a_rule(names: list[str], path: str, format: str) -> None:
    """Whoever makes links chooses names and paths: no line, rule or comment comes from them."""
    verdicts = tuple(Verdict(name, "neutral", "r", 9, 9) for name in names)
    context = Context(SHOP, f"/{path}", tuple(sorted(names)))
    hostile = Map(1, "now", {SHOP: SiteMap(SHOP, (ContextVerdicts(context, verdicts),))})
    empty = export(Map(1, "now", {}), format).text
    text = export(hostile, format).text
    is_plain = exact(hostile).said > 0
    assert is_plain or text.count("\n") == empty.count("\n")
    assert all(re.fullmatch(r"[\w.\[\]-]+", name, re.ASCII) for name in names) or not is_plain


# --- JSON and CSV -------------------------------------------------------------------------------


def test_json_fits_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((HERE.parent / "data" / "map.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for each in (MAP, KNOWN, Map(0, "", {})):
        text = export(each, "json").text
        validator.validate(json.loads(text))
        assert dict(from_json(text).sites) == dict(each.sites)
    for spoil in (
        {"format": "miqps-map/2"},
        {"version": "1"},
        {"sites": {SHOP: {"contexts": [{"path": "/p", "parameters": {}}]}}},
        {"sites": {SHOP: {"contexts": [], "pins": [{"name": "x", "action": "maybe"}]}}},
        {"sites": {SHOP: {"inferred": [{"path": "p", "parameters": {}}]}}},
    ):
        broken = {**json.loads(export(MAP, "json").text), **spoil}
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(broken)


def test_csv_has_a_row_for_each_verdict_and_no_formula(tmp_path: Path) -> None:
    hostile = ContextVerdicts(
        Context(SHOP, "/p", ("=cmd()", 'a"b\n')),
        (Verdict("=cmd()", "neutral", "@x", 1), Verdict('a"b\n', "important", "r, s")),
    )
    known = Map(1, "now", {SHOP: SiteMap(SHOP, (*MAP.sites[SHOP].contexts, hostile))})
    made = export(known, "csv")
    rows = list(csv.DictReader(io.StringIO(made.text, newline="")))
    assert len(rows) == sum(len(c.verdicts) for c in known.sites[SHOP].contexts)
    assert [rows[-2]["name"], rows[-2]["reason"], rows[-1]["name"]] == ["'=cmd()", "'@x", 'a"b\n']
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "map.csv"
    path.write_bytes(made.text.encode())
    (count,) = duckdb.sql(f"SELECT count(*) FROM read_csv('{path}', header = true)").fetchall()
    assert count == (len(rows),)


# --- browsers' add-ons --------------------------------------------------------------------------


def test_clearurls() -> None:
    url_unwrap = pytest.importorskip("url_unwrap")
    text = export(MAP, "clearurls").text
    rules = url_unwrap.Providers.model_validate_json(text)

    def apply(asked: Sequence[str]) -> list[str]:
        return [cleaned(url, rules) for url in asked]

    def cleaned(url: str, by: object) -> str:
        # One provider after the other, and once more until nothing changes.
        for provider in by.providers.values():  # type: ignore[attr-defined]
            url = provider.apply(url)
        return url

    # It compares without the case of letters, as its module says.
    def is_in_another_case(url: str) -> bool:
        return re.search("/P/|ID=|UTM_", url) is not None

    check(apply, except_for=is_in_another_case)
    check(apply, PORT, "http", except_for=is_in_another_case)
    traps = url_unwrap.Providers.model_validate_json(export(TRAPPED, "clearurls").text)
    known = {c.lower() for c in TRAPS if c.lower() != c}
    check_traps(
        lambda asked: [cleaned(cleaned(url, traps), traps) for url in asked],
        TRAPS,
        except_for=lambda url: url.lower() in known,
    )


def test_clearurls_leaves_out_what_differs_in_case_alone() -> None:
    contexts = (
        ContextVerdicts(Context(SHOP, "/p", ("Id", "x")), (Verdict("x", "neutral", "r"),)),
        ContextVerdicts(Context(SHOP, "/p", ("id", "x")), (Verdict("x", "important", "r"),)),
    )
    made = export(Map(1, "now", {SHOP: SiteMap(SHOP, contexts)}), "clearurls")
    assert json.loads(made.text) == {"providers": {}}
    assert (made.said, sum(made.left_out.values())) == (0, 1)


def in_engine(engine: str, text: str) -> Callable[[Sequence[str]], list[str]]:
    """What an add-on's engine leaves of URLs, asked until nothing changes, as browsers do."""

    def apply(asked: Sequence[str]) -> list[str]:
        ended = subprocess.run(
            ["node", "apply.mjs"],
            cwd=FILTER_LISTS,
            input=json.dumps({"engine": engine, "list": text, "urls": asked}),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ended.returncode == 0, ended.stderr
        found = json.loads(ended.stdout)
        assert found["rules"] == text.count("$removeparam=")
        return list(found["cleaned"])

    return apply


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
@pytest.mark.skipif(
    not (FILTER_LISTS / "node_modules").exists(),
    reason="no engines: npm install --no-package-lock in tests/filter_lists",
)
@pytest.mark.parametrize("engine", ["adguard", "ublock"])
def test_filter_list_in_its_engines(engine: str) -> None:
    apply = in_engine(engine, export(MAP, "removeparam").text)
    check(apply)
    check(apply, PORT, "http")
    # Browsers send ASCII, with the scheme in lower case.
    asked = [u for u in TRAPS if u.startswith("http") and u.isascii() and urls.site(u)]
    check_traps(in_engine(engine, export(TRAPPED, "removeparam").text), asked)


# --- caches -------------------------------------------------------------------------------------


def ask(port: int, host: str, targets: Sequence[str]) -> list[str]:
    """The body that a server answers to each request target, byte for byte as it is asked."""
    found = []
    for target in targets:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            line = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            connection.sendall(line.encode())
            answer = b""
            while piece := connection.recv(65_536):
                answer += piece
        found.append(answer.partition(b"\r\n\r\n")[2].decode())
    return found


def through(port: int, site: str, asked: Sequence[str]) -> list[str]:
    """URLs as a cache would look them up. It never sees a fragment."""
    origin = re.compile(r"^https?://[^/]+")
    bare = [url.partition("#")[0] for url in asked]
    answers = ask(port, site, [origin.sub("", url) for url in bare])
    tails = [url[len(b) :] for url, b in zip(asked, bare, strict=True)]
    heads = [origin.match(url)[0] for url in asked]  # type: ignore[index]
    return [f"{h}{a.strip()}{t}" for h, a, t in zip(heads, answers, tails, strict=True)]


def through_all(port: int, asked: Sequence[str]) -> list[str]:
    """The same for URLs of many sites."""
    return [through(port, re.split("[/?#]", url.partition("//")[2])[0], [url])[0] for url in asked]


def is_request(url: str) -> bool:
    """Whether a URL can be asked for just as it stands."""
    host, _, rest = url.partition("//")[2].partition("/")
    is_plain = url.isascii() and url.isprintable() and " " not in url
    return is_plain and url.startswith("http") and bool(rest) and urls.site(url) == host


@contextmanager
def nginx(folder: Path, text: str) -> Iterator[int]:
    port = free_port()
    (folder / "miqps.conf").write_text(text)
    (folder / "nginx.conf").write_text(f"""
daemon off; pid {folder}/pid; error_log stderr;
events {{ }}
http {{
    access_log off;
    map_hash_max_size 4096;
    {
        " ".join(
            f"{kind}_temp_path {folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
    }
    include {folder}/miqps.conf;
    map $request_uri $asked {{ "~^(?<asked_path>[^?]*)" $asked_path; }}
    map $miqps_args $mark {{ "" ""; default "?"; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{ return 200 "$asked$mark$miqps_args"; }}
    }}
}}
""")
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with serving(command, port, folder / "log"):
        yield port


@pytest.mark.skipif(
    not (shutil.which("nginx") or Path("/usr/sbin/nginx").exists()), reason="no nginx"
)
def test_nginx(tmp_path: Path) -> None:
    with nginx(tmp_path, export(MAP, "nginx").text) as port:
        for site, scheme in ((SHOP, "https"), (PORT, "http")):
            check(lambda asked, site=site: through(port, site, asked), site, scheme)
    with nginx(tmp_path, export(TRAPPED, "nginx").text) as port:
        check_traps(lambda asked: through_all(port, asked), [u for u in TRAPS if is_request(u)])


def test_nginx_parses(tmp_path: Path) -> None:
    crossplane = pytest.importorskip("crossplane")
    file = tmp_path / "miqps.conf"
    file.write_text(export(MAP, "nginx").text)
    parsed = crossplane.parse(str(file), check_ctx=False, check_args=False)
    assert parsed["errors"] == []
    directives = [entry["directive"] for entry in parsed["config"][0]["parsed"]]
    assert directives.count("map") == len(re.findall("^map ", file.read_text(), re.MULTILINE))


@contextmanager
def varnish(folder: Path, text: str) -> Iterator[int]:
    port = free_port()
    (folder / "miqps.vcl").write_text(text)
    (folder / "all.vcl").write_text(f"""vcl 4.1;
backend default none;
include "{folder}/miqps.vcl";
sub vcl_recv {{ call miqps_clean; return (synth(200, "OK")); }}
sub vcl_synth {{ set resp.body = req.url; return (deliver); }}
""")
    program = shutil.which("varnishd") or "/usr/sbin/varnishd"
    command = [program, "-F", "-n", str(folder / "work"), "-f", str(folder / "all.vcl"),
               "-a", f"127.0.0.1:{port}", "-s", "malloc,10m", "-j", "none",
               "-p", "vcc_allow_inline_c=off"]  # fmt: skip
    with serving(command, port, folder / "log"):
        yield port


@pytest.mark.skipif(
    not (shutil.which("varnishd") or Path("/usr/sbin/varnishd").exists()), reason="no varnish"
)
def test_varnish(tmp_path: Path) -> None:
    with varnish(tmp_path, export(MAP, "varnish").text) as port:
        for site, scheme in ((SHOP, "https"), (PORT, "http")):
            check(lambda asked, site=site: through(port, site, asked), site, scheme)
    other = tmp_path / "other"
    other.mkdir()
    with varnish(other, export(TRAPPED, "varnish").text) as port:
        check_traps(lambda asked: through_all(port, asked), [u for u in TRAPS if is_request(u)])


# --- what a site says of itself -----------------------------------------------------------------


def known_patterns(site: str) -> list[str]:
    """Patterns that the map knows: these formats say nothing about others."""
    known = {(c.context.path, c.context.names) for c in MAP.sites[site].contexts}
    prefixes = MAP.sites[site].open_prefixes
    found = [*plain_urls(site, "https"), *hard_urls(site, "https")]
    return [
        url
        for url in found
        if (urls.path_template(urls.path(url), prefixes), query.names(url)) in known
        and not query.split(url)[2]
        and ";" not in url
        and "eyJ" not in url
    ]


def test_no_vary_search() -> None:
    http_sf = pytest.importorskip("http_sf")
    text = export(MAP, "no-vary-search").text
    found = re.findall(r"^# ([^/\n]+)(/.*)\nNo-Vary-Search: (.*)$", text, re.MULTILINE)
    said = {
        (site, path): {str(name) for name, _ in http_sf.parse(header.encode(), tltype="dictionary")[
            "params"][0]}
        for site, path, header in found
    }  # fmt: skip
    assert said[PORT, "/"] == {"fbclid"}
    assert said[SHOP, "/doc/*.html"] == {"v"}
    assert said[SHOP, "/p/*"] == {"gclid"}
    for site in (SHOP, PORT):
        for url in known_patterns(site):
            template = urls.path_template(urls.path(url), MAP.sites[site].open_prefixes)
            theirs = query.remove(url, said.get((site, template), set()))
            assert is_narrower(url, theirs), url


def test_clean_param() -> None:
    text = export(MAP, "clean-param").text
    sections = re.split(r"^# robots\.txt of (.*)$", text, flags=re.MULTILINE)[1:]
    said = {
        site: [(set(names.split("&")), path) for names, path in re.findall(
            r"^Clean-param: (\S+) (\S+)$", body, re.MULTILINE)]
        for site, body in zip(sections[::2], sections[1::2], strict=True)
    }  # fmt: skip
    assert ({"fbclid"}, "/") not in said[SHOP]
    assert ({"gclid"}, "/p/") in said[SHOP]
    assert all(len(line) <= 500 for line in text.splitlines())
    for site in (SHOP, PORT):
        for url in known_patterns(site):
            names = {
                n for listed, path in said[site] if urls.path(url).startswith(path) for n in listed
            }
            assert is_narrower(url, query.remove(url, names)), url


def test_long_lines_of_robots_txt_are_cut() -> None:
    names = tuple(sorted(f"name{n:03}" for n in range(200)))
    context = Context(SHOP, "/p", names)
    verdicts = tuple(Verdict(name, "neutral", "r") for name in names)
    made = export(
        Map(1, "now", {SHOP: SiteMap(SHOP, (ContextVerdicts(context, verdicts),))}), "clean-param"
    )
    lines = [line for line in made.text.splitlines() if line.startswith("Clean-param")]
    assert made.said == 200
    assert max(map(len, lines)) <= 500
    assert sorted(n for line in lines for n in line.split()[1].split("&")) == list(names)


def test_cache_keys_name_what_no_vary_search_names() -> None:
    notes = export(MAP, "cache-keys")
    assert notes.said == export(MAP, "no-vary-search").said
    assert "- Leave out of the key: `gclid`" in notes.text


def test_scrapy_takes_the_settings() -> None:
    scrapy_settings = pytest.importorskip("scrapy.settings")
    from scrapy.utils.misc import load_object

    names: dict[str, object] = {}
    exec(export(MAP, "scrapy").text, names)
    settings = scrapy_settings.Settings({k: v for k, v in names.items() if k.isupper()})
    assert load_object(settings["REQUEST_FINGERPRINTER_CLASS"]).__name__ == "RequestFingerprinter"
    for middleware in settings.getdict("SPIDER_MIDDLEWARES"):
        load_object(middleware)


@pytest.mark.parametrize("format", sorted(set(EXPORTS) - {"json", "csv"}))
def test_the_time_of_a_map_is_no_line_of_its_own(format: str) -> None:
    """A map may come from elsewhere, and its time be any text."""
    evil = Map(1, 'now\n@@||evil.example^\nimport os\n}"; # */', {})
    text = export(evil, format).text
    assert "evil.example^" not in text
    assert not any(line.startswith(("import", "@@")) for line in text.splitlines()[:3])
