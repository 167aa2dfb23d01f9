"""Benches: what the program costs, beside what others cost.

All numbers of a table come from one run on one machine and are medians of alternating rounds, so
only the ratios mean something elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.lookup import load, lookup


@click.group(help=__doc__)
def bench() -> None:
    """Collects the benches."""


bench.add_command(lookup)
bench.add_command(load)

if __name__ == "__main__":
    bench()
