"""An idempotent producer through our asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random

from raft.client import AsyncClient, ClientSettings, calls
from raft.errors import RaftError
from raft.types import Offset
from tests.harness.clients.unavailable import UNAVAILABLE
from tests.node.harness.batches import batch_of
from tests.workload.history import Append, History, now_ns
from tests.workload.worker import Worker

_MOST_VALUES = 3


class Appender(Worker):
    """Appends batches of a few values. If no response comes in time, a batch may be in the log or not.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        settings: of its client; with short timeouts, appends fail during faults.
        dice: decides how many values a batch has, and how long it waits between two.
        longest_pause_s: the longest wait between two appends.
    """

    def __init__(
        self, name: str, history: History, settings: ClientSettings, dice: Random, *, longest_pause_s: float
    ) -> None:
        super().__init__(name, history)
        self._settings = settings
        self._dice = dice
        self._longest_pause_s = longest_pause_s
        self._value_count = 0

    def _run(self) -> None:
        asyncio.run(self._append_until_stopped())

    async def _append_until_stopped(self) -> None:
        async with AsyncClient(self._settings) as client:
            while not self._is_stopping.is_set():
                try:
                    await self._append_as(client, await client.call(calls.new_producer_id))
                except UNAVAILABLE:
                    # Whether the sequence numbers of the appends in flight are used is unknown: a new id starts at 0.
                    continue

    async def _append_as(self, client: AsyncClient, producer_id: int) -> None:
        """Append under one producer id until an append fails, or it is time to stop."""
        sequence = 0
        while not self._is_stopping.is_set():
            values = self._new_values()
            invoked_ns = now_ns()
            try:
                appended = await client.call(
                    calls.append, batch_of(*values, producer_id=producer_id, sequence=sequence)
                )
            except RaftError:
                self._note(values, invoked_ns)
                raise
            self._note(values, invoked_ns, acknowledged_ns=now_ns(), base_offset=appended.base_offset)
            sequence += len(values)
            await asyncio.sleep(self._dice.uniform(0, self._longest_pause_s))

    def _new_values(self) -> list[bytes]:
        first = self._value_count
        self._value_count += self._dice.randint(1, _MOST_VALUES)
        return [f"{self.name}-{number}".encode() for number in range(first, self._value_count)]

    def _note(
        self,
        values: Sequence[bytes],
        invoked_ns: int,
        *,
        acknowledged_ns: int | None = None,
        base_offset: int | None = None,
    ) -> None:
        for at, value in enumerate(values):
            self._history.appended(
                Append(
                    client=self.name,
                    value=value,
                    invoked_ns=invoked_ns,
                    acknowledged_ns=acknowledged_ns,
                    offset=None if base_offset is None else Offset(base_offset + at),
                )
            )
