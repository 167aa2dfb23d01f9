"""Benches: what the program costs, beside what others cost.

All numbers of a table come from one run on one machine and are medians of alternating rounds, so
only the ratios mean something elsewhere.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.corpus import corpus
from benches.judging import judging
from benches.lookup import load, lookup
from benches.proxy import proxy
from benches.proxy_memory import proxy_memory
from benches.seeing import seeing
from benches.seeing_cost import seeing_cost
from benches.upstream import upstream


@click.group(help=__doc__)
def bench() -> None:
    """Collects the benches."""
    # A kill ends this process as Ctrl-C does, so that it stops what it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


bench.add_command(lookup)
bench.add_command(load)
bench.add_command(seeing)
bench.add_command(judging)
bench.add_command(seeing_cost)
bench.add_command(proxy)
bench.add_command(proxy_memory)
bench.add_command(corpus)
bench.add_command(upstream)

if __name__ == "__main__":
    bench()
