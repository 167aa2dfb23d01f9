"""The laboratory of the sample site does what its table says, as far as a server can tell."""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from miqps import query
from miqps.eligibility import unfit

SITE = Path(__file__).parent.parent / "data" / "sample_site"
sys.path.append(str(SITE))

import lab  # noqa: E402
import make_lab  # noqa: E402
from app import create_app  # noqa: E402

ADDRESSES = (SITE / "lab.txt").read_text().split()
with (SITE / "lab.tsv").open(newline="") as lines:
    TRUTH = {(r["path"], r["parameter"]): r["truth"] for r in csv.DictReader(lines, delimiter="\t")}

MOVING = {"/lab/noise", "/lab/coin"}
IN_THE_BROWSER = {("/lab/tabs", "tab"), ("/lab/lazy", "picture")}
WALLED = {"/lab/consent/shoes", "/lab/consent/hats", "/lab/cart/add", "/lab/logout"}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    lab._asked.clear()
    monkeypatch.setattr(lab.time, "sleep", lambda seconds: None)
    return create_app().test_client()


def test_the_lists_are_what_their_maker_writes() -> None:
    for name, text in make_lab.lists().items():
        assert (SITE / name).read_text() == text


def test_every_parameter_has_a_truth_and_enough_values() -> None:
    values = defaultdict(set)
    for address in ADDRESSES:
        for name in query.names(address):
            values[query.split(address)[0], name].add(query.values(address, name))
    assert values.keys() == TRUTH.keys()
    assert {len(found) for found in values.values()} <= {1, 3, 8, 12}
    assert set(TRUTH.values()) == {"important", "neutral", "unseen", "pair(slug)", "pair(number)"}


def shown(client: FlaskClient, address: str) -> tuple[int, bytes, str]:
    lab._asked.clear()
    answer = client.get(address)
    for cookie in ("partner",):
        client.delete_cookie(cookie)
    return answer.status_code, answer.data, ";".join(answer.headers.getlist("Set-Cookie"))


@pytest.mark.parametrize(("path", "name"), TRUTH)
def test_a_parameter_changes_the_answer_if_it_is_said_to(
    client: FlaskClient, path: str, name: str
) -> None:
    if path in MOVING or path in WALLED or (path, name) in IN_THE_BROWSER or path == "/lab/echo":
        pytest.skip("the server's answer alone does not tell")
    addresses = [a for a in ADDRESSES if query.split(a)[0] == path]
    changed = [
        shown(client, address) != shown(client, query.remove(address, {name}))
        for address in addresses
    ]
    assert any(changed) is (TRUTH[path, name] == "important")


def test_a_pair_may_lose_either_and_not_both(client: FlaskClient) -> None:
    whole = shown(client, "/lab/pair?number=3&slug=thing-3")
    assert whole == shown(client, "/lab/pair?number=3") == shown(client, "/lab/pair?slug=thing-3")
    assert whole != shown(client, "/lab/pair")


def test_what_is_asked_too_often_is_refused_for_a_while(client: FlaskClient) -> None:
    answers = [client.get(f"/lab/limited/item?id={n}").status_code for n in range(14)]
    assert answers == [200] * 12 + [429] * 2
    pages = {client.get(f"/lab/burst/item?id={n}").data for n in range(20)}
    assert len(pages) == 15


def test_deeds_and_signed_addresses_are_never_replayed() -> None:
    refused = {query.split(a)[0] for a in ADDRESSES if unfit(f"http://a.example{a}")}
    assert refused == {"/lab/cart/add", "/lab/logout", "/lab/signed"}
