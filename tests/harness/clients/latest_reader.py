"""A client that appends a value, and then asks for the end of the log in a new session, which must include it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from raft.client import Client, ClientSettings
from tests.harness.clients.readers import look_of
from tests.harness.clients.unavailable import UNAVAILABLE
from tests.node.harness.batches import batch_of
from tests.workload.history import Append, History, now_ns
from tests.workload.worker import Worker


class LatestReader(Worker):
    """Appends and looks by turns. The new session knows no leader, so it may ask one that was replaced.

    Args:
        name: see `Worker`; the names of its sessions begin with it.
        history: see `Worker`.
        settings: of its clients; each tries the bootstrap servers in another order.
        dice: decides this order, and how long it waits.
        longest_pause_s: the longest wait between two turns.
    """

    def __init__(
        self, name: str, history: History, settings: ClientSettings, dice: Random, *, longest_pause_s: float
    ) -> None:
        super().__init__(name, history)
        self._settings = settings
        self._dice = dice
        self._longest_pause_s = longest_pause_s
        self._turn_count = 0

    def _run(self) -> None:
        with Client(self._settings) as writer:
            while not self._is_stopping.wait(self._dice.uniform(0, self._longest_pause_s)):
                self._turn_count += 1
                try:
                    self._append(writer)
                    self._look()
                except UNAVAILABLE:
                    continue

    def _append(self, writer: Client) -> None:
        value = f"{self.name}-{self._turn_count}".encode()
        invoked_ns, acknowledged_ns, offset = now_ns(), None, None
        try:
            offset = writer.append(batch_of(value, producer_id=writer.new_producer_id())).base_offset
            acknowledged_ns = now_ns()
        finally:
            self._history.appended(
                Append(
                    client=self.name, value=value, invoked_ns=invoked_ns, acknowledged_ns=acknowledged_ns, offset=offset
                )
            )

    def _look(self) -> None:
        servers = self._settings.bootstrap_servers
        shuffled = tuple(self._dice.sample(servers, len(servers)))
        with Client(replace(self._settings, bootstrap_servers=shuffled)) as reader:
            invoked_ns = now_ns()
            end_offset = reader.last_stable_offset()
            self._history.read(look_of(end_offset, session=f"{self.name}-{self._turn_count}", invoked_ns=invoked_ns))
