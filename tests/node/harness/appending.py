"""A client that appends one batch after the other while a test does something else."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from raft.client import Client
from raft.errors import RaftError
from tests.node.harness.batches import batch_of
from tests.node.harness.waiting import eventually


class Appending:
    """Appends in a thread until the end of the `with` statement, where each append must have succeeded.

    Args:
        client: used by the thread alone; closed at the end.

    Attributes:
        count: how many appends are acknowledged.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._is_over = threading.Event()
        self._error: RaftError | None = None
        self._thread = threading.Thread(target=self._append, name="appends")
        self.count = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait_for_more()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.wait_for_more()
        finally:
            self._is_over.set()
            self._thread.join()

    def wait_for_more(self) -> None:
        """Wait until two more appends are acknowledged: the second one began after this call."""
        wanted = self.count + 2
        eventually(lambda: self.count >= wanted or self._error is not None, "the client appends")
        assert self._error is None, f"each append succeeds, not: {self._error}"

    def _append(self) -> None:
        with self._client as client:
            while not self._is_over.is_set():
                try:
                    client.append(batch_of(b"meanwhile"))
                except RaftError as error:
                    self._error = error
                    return
                self.count += 1
