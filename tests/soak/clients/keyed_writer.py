"""A writer of keyed writes, as the sink is, through our blocking client."""

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
    """Does the writes of a writer id, version after version, each until it is answered.

    Two of the same writer id do the same writes, as a driver and the one that was thought dead; each write is to be in
    the log once, whoever of them was first.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        writer_id: whose writes it does; begins the values.
        settings: of its client.
        dice: says how long it rests.
        longest_pause_s: most that it rests between two writes.
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
        """Do a write, perhaps again; return whether it was answered."""
        values = [f"{key.writer_id}-{key.version}-{number}".encode() for number in range(_VALUES)]
        batch = batch_of(*values, producer_id=key.producer_id, epoch=key.producer_epoch, sequence=key.base_sequence)
        invoked_ns = now_ns()
        try:
            appended = client.append(batch)
        except QuorumUnavailableError:
            for value in values:
                self._history.appended(Append(client=self.name, value=value, invoked_ns=invoked_ns))
            return False
        answered_ns = now_ns()
        for at, value in enumerate(values):
            # A newer write is there already, so this one is, too; the answer says where the newer one is.
            offset = None if appended.is_superseded else Offset(appended.base_offset + at)
            self._history.appended(
                Append(client=self.name, value=value, invoked_ns=invoked_ns, answered_ns=answered_ns, offset=offset)
            )
        return True
