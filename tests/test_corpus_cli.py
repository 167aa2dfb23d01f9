"""scripts/corpus.py as a process, the way people and other programs call it."""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from miqps import formats
from miqps.formats import BadLine, Entry, intake
from miqps.formats.lines import lines
from miqps.settings import CORPUS
from miqps.store import Store

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, str(ROOT / "scripts" / "corpus.py")]
URLS = ["https://shop.example/p?id=1&utm_source=a", "https://shop.example/p?id=2&utm_source=b"]


def run(*arguments: object, stdin: bytes = b"", code: int = 0) -> tuple[str, str]:
    """What the command says on stdout and stderr; it must end with this code, untraced."""
    ended = subprocess.run(
        [*COMMAND, *map(os.fspath, arguments)], input=stdin, capture_output=True, timeout=60
    )
    out, err = ended.stdout.decode(), ended.stderr.decode()
    assert "Traceback" not in err, err
    assert ended.returncode == code, err
    return out, err


def urls_in(db: Path) -> dict[str, int]:
    with closing(sqlite3.connect(db)) as file:
        return dict(file.execute("SELECT url, hits FROM urls").fetchall())


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    path = tmp_path / "urls.txt"
    path.write_text("\n".join(URLS))
    return path


def test_add_and_list(db: Path, lists: Path) -> None:
    out, err = run("add", lists, "--db", db)
    assert (out, err) == (f"2 URLs added to {db}, 2 of them new\n", "")
    out, err = run("add", "-", "--db", db, stdin=f"{URLS[0]}\n{URLS[0]}\n".encode())
    assert (out, err) == (f"2 URLs added to {db}, 0 of them new\n", "")
    assert urls_in(db) == {URLS[0]: 3, URLS[1]: 1}
    out, err = run("list", "--db", db)
    assert out.splitlines() == [
        "site\tpath\tnames\tvalues\thits\turls\timportant\tneutral\tundecided",
        "shop.example\t/p\tid&utm_source\t2&2\t4\t2\t0\t0\t0",
    ]
    out, err = run("list", "--db", db, "--json")
    (site,) = json.loads(out)["sites"]
    assert site["site"] == "shop.example"
    assert site["contexts"] == [
        {
            "path": "/p", "names": ["id", "utm_source"], "hits": 4, "urls": 2,
            "values": {"id": 2, "utm_source": 2},
            "important": 0, "neutral": 0, "undecided": 0,
        }
    ]  # fmt: skip


def test_json_of_add_counts_what_was_passed_over(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_bytes(
        b"\xef\xbb\xbf" + URLS[0].encode() + b"\r\n\r\n# a note\r\n  " + URLS[1].encode() + b"  \n"
        b"https://shop.example/p?q=secret\xe9\n"
        b"https://shop.example/p?q=secret\0\n"
        b"https://shop.example/p\n"
        b"https://shop.example/p?q=" + b"secret" * 200_000 + b"\n"
        b"mailto:secret@shop.example?subject=secret\n"
        b"https://shop.example/logout?to=secret\n"
        b"https://shop.example/logout?to=secret"
    )  # fmt: skip
    out, err = run("add", path, "--db", db, "--json")
    reasons = {
        "deed": 2,
        "not UTF-8": 1,
        "control character or space": 1,
        "no named parameter": 1,
        "too long": 1,
        "not http or https": 1,
    }
    lines = {5: "not UTF-8", 6: "control character or space", 7: "no named parameter"}
    lines |= {8: "too long", 9: "not http or https"}
    assert json.loads(out) == {
        "urls": 2,
        "new": 2,
        "links": 0,
        "passed_over": reasons,
        "examples": [
            {"file": str(path), "line": line, "reason": reason} for line, reason in lines.items()
        ],
        "failed": [],
    }
    assert "2 passed over: deed\n" in err
    assert f"  {path}:5: not UTF-8\n" in err
    assert "secret" not in out + err
    assert set(urls_in(db)) == set(URLS)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", b"\xef\xbb\xbf", b"\r\n"])
def test_a_list_without_urls(db: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "empty").write_bytes(content)
    out, err = run("add", tmp_path / "empty", "--db", db)
    assert (out, err) == (f"0 URLs added to {db}, 0 of them new\n", "")


def test_utf_16_gives_reasons(db: Path, tmp_path: Path) -> None:
    (tmp_path / "wide").write_text("\n".join(URLS), encoding="utf-16")
    out, err = run("add", tmp_path / "wide", "--db", db)
    assert out.startswith("0 URLs added")
    assert "passed over" in err


def test_files_that_cannot_be_read_do_not_stop_the_others(
    db: Path, lists: Path, tmp_path: Path
) -> None:
    out, err = run("add", tmp_path / "none", tmp_path, lists, "--db", db, code=1)
    assert out == f"2 URLs added to {db}, 2 of them new\n"
    assert err.splitlines() == [
        f"Error: {tmp_path / 'none'}: No such file or directory",
        f"Error: {tmp_path}: Is a directory",
    ]


@pytest.mark.parametrize(
    "arguments", [("add",), ("add", "--db"), ("list", "x"), ("frob",), ("list", "--frob")]
)
def test_wrong_usage_is_2(arguments: tuple[str, ...]) -> None:
    _, err = run(*arguments, code=2)
    assert err.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize("command", [("list",), ("add", "-")])
def test_a_file_that_is_no_database(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "x.db").write_bytes(b"nonsense" * 999)
    out, err = run(*command, "--db", tmp_path / "x.db", stdin=URLS[0].encode(), code=1)
    assert out == ""
    assert err.splitlines()[-1].startswith(f"Error: {tmp_path / 'x.db'}: not a SQLite database")


def test_listing_what_does_not_exist(db: Path) -> None:
    _, err = run("list", "--db", db, code=1)
    assert err.startswith(f"Error: {db}: no such database")
    assert err.count("\n") == 1
    assert not db.exists()


def test_listing_an_empty_corpus(db: Path) -> None:
    Store.open(db).close()
    assert run("list", "--db", db) == ("", f"{db}: nothing was recorded yet\n")
    assert json.loads(run("list", "--db", db, "--json")[0]) == {"sites": []}


def test_names_cannot_give_orders_to_the_terminal(db: Path) -> None:
    run("add", "-", "--db", db, stdin=b"https://shop.example/p?%1b]0;x%07=1&[bold]=2&%0a=3\n")
    out, _ = run("list", "--db", db)
    assert "\\n&\\x1b]0;x\\x07&[bold]" in out
    assert "\x1b" not in out


def test_a_table_on_a_terminal_fits_80_columns(db: Path) -> None:
    long_name = "a_name_that_is_much_longer_than_any_column_can_be_" * 3
    url = f"https://shop.example/{'path/' * 30}?{long_name}=1&[bold]x[/]=2"
    run("add", "-", "--db", db, stdin=url.encode())
    shown = on_a_terminal("list", "--db", db)
    assert "shop.example" in shown
    assert "none yet" in shown
    assert "bold" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def on_a_terminal(*arguments: object) -> str:
    """What the command shows on a terminal of 80 columns, without colours."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}
    with subprocess.Popen(
        [*COMMAND, *map(os.fspath, arguments)],
        stdin=follower, stdout=follower, stderr=follower, env=environment,
    ) as process:  # fmt: skip
        os.close(follower)
        shown = b""
        try:
            while piece := os.read(leader, 65_536):
                shown += piece
        except OSError:  # The end of a terminal is an error on Linux.
            pass
        os.close(leader)
        assert process.wait(60) == 0
    return shown.decode().replace("\r\n", "\n")


def test_progress_is_shown_on_a_terminal(db: Path, lists: Path) -> None:
    assert "2 URLs added" in on_a_terminal("add", lists, "--db", db)


def test_a_closed_pipe_is_no_accident(db: Path) -> None:
    lines = "".join(f"https://s{n}.example/p?id={n}\n" for n in range(3_000))
    run("add", "-", "--db", db, stdin=lines.encode())
    process = subprocess.Popen(
        [*COMMAND, "list", "--db", str(db)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) in (0, 1)


def test_ctrl_c_says_one_line_and_keeps_what_is_stored(db: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "add", "-", "--db", str(db)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(b"".join(b"https://a.example/p?id=%d\n" % n for n in range(30_000)))
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not (db.exists() and db.stat().st_size and hits_in(db) >= 20_000):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 1
    err = process.stderr.read().decode()
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()
    assert "URLs were stored before that\n" in err
    assert err.endswith("Error: stopped; what is stored stays\n")
    assert "Traceback" not in err


def hits_in(db: Path) -> int:
    with closing(sqlite3.connect(db)) as file:
        try:
            return file.execute("SELECT coalesce(sum(hits), 0) FROM contexts").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


def test_a_file_adds_what_is_new_in_it_and_a_run_can_be_repeated(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_text("".join(f"https://a.example/p?id={n}\n" for n in range(1_000)) + "nonsense\n")
    run("add", path, "--db", db)
    out, _ = run("add", path, "--db", db)
    assert out == f"0 URLs added to {db}, 0 of them new\n"
    path.rename(tmp_path / "access.log.1")
    assert run("add", tmp_path / "access.log.1", "--db", db)[0].startswith("0 URLs added")
    with (tmp_path / "access.log.1").open("a") as file:
        file.write("https://a.example/p?id=x\nhttps://a.example/p?id=1\n")
    assert run("add", tmp_path / "access.log.1", "--db", db)[0].startswith("2 URLs added")
    path.write_text("https://a.example/p?id=7\n")
    assert run("add", path, "--db", db)[0].startswith("1 URLs added")
    assert hits_in(db) == 1_003


def test_a_run_that_was_cut_off_goes_on_where_it_was(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "urls.txt"
    path.write_text("".join(f"https://a.example/p?id={n}\n" for n in range(50)))
    monkeypatch.setattr(intake, "_BATCH", 10)
    batches = 0

    def cut_off() -> None:
        nonlocal batches
        batches += 1
        if batches == 3:
            raise KeyboardInterrupt

    with Store.open(db) as store:
        for _ in range(2):
            with path.open("rb") as file, suppress(KeyboardInterrupt):
                entries = formats.read("urls.txt", file)
                known = store.imports.look(path)
                intake.take(store, "urls.txt", entries, intake.Intake(), cut_off, known)
    assert hits_in(db) == 50
    assert batches == 6


def test_merge_adds_up(db: Path, tmp_path: Path) -> None:
    one, other, both = (tmp_path / name for name in ("one.db", "other.db", "both.db"))
    lines = [f"https://a.example/p/{n % 90}?id={n % 211}&ref={n % 3}\n" for n in range(2_000)]
    run("add", "-", "--db", one, stdin="".join(lines[:700]).encode())
    run("add", "-", "--db", other, stdin="".join(lines[700:]).encode())
    run("add", "-", "--db", both, stdin="".join(lines).encode())
    out, _ = run("merge", other, "--db", one)
    assert out.endswith(f" URLs of {other} are new in {one}\n")
    assert set(urls_in(one)) == set(urls_in(both))
    assert hits_in(one) == hits_in(both) == 2_000
    _, err = run("merge", one, "--db", one, code=2)
    assert "is the store itself" in err
    _, err = run("merge", tmp_path / "none.db", "--db", one, code=1)
    assert "no such database" in err


def test_show_forget_and_stats(db: Path, lists: Path) -> None:
    run("add", lists, "--db", db)
    out, _ = run("show", "shop.example", "--db", db)
    assert out.splitlines() == ["shop.example/p  id 2, utm_source 2", *(f"  {u}" for u in URLS)]
    out, _ = run("show", "https://shop.example/", "--db", db, "--json")
    assert json.loads(out)["sites"][0]["contexts"][0]["samples"] == URLS
    assert "not in the corpus" in run("show", "none.example", "--db", db, code=1)[1]
    figures = json.loads(run("stats", "--db", db, "--json")[0])
    assert (figures["contexts"], figures["urls_listed"], figures["hits"]) == (1, 2, 2)
    assert "urls listed         2\n" in run("stats", "--db", db)[0]
    assert run("forget", "--older-than", "90d", "--db", db)[0] == "0 contexts forgotten\n"
    assert run("forget", "shop.example", "--db", db)[0] == "1 contexts forgotten\n"
    assert urls_in(db) == {}
    for wrong in ((), ("x", "--older-than", "9d"), ("--older-than", "soon")):
        run("forget", *wrong, "--db", db, code=2)


def test_pages_in_a_file_give_their_links(db: Path, tmp_path: Path) -> None:
    page = '<a href="/p?id=1&amp;a=2">x</a><a href="/p?id=2&amp;a=2">y</a>'
    entry = {
        "request": {"method": "GET", "url": "https://a.example/list?n=1", "headers": []},
        "response": {
            "status": 200,
            "content": {"mimeType": "text/html", "text": page},
            "headers": [{"name": "Content-Type", "value": "text/html"}],
        },
        "_resourceType": "document",
        "startedDateTime": "2026-01-02T03:04:05Z",
    }
    path = tmp_path / "x.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": [entry]}}))
    out, _ = run("add", path, "--db", db)
    assert out == f"1 URLs and 2 links in pages added to {db}, 3 of them new\n"


def test_a_log_needs_to_be_told_its_site(db: Path) -> None:
    line = b'192.0.2.1 - - [02/Jan/2026:03:04:05 +0000] "GET /p?id=1 HTTP/1.1" 200 5\n'
    _, err = run("add", "-", "--db", db, stdin=line, code=1)
    assert "--site" in err
    run("add", "-", "--site", "https://a.example", "--db", db, stdin=line)
    assert list(urls_in(db)) == ["https://a.example/p?id=1"]


def test_from_another_folder(db: Path, lists: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    run("add", lists, "--db", db)
    assert set(urls_in(db)) == set(URLS)


def test_an_overlong_line_is_never_held_whole(tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_bytes(b"x" * 10_000_000 + b"\n" + URLS[0].encode() + b"\n")
    with path.open("rb") as file:
        pieces = list(lines(file))
    assert max(map(len, pieces)) < 2 * CORPUS.url_length
    with path.open("rb") as file:
        entries = list(formats.read("urls.txt", file))
    assert entries == [BadLine(1, "too long"), Entry(2, URLS[0])]
