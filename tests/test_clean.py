"""scripts/clean.py as the process that a shell starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from miqps.mapping import to_json
from tests.known_map import KNOWN, SHOP, store

SCRIPT = Path(__file__).parents[1] / "scripts" / "clean.py"


@pytest.fixture
def map_file(tmp_path: Path) -> Path:
    path = tmp_path / "map.json"
    path.write_text(to_json(KNOWN), encoding="utf-8")
    return path


def clean(*arguments: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, timeout=60, check=False)


def test_arguments(map_file: Path, tmp_path: Path) -> None:
    done = clean(f"{SHOP}/p/5?utm_source=x", "not a URL", "--map", map_file)
    assert (done.returncode, done.stdout) == (0, f"{SHOP}/p/5\nnot a URL\n".encode())
    done = clean(f"{SHOP}/p/5?utm_source=x", "--db", store(tmp_path / "a.db", to_json(KNOWN)))
    assert (done.returncode, done.stdout) == (0, f"{SHOP}/p/5\n".encode())


def test_lines_keep_order_bytes_and_ends(map_file: Path) -> None:
    given = (
        b"https://shop.example/p/5?utm_source=x\r\n"
        b"\n"
        b"https://shop.example/p/5?id=\xff\xe9&utm_source=x&ref=\n"
        b"\xff\xfe?a\n"
        b"  https://shop.example/p/5?utm_source=x\n"
        b"https://shop.example/p/6?utm_source=x"
    )
    done = clean("-", "--map", map_file, given=given)
    assert done.returncode == 0
    assert done.stdout == (
        b"https://shop.example/p/5\r\n"
        b"\n"
        b"https://shop.example/p/5?id=\xff\xe9&ref=\n"
        b"\xff\xfe?a\n"
        b"  https://shop.example/p/5?utm_source=x\n"
        b"https://shop.example/p/6"
    )


def test_many_lines_stay_in_order(map_file: Path) -> None:
    given = b"".join(b"https://shop.example/p/%d?utm_source=x&n=\n" % n for n in range(100_000))
    given += b"https://shop.example/p/1?utm_source=%s\n" % (b"x" * 1_000_000)
    done = clean("-", "--map", map_file, given=given)
    lines = done.stdout.splitlines()
    assert len(lines) == 100_001
    assert lines[:-1] == given.splitlines()[:-1]
    assert lines[-1] == b"https://shop.example/p/1"


def test_answers_before_the_input_ends(map_file: Path) -> None:
    command = [sys.executable, str(SCRIPT), "-", "--map", str(map_file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"https://shop.example/p/5?utm_source=x\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"https://shop.example/p/5\n"
        process.stdin.close()
        assert process.wait(timeout=30) == 0


@pytest.mark.skipif(os.name != "posix", reason="pipes of a POSIX shell")
def test_closed_pipe_ends_quietly(map_file: Path, tmp_path: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_bytes(b"https://shop.example/p/5?utm_source=x\n" * 200_000)
    command = f'"{sys.executable}" "{SCRIPT}" - --map "{map_file}" < "{urls}" | head -n 1'
    done = subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False)
    assert done.stdout == b"https://shop.example/p/5\n"
    assert done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("lines", [1, 200_000])
def test_full_disk_is_one_line(map_file: Path, lines: int) -> None:
    command = [sys.executable, str(SCRIPT), "-", "--map", str(map_file)]
    given = b"https://shop.example/p/5?utm_source=x\n" * lines
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, input=given, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"Error: standard output: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="redirections of a POSIX shell")
@pytest.mark.parametrize(("closed", "name"), [("<&-", "input"), (">&-", "output")])
def test_closed_stream_is_one_line(map_file: Path, closed: str, name: str) -> None:
    url = f"{SHOP}/p/5?utm_source=x"
    command = f'echo "{url}" | "{sys.executable}" "{SCRIPT}" - --map "{map_file}" {closed}'
    done = subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == f"Error: standard {name} is closed\n".encode()


def test_key(map_file: Path) -> None:
    done = clean("-", "--key", "--map", map_file, given=b"https://x.example/?b&a\n")
    assert done.stdout == b"https://x.example/?a&b\n"


def test_json(map_file: Path) -> None:
    url = f"{SHOP}/p/5?utm_source=x"
    done = clean(url, "--json", "--map", map_file)
    assert json.loads(done.stdout) == {"url": url, "cleaned": f"{SHOP}/p/5"}
    done = clean("-", "--json", "--key", "--map", map_file, given=b"\xff?b&a\n")
    assert json.loads(done.stdout) == {"url": "\udcff?b&a", "key": "\udcff?a&b"}
    done = clean(url, "--json", "--explain", "--map", map_file)
    found = json.loads(done.stdout)
    assert found["rulings"][0]["layer"] == "verdict"
    assert found["rulings"][0]["verdict"]["samples"] == 10


@pytest.mark.parametrize("option", ["--json", "--explain"])
def test_what_is_made_of_a_line_ends_like_a_line(map_file: Path, option: str) -> None:
    done = clean(
        "-", option, "--map", map_file, given=b"https://x.example/?b\r\n\nhttps://y.example"
    )
    assert b"\r" not in done.stdout
    assert done.stdout.endswith(b"\n")
    assert b"\n\n" in done.stdout


def test_explain(map_file: Path) -> None:
    url = f"{SHOP}/p/5?utm_source=x&id=1&ref=2"
    done = clean(url, "--explain", "--map", map_file)
    assert done.stdout.decode().splitlines() == [
        url,
        f"  -> {SHOP}/p/5?id=1&ref=2",
        "  shop.example/p/*, map version 3",
        "  utm_source  dropped  verdict: neutral: as tested (10 samples, 9 values, 0 mismatches)",
        "  id          kept  verdict: important: as tested (10 samples, 9 values, 0 mismatches)",
        "  ref         kept  verdict: undecided: as tested (10 samples, 9 values, 0 mismatches)",
    ]


def test_own_rules(map_file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "my.toml"
    rules.write_text('[[rule]]\nsite = "*"\nstrip = ["id"]\n')
    done = clean(f"{SHOP}/x?id=1&a=2", "--map", map_file, "--rules", rules)
    assert done.stdout == f"{SHOP}/x?a=2\n".encode()
    rules.write_text('[[rule]]\nsite = "*"\nstrp = ["id"]\n')
    done = clean(f"{SHOP}/x?id=1", "--map", map_file, "--rules", rules)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"Error: {rules}:3: unknown key 'strp'")


def test_errors_are_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    for option, path, message in [
        ("--map", broken, "broken JSON"),
        ("--map", tmp_path / "none.json", "No such file"),
        ("--db", tmp_path / "none.db", "No such file"),
    ]:
        done = clean("https://x.example/?a", option, path)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.decode().startswith(f"Error: {path}: ")
        assert message in done.stderr.decode()
        assert done.stderr.count(b"\n") == 1


def test_wrong_usage(map_file: Path) -> None:
    assert clean().returncode == 2
    assert clean("-", "--map", map_file, "--db", "x.db").returncode == 2
    assert clean("-", "--no-such-option").returncode == 2
    assert clean("-", "--map", map_file, "--key", "--explain").returncode == 2
    assert clean("-", "https://x.example/?a", "--map", map_file).returncode == 2
    assert b"Example: " in clean("--help").stdout
