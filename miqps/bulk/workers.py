"""Who does the work of a bulk job: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

from miqps.browser import BrowserError
from miqps.bulk.job import BulkError


@contextmanager
def workers(number: int, scheduler: str | None = None) -> Iterator[Executor]:
    """Workers, which are gone, or given back, when the block ends.

    Args:
        number: how many processes of this machine.
        scheduler: the address of Dask's, instead.

    Raises:
        BulkError: Dask is not installed, or does not answer.
    """
    if scheduler is not None:
        with _of_cluster(scheduler) as executor:
            yield executor
        return
    # Processes that are forked would share this one's open store.
    spawning = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(number, mp_context=spawning, initializer=_leave_ctrl_c_to_the_owner)
    try:
        yield pool
    except BaseException:
        # What they have begun is begun anew next time.
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


@contextmanager
def _of_cluster(scheduler: str) -> Iterator[Executor]:
    try:
        from miqps.engines.dask import cluster
    except ImportError as error:
        raise BulkError(f"{error}: --scheduler needs pip install 'miqps[dask]'") from error
    try:
        with cluster(scheduler, 0) as client:
            yield client.get_executor(pure=False)
    except BrowserError as error:
        raise BulkError(str(error)) from error


def _leave_ctrl_c_to_the_owner() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
