"""A progress bar for a run, on a terminal; silence anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from miqps.probe import Progress as RunProgress


@contextmanager
def showing(console: Console | None = None) -> Iterator[Callable[[RunProgress], None]]:
    """Give the function that shows how far a run is, on standard error or another console."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda progress: None
        return
    with Progress(
        SpinnerColumn(),
        BarColumn(20),
        TextColumn("{task.completed:.0f}/{task.total:.0f} contexts"),
        TextColumn("{task.fields[renders]} renders, {task.fields[saved]} saved"),
        TextColumn("{task.fields[verdicts]} verdicts"),
        TextColumn("[dim]{task.fields[site]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("probing", total=1, renders=0, saved=0, verdicts=0, site="")

        def show(progress: RunProgress) -> None:
            bar.update(
                task,
                total=max(progress.contexts, 1),
                completed=progress.judged,
                renders=progress.renders,
                saved=progress.shared,
                verdicts=progress.verdicts.total(),
                site=progress.site[:24],
            )

        yield show
