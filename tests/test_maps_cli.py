"""scripts/maps.py: the versions of a map, and what people decide."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from miqps.mapping import Map, from_json, to_json
from miqps.normalizer import Normalizer
from miqps.publish import publish
from miqps.settings import JUDGING, PUBLISHING
from miqps.store import Observation, Store
from miqps.store.maps import Edition
from miqps.trial import Trial
from tests.known_map import KNOWN, SITE

ROOT = Path(__file__).resolve().parent.parent
URLS = [f"https://{SITE}/p/{n}?id={n}&ref=r{n}" for n in range(4)]
URL = URLS[0]
STRIPPED = f"https://{SITE}/p/0?id=0"

_spec = importlib.util.spec_from_file_location("maps_script", ROOT / "scripts" / "maps.py")
assert _spec
assert _spec.loader
script = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(script)


def judge(db: Path, *matter: str, kept: int = len(URLS)) -> None:
    """A run that found these names to matter, and the others not to; and its map."""
    with Store.open(db) as store:
        store.corpus.add(map(Observation, URLS))
        run = store.journal.begin(json.dumps({"names": matter, "n": store.journal.newest()}))
        store.journal.finish(run)
        (context,) = store.corpus.contexts(SITE)
        gone = frozenset({"id", "ref"}) - set(matter)
        trials = [
            Trial(url, frozenset({name}), "different", "the content changed", name, url)
            for url in URLS
            for name in matter
        ]
        trials += [Trial(url, gone, "same", look=url) for url in URLS[:kept]]
        store.evidence.save(run, context, trials, [])
        publish(store, run, JUDGING)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "miqps.db"


@pytest.fixture
def run(db: Path) -> Callable[..., str]:
    """Runs a command, and gives what it printed; it must end with this code."""

    def run(*arguments: object, code: int = 0) -> str:
        words = [str(argument) for argument in arguments]
        ended = CliRunner().invoke(script.main, [*words, "--db", str(db)])
        assert ended.exit_code == code, ended.output
        assert ended.exception is None or isinstance(ended.exception, SystemExit)
        if "--json" not in words and words[0] not in ("verify", "export", "import"):
            assert all(len(line) <= 80 for line in ended.stdout.splitlines())
        return ended.output

    return run


def cleaned(db: Path) -> str:
    return Normalizer.load(db).clean(URL)


def test_versions_are_listed_compared_and_gone_back_to(db: Path, run: Callable[..., str]) -> None:
    judge(db, "id")
    judge(db, "id", "ref")
    assert cleaned(db) == URL
    listed = run("list").splitlines()
    assert [line.split()[0] for line in listed] == ["version", "2", "1"]
    assert [v["note"] for v in json.loads(run("list", "--json"))] == ["run 2", "run 1"]

    said = run("diff", 1, 2).splitlines()
    assert said[:3] == [SITE, "  /p/*  id ref", "    ref  neutral -> important"]
    (change,) = json.loads(run("diff", 1, 2, "--json"))
    assert change["contexts"][0]["parameters"][0]["after"] == "important"
    assert "no verdict is another one" in run("diff", 2, 2)

    assert run("rollback", 1) == "Map version 3 is published.\n"
    assert cleaned(db) == STRIPPED
    assert run("diff", 1, 3) == run("diff", 1, 1)
    assert run("rollback", 1) == "Map version 3 stays in force.\n"
    assert "version 9 is not kept" in run("rollback", 9, code=1)


def test_what_is_taken_back_stays_back(db: Path, run: Callable[..., str]) -> None:
    """Weighing the same evidence again does not bring it back; later runs do."""
    with Store.open(db) as store:
        store.corpus.add(map(Observation, URLS))
    judge(db, "id", kept=2)
    assert cleaned(db) == URL
    judge(db, "id")
    assert cleaned(db) == STRIPPED
    run("rollback", 1)
    assert cleaned(db) == URL
    assert "Not published" in run("publish")
    assert cleaned(db) == URL
    run("publish", "--accept", SITE)
    assert cleaned(db) == STRIPPED


def test_a_pin_is_in_force_at_once_and_outlives_every_run(
    db: Path, run: Callable[..., str]
) -> None:
    judge(db, "id")
    assert cleaned(db) == STRIPPED
    run("pin", SITE, "ref", "keep")
    assert cleaned(db) == URL
    judge(db, "id")
    run("rollback", 1)
    assert cleaned(db) == URL
    run("pin", f"https://{SITE}/any", "id", "strip", "--path", "/p/")
    assert cleaned(db) == f"https://{SITE}/p/0?ref=r0"
    shown = run("show", SITE)
    assert "pinned by hand" in shown
    assert [line.split() for line in shown.splitlines() if "below" in line] == [
        ["id", "strip", "below", "/p/"],
        ["ref", "keep", "below", "/"],
    ]
    newest = json.loads(run("show", SITE, "--json"))
    assert [pin["name"] for pin in newest["sites"][SITE]["pins"]] == ["id", "ref"]
    run("unpin", SITE, "ref")
    assert cleaned(db) == f"https://{SITE}/p/0"
    run("unpin", SITE, "id", "--path", "/p/")
    assert cleaned(db) == STRIPPED
    assert "is not pinned below /" in run("unpin", SITE, "id", code=1)


def test_a_site_nobody_probed_can_be_pinned(db: Path, run: Callable[..., str]) -> None:
    run("pin", "new.example", "ref", "strip")
    assert Normalizer.load(db).clean("http://new.example/a?ref=1&x=2") == "http://new.example/a?x=2"
    run("unpin", "new.example", "ref")
    assert Normalizer.load(db).clean("http://new.example/a?ref=1") == "http://new.example/a?ref=1"


def test_what_the_gate_refused_is_shown_and_can_be_let_through(
    db: Path, run: Callable[..., str]
) -> None:
    judge(db, "id")
    judge(db)
    assert cleaned(db) == STRIPPED
    shown = run("show", SITE)
    assert "refused: 1 of 1 contexts lose an important parameter" in shown
    said = run("publish")
    assert f"scripts/maps.py publish --accept {SITE}" in " ".join(said.split())
    run("publish", "--accept", SITE)
    assert cleaned(db) == f"https://{SITE}/p/0"
    assert "nothing is known of it" in run("publish", "--accept", "nowhere.example", code=1)


def test_sites_are_shown(db: Path, run: Callable[..., str]) -> None:
    judge(db, "id")
    shown = run("show").splitlines()
    assert shown[1].split() == [SITE, "1", "1", "1", "0", "0"]
    assert from_json(run("show", "--json")).version == 1
    assert "nowhere.example: not in the map" in run("show", "nowhere.example", code=1)


def test_every_version_is_read_through(db: Path, run: Callable[..., str], tmp_path: Path) -> None:
    judge(db, "id")
    judge(db, "id", "ref")
    assert run("verify").splitlines() == [
        "version 2: fine, 1 sites, 1 contexts, 2 verdicts",
        "version 1: fine, 1 sites, 1 contexts, 2 verdicts",
    ]
    with closing(sqlite3.connect(db)) as file, file:
        file.execute("UPDATE maps SET body = substr(body, 1, 50) WHERE version = 1")
    assert "version 1: damaged" in run("verify", code=1)
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(to_json(KNOWN))
    bad.write_text("{}")
    said = json.loads(run("verify", good, bad, tmp_path / "none.json", "--json", code=1))
    assert [said[str(path)].partition(" ")[0].strip(",:") for path in (good, bad)] == [
        "fine",
        "damaged",
    ]


def test_files_are_compared_too(run: Callable[..., str], tmp_path: Path) -> None:
    one, other = tmp_path / "1.json", tmp_path / "2.json"
    one.write_text(to_json(KNOWN))
    other.write_text(to_json(Map(4, "", {})))
    assert run("diff", one, other).startswith(f"{SITE}\n- **  gclid\n")


def test_a_map_is_written_for_others(db: Path, run: Callable[..., str], tmp_path: Path) -> None:
    judge(db, "id")
    out = tmp_path / "map.json"
    run("export", "json", "--out", out)
    assert Normalizer.load(out).clean(URL) == STRIPPED
    assert [path.name for path in tmp_path.iterdir() if "map" in path.name] == ["map.json"]
    ended = CliRunner().invoke(script.main, ["export", "removeparam", SITE, "--db", str(db)])
    assert ended.stdout.splitlines()[-1].endswith("/$removeparam=ref,match-case,document")
    assert ended.stderr == "1 neutral parameters are said\n"
    rules = tmp_path / "my.toml"
    rules.write_text('[[rule]]\nsite = "*"\nkeep = ["ref"]\n')
    said = run("export", "clearurls", "--rules", rules)
    assert "1 left out: a rule or a pin keeps it" in said
    assert "not in the map" in run("export", "csv", "other.example", code=1)
    assert "is not one of" in run("export", "xml", code=2)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["show"], 1, "no such database"),
        (["list"], 1, "no such database"),
        (["diff", "1", "nothing.json"], 1, "no such database"),
        (["diff", "nothing.json", "1"], 1, "No such file"),
        (["pin", "not a site", "x", "keep"], 2, "is no site"),
        (["pin", "a.example", "x", "maybe"], 2, "'maybe' is not one of"),
        (["pin", "a.example", "x", "keep", "--path", "p"], 2, "must start with /"),
        (["rollback", "zero"], 2, "not a valid integer"),
    ],
)
def test_wrong_usage_is_one_line(
    run: Callable[..., str], words: list[str], code: int, said: str
) -> None:
    assert said in run(*words, code=code)


def test_no_more_versions_are_kept_than_are_wanted(db: Path) -> None:
    with Store.open(db) as store:
        for version in range(1, PUBLISHING.kept_versions + 6):
            store.maps.publish(Edition(Map(version, "now", {}), "for the test"))
        kept = [v.version for v in store.maps.versions()]
    assert kept == list(range(PUBLISHING.kept_versions + 5, 5, -1))


def test_as_a_process(db: Path, tmp_path: Path, script) -> None:
    judge(db, "id")
    shown = script("maps.py", "show", SITE, "--db", db, cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "ref  neutral" in shown.stdout


CLEARURLS = '{"providers": {"all": {"urlPattern": ".*", "rules": ["ref", "junk"]}}}'


def test_lists_are_hints(db: Path, run: Callable[..., str], tmp_path: Path, script) -> None:
    judge(db, "id", "ref")
    rules, robots, other = (tmp_path / name for name in ("rules.json", "robots.txt", "x.txt"))
    rules.write_text(CLEARURLS)
    robots.write_text("Clean-param: sid /p/\n")
    other.write_text("nothing of the kind\n")
    said = run("import", rules, robots, "--site", SITE).splitlines()
    assert said == [f"{rules}: clearurls, 2 entries", f"{robots}: clean-param, 1 entries"]
    assert "name what it is with --format" in run("import", other, code=1)
    assert "name it with --site" in run("import", robots, code=1)
    assert "No such file" in run("import", tmp_path / "none", code=1)
    # Nothing goes by it; it is said beside what was learned.
    assert cleaned(db) == URL
    url = f"{URL}&junk=1"
    shown = script("clean.py", url, "--db", db, "--explain", cwd=tmp_path).stdout
    assert shown.splitlines()[1] == f"  -> {url}"
    assert "rules.json lets it go" in shown
    told = script("clean.py", url, "--db", db, "--explain", "--json", cwd=tmp_path)
    found = json.loads(told.stdout)
    assert found["listed"] == {"ref": "rules.json", "junk": "rules.json"}
    # Who trusts lists has them fill what was not learned, and nothing else.
    trusting = script("clean.py", url, URL, "--db", db, "--trust-lists", cwd=tmp_path)
    assert trusting.stdout.splitlines() == [f"https://{SITE}/p/0?id=0", URL]
    refused = script("clean.py", url, "--map", rules, "--trust-lists", cwd=tmp_path)
    assert (refused.returncode, "--trust-lists needs --db" in refused.stderr) == (2, True)


def test_a_map_of_another_store(db: Path, run: Callable[..., str], tmp_path: Path) -> None:
    """What was found out elsewhere fills what was not judged here, through the gate."""
    file, theirs = tmp_path / "map.json", tmp_path / "theirs.db"
    judge(theirs, "id")
    script.main(["export", "json", "--out", str(file), "--db", str(theirs)], standalone_mode=False)
    said = run("import", file)
    assert said == f"{file}: map, 1 entries\nMap version 1 is published.\n"
    assert cleaned(db) == STRIPPED
    # It outlives publications, until the same context is judged here.
    run("publish")
    assert cleaned(db) == STRIPPED
    judge(db, "id", "ref")
    assert cleaned(db) == URL
    # And it cannot let go what was seen to matter here.
    with Store.open(db) as store:
        store.forget_site(SITE)
    judge(db, "id", "ref")
    run("import", file)
    assert cleaned(db) == URL
    damaged = tmp_path / "damaged.json"
    damaged.write_text('{"format": "miqps-map/1"}')
    assert "not a map" in run("import", damaged, code=1)
