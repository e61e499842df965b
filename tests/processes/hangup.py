"""The disposition of SIGHUP, which child processes inherit."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hangup(disposition: signal.Handlers) -> Iterator[None]:
    """Set the disposition that processes inherit when they are started in the block.

    Otherwise they would inherit that of the shell that runs the tests: under nohup, SIGHUP is ignored.
    """
    before = signal.signal(signal.SIGHUP, disposition)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
