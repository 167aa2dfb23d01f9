"""Which engine somebody means, opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from miqps.browser import BrowserError
from miqps.engines import Engine
from miqps.engines.local import LocalEngine, Renderer

ENGINES = ("local", "dask")


@contextmanager
def engine(
    name: str, browsers: int, start: Callable[[], Renderer], scheduler: str | None = None
) -> Iterator[Engine]:
    """A running engine, which ends with the block.

    Args:
        name: one of `ENGINES`.
        browsers: how many; of a Dask cluster that is there already, its workers decide.
        start: makes a browser where it is to run.
        scheduler: the address of Dask's; None starts a cluster on this machine.

    Raises:
        BrowserError: Dask is not installed, or its scheduler does not answer.
    """
    if name == "local":
        with LocalEngine(browsers, start) as local:
            yield local
        return
    try:
        from miqps.engines.dask import DaskEngine, cluster
    except ImportError as error:
        raise BrowserError(f"{error}: --engine dask needs pip install 'miqps[dask]'") from error
    with cluster(scheduler, browsers) as client, DaskEngine(client, start) as distributed:
        yield distributed
