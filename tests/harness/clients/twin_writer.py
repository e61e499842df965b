"""What the clients that do keyed writes have in common."""

from __future__ import annotations

from random import Random

from raft.client import ClientSettings
from tests.workload.history import History
from tests.workload.worker import Worker


class TwinWriter(Worker):
    """Does the writes of a writer id, one version after the other, each until it is acknowledged.

    Two clients with one writer id do the same writes, as a Spark driver and the one that it replaced.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        writer_id: of its writes; each value begins with it.
        settings: of its clients.
        dice: decides what is random, and how long it waits between two writes.
        longest_pause_s: the longest wait between two writes.
        most_values: of one request.
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
        most_values: int,
    ) -> None:
        super().__init__(name, history)
        self._writer_id = writer_id
        self._settings = settings
        self._dice = dice
        self._longest_pause_s = longest_pause_s
        self._most_values = most_values
