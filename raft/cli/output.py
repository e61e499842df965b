"""Output into a pipe whose reader may close it early, as `| head` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def until_reader_leaves() -> Iterator[None]:
    """End the block without an error when the reader of standard output is gone; buffered output is dropped."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
