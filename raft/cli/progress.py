"""A running count on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """Show a running count on standard error if it is a terminal and the lines come from a pipe or a file.

    Args:
        what: is counted.

    Yields:
        A function that adds to the count.
    """
    if not sys.stderr.isatty() or sys.stdin.isatty():
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.completed} {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda step: progress.advance(task, step)
