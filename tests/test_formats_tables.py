"""Tables: CSV files as programs write them, Parquet files, and which column holds the URLs."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from miqps.formats import FormatError, read
from miqps.formats.entry import BadLine, Entry
from tests.test_formats import given, reasons, urls

A, B = "https://shop.example/p?id=1&x=a,b;c", "https://shop.example/p?id=2"


def written(rows: list[list[str]], **options: str) -> bytes:
    """What Python's own writer makes of rows."""
    text = io.StringIO()
    csv.writer(text, **options).writerows(rows)  # type: ignore[arg-type]
    return text.getvalue().encode()


TABLES: list[tuple[str, bytes, dict[str, str]]] = [
    ("comma", written([["url", "n"], [A, "1"], [B, "2"]]), {}),
    ("semicolon", written([["n", "URL"], ["1", A], ["2", B]], delimiter=";"), {}),
    ("tab", written([["n", " Uri "], ["1", A], ["2", B]], delimiter="\t"), {}),
    ("one column", f"url\n{A}\n{B}\n".encode(), {}),
    ("one quoted column", f'"Link"\n"{A}"\n"{B}"\n'.encode(), {}),
    ("no names, tab", written([["1", A], ["2", B]], delimiter="\t"), {}),
    ("no names, comma", written([["1", A], ["2", B]]), {"format": "csv"}),
    ("unknown name", written([["Top pages", "Clicks"], [A, "1"], [B, "2"]]), {}),
    ("by name", written([["from", "to"], [B, A], [A, B]]), {"column": "TO"}),
    ("by number", written([["from", "to"], [B, A], [A, B]]), {"column": "2"}),
    ("by number, no names", written([[B, A], [A, B]], delimiter="\t"), {"column": "2"}),
    ("a number as name", written([["1", "2", "3"], ["x", B, A], ["x", A, B]]), {"column": "3"}),
    ("known before others", written([["referrer", "url"], [B, A], [A, B]]), {}),
    ("the known one that holds URLs", written([["page", "address"], ["1", A], ["2", B]]), {}),
    ("line breaks in values", written([["a", "url"], ["x\ny", A], ['"', B]]), {}),
    ("everything quoted", written([["n", "url"], ["1", A], ["2", B]], quoting=csv.QUOTE_ALL), {}),  # type: ignore[arg-type]
    ("mark", b"\xef\xbb\xbf" + written([["url", "n"], [A, "1"], [B, "2"]]), {}),
    ("UTF-16", f"url\té\n{A}\t1\n{B}\t2\n".encode("utf-16"), {}),
    ("blank lines", b"\n\nurl,n\n\n" + written([[A, "1"], [], [B, "2"]]), {}),
    ("empty cells", written([["a", "url"], ["", A], ["", B]]), {}),
    ("delimiters at the end", f'url;n;;\n"{A}";1;;;;\n{B};2\n'.encode(), {}),
]  # fmt: skip


@pytest.mark.parametrize(("content", "options"), [case[1:] for case in TABLES],
                         ids=[case[0] for case in TABLES])  # fmt: skip
def test_tables_as_programs_write_them(content: bytes, options: dict[str, str]) -> None:
    found = given(content, **options)
    assert urls(found) == [A, B]
    assert reasons(found) == []


ROWS: list[tuple[str, bytes, BadLine | Entry]] = [
    ("empty", b",1", BadLine(2, "no URL in it")),
    ("short", b'""', BadLine(2, "no URL in it")),
    ("unquoted comma", A.encode() + b",1", BadLine(2, "more values than columns")),
    ("no URL", b"secret,1", BadLine(2, "not http or https")),
    ("no parameter", b"https://shop.example/secret,1", BadLine(2, "no named parameter")),
    ("not UTF-8", b"https://shop.example/?secret=\xe9,1", BadLine(2, "not UTF-8")),
    ("zero byte", b"https://shop.example/?secret=\0,1", BadLine(2, "too long")),
    ("line break", b'"https://shop.example/?a=\nb",1', BadLine(2, "control character or space")),
    ("carriage return", b"https://shop.example/?a=\rb,1", BadLine(2, "broken record")),
    ("long", b"https://shop.example/?a=" + b"1" * 9_000 + b",1", BadLine(2, "too long")),
    ("longer", b"https://shop.example/?a=" + b"1" * 200_000 + b",1", BadLine(2, "broken record")),
    ("spaces around", b"  https://shop.example/?a=1 ,1", Entry(2, "https://shop.example/?a=1")),
]


@pytest.mark.parametrize(("row", "expected"), [case[1:] for case in ROWS],
                         ids=[case[0] for case in ROWS])  # fmt: skip
def test_rows(row: bytes, expected: BadLine | Entry) -> None:
    found = given(b"url,n\n" + row + b"\n" + B.encode() + b",2\n")
    assert found[0] == expected
    assert found[-1] == Entry(4 if expected.number and b"\n" in row else 3, B)
    assert "secret" not in repr(reasons(found))


def test_an_overlong_line_is_cut_and_says_so() -> None:
    lines = [f"x,{A.replace(',', '')}", "y" * 3_000_000 + f",{B}", f"z,{B}"]
    found = given(b"a,url\n" + "\n".join(lines).encode())
    assert urls(found) == [A.replace(",", ""), B]
    assert len(reasons(found)) == 1


def test_a_quote_that_never_ends_costs_a_bounded_part() -> None:
    content = b'a,url\nx,https://shop.example/?a=0\n"x,y\n'
    content += b"".join(b"x,https://shop.example/?a=%d\n" % n for n in range(1, 20_000))
    found = given(content)
    assert urls(found)[0] == "https://shop.example/?a=0"
    assert urls(found)[-1] == "https://shop.example/?a=19999"
    assert len(urls(found)) > 10_000
    assert reasons(found) == ["broken record"]


def parquet(table: pyarrow.Table, **options: object) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, **options)
    return file.getvalue()


PARQUET: list[tuple[str, dict[str, object], dict[str, str]]] = [
    ("known name", {"n": [1, 2], "url": [A, B]}, {}),
    ("only column with URLs", {"n": ["x", "y"], "u": [A, B]}, {}),
    ("by name", {"from": [B, A], "to": [A, B]}, {"column": "To"}),
    ("by number", {"from": [B, A], "n": [1, 2], "to": [A, B]}, {"column": "3"}),
    ("large texts", {"url": pyarrow.array([A, B], pyarrow.large_string())}, {}),
    ("a dictionary", {"url": pyarrow.array([A, B]).dictionary_encode()}, {}),
]


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize(("columns", "options"), [case[1:] for case in PARQUET],
                         ids=[case[0] for case in PARQUET])  # fmt: skip
def test_parquet(columns: dict[str, object], options: dict[str, str], compression: str) -> None:
    content = parquet(pyarrow.table(columns), compression=compression)
    assert given(content, **options) == [Entry(1, A), Entry(2, B)]


def test_parquet_rows_that_give_nothing() -> None:
    table = pyarrow.table({"url": [None, "", "secret", " " + A]})
    assert given(parquet(table)) == [
        BadLine(1, "no URL in it"),
        BadLine(2, "no URL in it"),
        BadLine(3, "not http or https"),
        Entry(4, A),
    ]


def test_a_parquet_file_in_many_groups(tmp_path: Path) -> None:
    lines = [f"https://shop.example/?a={n}" for n in range(10_000)]
    path = tmp_path / "x"
    path.write_bytes(parquet(pyarrow.table({"url": lines}), row_group_size=700))
    with path.open("rb") as file:
        found = list(read("x", file))
    assert urls(found) == lines
    assert found[-1].number == 10_000


NAME_ONE = "name one with --column"
UNCLEAR: list[tuple[dict[str, object], str | None, str]] = [
    ({"n": [1]}, None, f"no column holds URLs; {NAME_ONE} ('n')"),
    ({"n": [1]}, "n", "column 'n' holds no text, so no URLs"),
    ({"a": ["1"]}, None, f"no column holds URLs; {NAME_ONE} ('a')"),
    ({"a": [A], "b": [B]}, None, f"more than one column holds URLs; {NAME_ONE} ('a', 'b')"),
    ({}, None, f"no column holds URLs; {NAME_ONE}"),
]


@pytest.mark.parametrize(("columns", "column", "message"), UNCLEAR)
def test_parquet_without_a_clear_column(
    columns: dict[str, object], column: str | None, message: str
) -> None:
    with pytest.raises(FormatError) as error:
        given(parquet(pyarrow.table(columns)), "x", column=column)
    assert str(error.value) == message


@pytest.mark.parametrize("cut", [4, 100, -1])
def test_a_damaged_parquet_file_is_a_bad_line(cut: int) -> None:
    content = parquet(pyarrow.table({"url": [A, B]}))
    assert given(content[:cut]) == [BadLine(1, "damaged Parquet file")]


def test_without_pyarrow_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(FormatError) as error:
        given(parquet(pyarrow.table({"url": [A]})), "x")
    assert str(error.value) == "Parquet files need pyarrow; pip install 'miqps[parquet]'"
