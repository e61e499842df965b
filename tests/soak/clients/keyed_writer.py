"""A client that does keyed writes, as the Spark sink does, through the blocking client."""

from __future__ import annotations

from itertools import count
from random import Random

from raft.client import Client, ClientSettings, WriteKey
from raft.errors import QuorumUnavailableError
from raft.types import Offset
from tests.node.harness.batches import batch_of
from tests.workload.history import Append, History, now_ns
from tests.workload.worker import Worker

_VALUES = 2


class KeyedWriter(Worker):
    """Does the writes of a writer id, one version after the other, each until it is acknowledged.

    Two clients with one writer id do the same writes, as a Spark driver and the one that it replaced. Each write must
    be in the log once, whichever of them did it first.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        writer_id: of its writes; each value begins with it.
        settings: of its client.
        dice: decides how long it waits between two writes.
        longest_pause_s: the longest wait between two writes.
    """

    def __init__(
        self,
        name: str,
        history: History,
        writer_id: str,
        settings: ClientSettings,
        dice: Random,
        *,
        longest_pause_s: float,
    ) -> None:
        super().__init__(name, history)
        self._writer_id = writer_id
        self._settings = settings
        self._dice = dice
        self._longest_pause_s = longest_pause_s

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
        values = [f"{key.writer_id}-{key.version}-{number}".encode() for number in range(_VALUES)]
        batch = batch_of(*values, producer_id=key.producer_id, epoch=key.producer_epoch, sequence=key.base_sequence)
        invoked_ns = now_ns()
        try:
            appended = client.append(batch)
        except QuorumUnavailableError:
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
