"""Output into a pipe whose reader may leave early, as `| head` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def until_reader_leaves() -> Iterator[None]:
    """End the block quietly when nobody reads standard output any more; what is still buffered goes nowhere."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
