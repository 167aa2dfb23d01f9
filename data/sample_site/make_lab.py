"""Writes lab.txt and lab.tsv: addresses of the laboratory, and the truth about their parameters.

Each page comes with twelve addresses. `ref` and `sid` stand beside what a page reads, a word and a
token that nothing reads. The lists are the same at each run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import lab
from make_visits import token

COUNT = 12
TAGS = {
    "ref": lambda n: f"place-{n}",
    "sid": lambda n: token("sid", n, 16),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One page: the items of its addresses, one list each, and what is true of the names."""

    path: str
    items: tuple[str, ...]
    truth: Mapping[str, str]
    why: str
    tags: tuple[str, ...] = ("ref", "sid")
    tag_truth: str = "neutral"

    def addresses(self) -> Iterator[str]:
        """The addresses, with the tags behind what the page reads."""
        for n, item in enumerate(self.items):
            made = [item, *(f"{tag}={TAGS[tag](n)}" for tag in self.tags)]
            yield f"{self.path}?{'&'.join(made)}"

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Path, parameter, truth and why."""
        for name, truth in self.truth.items():
            yield self.path, name, truth, self.why
        for tag in self.tags:
            yield self.path, tag, self.tag_truth, "nothing reads it"


def numbered(name: str = "id") -> tuple[str, ...]:
    """Items with a number."""
    return tuple(f"{name}={n}" for n in range(1, COUNT + 1))


def with_id(made: Iterator[str] | list[str]) -> tuple[str, ...]:
    """Items with a number and something else."""
    return tuple(f"id={n}&{item}" for n, item in enumerate(made, 1))


ID = {"id": "important"}
UNSEEN = "unseen"
ORDERS = ("name", "price", "down", "name")

CASES = (
    Case("/lab/plain", numbered(), ID, "the number chooses the thing"),
    Case("/lab/noise", numbered(), ID, "beside clock, request number and advert"),
    Case("/lab/script", numbered(), ID, "beside a script's clock, chance and carousel"),
    Case(
        "/lab/pair",
        tuple(f"number={n}&slug=thing-{n}" for n in range(1, COUNT + 1)),
        {"number": "pair(slug)", "slug": "pair(number)"},
        "two names for one thing",
    ),
    Case(
        "/lab/sticky",
        with_id([f"partner=p{n}" for n in range(COUNT)]),
        {"id": "important", "partner": "important"},
        "the partner is kept in a cookie",
    ),
    Case(
        "/lab/readd",
        with_id([f"mark={token('mark', n, 16)}" for n in range(COUNT)]),
        {"id": "important", "mark": "important"},
        "the site puts the mark back",
    ),
    Case("/lab/burst/item", numbered(), ID, "a page for all after a burst", tag_truth=UNSEEN),
    Case("/lab/consent/shoes", numbered(), ID, "a wall in front", tag_truth=UNSEEN),
    Case("/lab/consent/hats", numbered(), ID, "a wall in front", tag_truth=UNSEEN),
    Case(
        "/lab/tabs",
        with_id([f"tab=t{n}" for n in range(COUNT)]),
        {"id": "important", "tab": "important"},
        "only the script reads the tab",
    ),
    Case(
        "/lab/signed",
        tuple(
            f"id={n}&size={n * 10}&sig={lab.signature(f'{n} {n * 10}')}"
            for n in range(1, COUNT + 1)
        ),
        {"id": "important", "size": "important", "sig": "important"},
        "signed, the whole query",
        tags=(),
    ),
    Case(
        "/lab/board",
        tuple(f"source=s{n}" for n in range(COUNT)),
        {"source": "important"},
        "the same name is a tag on the next path",
    ),
    Case(
        "/lab/item",
        with_id([f"source=s{n}" for n in range(COUNT)]),
        {"id": "important", "source": "neutral"},
        "the same name chooses on the path before",
    ),
    Case(
        "/lab/voucher",
        with_id([f"code={lab.SAVING if n == 8 else f'TRY{n}'}" for n in range(COUNT)]),
        {"id": "important", "code": "important"},
        "one value in twelve works",
    ),
    Case(
        "/lab/far",
        tuple(f"rev={n}" for n in range(COUNT)),
        {"rev": "important"},
        "one digit, far down",
    ),
    Case(
        "/lab/swatch",
        tuple(f"colour={colour}" for colour in lab.COLOURS),
        {"colour": "important"},
        "a square of 20 px",
    ),
    Case(
        "/lab/lazy",
        tuple(f"picture={n}" for n in range(COUNT)),
        {"picture": "important"},
        "a picture that loads when it is near",
    ),
    Case(
        "/lab/filters",
        tuple(
            f"kind[]=k{n}&kind[]=k{n % 5}&q=caf%E9{n}{'&all' if n % 2 else '&all='}"
            for n in range(COUNT)
        ),
        {"kind[]": "important", "q": "important", "all": "important"},
        "repeated, in brackets, no UTF-8, without a value",
    ),
    Case("/lab/cart/add", numbered(), ID, "a deed", tag_truth=UNSEEN),
    Case("/lab/logout", numbered(), ID, "a deed", tag_truth=UNSEEN),
    Case("/lab/private/item", numbered(), ID, "robots.txt says no", tag_truth=UNSEEN),
    Case(
        "/lab/sale",
        numbered("item"),
        {"item": "important"},
        "most links have expired",
        tag_truth=UNSEEN,
    ),
    Case("/lab/coin", numbered(), ID, "two looks by chance", tag_truth=UNSEEN),
    Case(
        "/lab/sorted",
        tuple(f"shelf=s{n}&sort={ORDERS[n % 4]}" for n in range(COUNT)),
        {"shelf": "important", "sort": "important"},
        "most orders are the default",
    ),
    Case("/lab/slow", numbered(), ID, "the answer takes its time"),
    Case("/lab/dialog", numbered(), ID, "behind an alert"),
    Case("/lab/download", numbered(), ID, "a file, no page", tag_truth=UNSEEN),
    Case("/lab/tall", numbered(), ID, "in the middle of 39,000 px"),
    Case("/lab/echo", numbered(), ID, "the address comes back where nobody sees it"),
    Case("/lab/limited/item", numbered(), ID, "429 when it is asked too often", tag_truth=UNSEEN),
)


def lists() -> dict[str, str]:
    """File name to text."""
    addresses = "".join(f"{a}\n" for case in CASES for a in case.addresses())
    rows = "".join("\t".join(row) + "\n" for case in CASES for row in case.rows())
    return {"lab.txt": addresses, "lab.tsv": f"path\tparameter\ttruth\twhy\n{rows}"}


def main() -> None:
    """Writes both files beside this one."""
    for name, text in lists().items():
        Path(__file__).with_name(name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
