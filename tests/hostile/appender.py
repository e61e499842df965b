"""The honest client: appends 256 bytes at a time through the shipped client."""

from __future__ import annotations

from raft.client import Client, ClientSettings
from tests.node.harness.batches import batch_of
from tests.soak.clients.worker import Worker
from tests.soak.history import Append, History, now_ns

VALUE_BYTES = 256


class Appender(Worker):
    """Appends one value after the other, as an idempotent producer; any error ends it and is a complaint.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        settings: of its client.
    """

    def __init__(self, name: str, history: History, settings: ClientSettings) -> None:
        super().__init__(name, history)
        self._settings = settings

    def _run(self) -> None:
        with Client(self._settings) as client:
            producer_id = client.new_producer_id()
            sequence = 0
            while not self._is_stopping.is_set():
                value = f"{self.name}-{sequence}".encode().ljust(VALUE_BYTES, b".")
                batch = batch_of(value, producer_id=producer_id, sequence=sequence)
                invoked_ns = now_ns()
                appended = client.append(batch)
                self._history.appended(
                    Append(
                        client=self.name,
                        value=value,
                        invoked_ns=invoked_ns,
                        answered_ns=now_ns(),
                        offset=appended.base_offset,
                    )
                )
                sequence += 1
