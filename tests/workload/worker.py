"""A client of a run: a thread that sends requests to the quorum until it is told to stop."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from tests.workload.history import History


class Worker(ABC):
    """One client.

    Args:
        name: all of its values begin with it, and those of no other client.
        history: gets its appends and reads, and the error that ends it, if any.
    """

    def __init__(self, name: str, history: History) -> None:
        self.name = name
        self._history = history
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run_to_end, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Let it send no new request."""
        self._is_stopping.set()

    def join(self, timeout_s: float) -> None:
        """Wait until its thread has ended.

        Raises:
            AssertionError: it still runs after this time.
        """
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), f"{self.name} still runs after {timeout_s:g} s"

    @abstractmethod
    def _run(self) -> None:
        """Send requests until it is time to stop."""

    def _run_to_end(self) -> None:
        try:
            self._run()
        except Exception as error:
            self._history.complain(self.name, error)


@contextmanager
def running(workers: Collection[Worker], *, longest_end_s: float) -> Iterator[None]:
    """Run clients during the block, and wait for their ends, so that their requests in flight are noted.

    Args:
        workers: the clients; some may be stopped in the block.
        longest_end_s: how long the end of the block waits for all of them; not at all after an interrupt.
    """
    for worker in workers:
        worker.start()
    try:
        yield
    except KeyboardInterrupt:
        longest_end_s = 0.0
        raise
    finally:
        for worker in workers:
            worker.ask_to_stop()
        deadline_s = time.monotonic() + longest_end_s
        for worker in workers:
            with suppress(AssertionError):
                worker.join(max(0.0, deadline_s - time.monotonic()))


def stop(workers: Collection[Worker], *, within_s: float) -> None:
    """Stop clients, and wait until they have ended.

    Args:
        workers: the clients.
        within_s: how long to wait for each of them.

    Raises:
        AssertionError: one does not end.
    """
    for worker in workers:
        worker.ask_to_stop()
    for worker in workers:
        worker.join(within_s)
