"""A client that does keyed writes, as the Spark sink does, through the blocking client."""

from __future__ import annotations

from itertools import count

from raft.client import Client, WriteKey
from raft.types import Offset
from tests.harness.clients.twin_writer import TwinWriter
from tests.harness.clients.unavailable import UNAVAILABLE
from tests.node.harness.batches import batch_of
from tests.workload.history import Append, now_ns


class KeyedWriter(TwinWriter):
    """A twin writer of single batches: each write must be in the log once, whichever of the twins did it first.

    Each write has as many values as it may have.
    """

    def _run(self) -> None:
        with Client(self._settings) as client:
            for version in count():
                is_done = False
                while not is_done:
                    if self._is_stopping.is_set():
                        return
                    is_done = self._try(client, WriteKey(self._writer_id, version))
                self._is_stopping.wait(self._dice.uniform(0, self._longest_pause_s))

    def _try(self, client: Client, key: WriteKey) -> bool:
        """Do a write, for the first time or again; return whether it was acknowledged."""
        values = [f"{key.writer_id}-{key.version}-{number}".encode() for number in range(self._most_values)]
        batch = batch_of(*values, producer_id=key.producer_id, epoch=key.producer_epoch, sequence=key.base_sequence)
        invoked_ns = now_ns()
        try:
            appended = client.append(batch)
        except UNAVAILABLE:
            for value in values:
                self._history.appended(Append(client=self.name, value=value, invoked_ns=invoked_ns))
            return False
        acknowledged_ns = now_ns()
        for at, value in enumerate(values):
            # A newer write is in the log, so this one is too; the response has the offset of the newer one.
            offset = None if appended.is_superseded else Offset(appended.base_offset + at)
            self._history.appended(
                Append(
                    client=self.name, value=value, invoked_ns=invoked_ns, acknowledged_ns=acknowledged_ns, offset=offset
                )
            )
        return True
