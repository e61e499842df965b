"""Leaves out the records of aborted transactions, as each reader of committed records has to.

Source: KIP-98 "Consumer"; Kafka CompletedFetch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from raft.client.results import AbortedTransaction
from raft.types import BatchHeader, ControlType, Offset


class AbortedFilter:
    """Finds the batches of aborted transactions in one fetch response; it is told of each batch, in order.

    Args:
        aborted: the aborted transactions that the response names.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._waiting = deque(sorted(aborted, key=lambda each: each.first_offset))
        self._open: set[int] = set()

    def drops(self, header: BatchHeader) -> bool:
        """Whether to leave out a batch."""
        if not header.is_transactional or header.producer_id is None:
            return False
        return self.drops_transactional(header.producer_id, header.last_offset, header.control_types)

    def drops_transactional(self, producer_id: int, last_offset: Offset, control_types: tuple[int, ...]) -> bool:
        """Whether to leave out a transactional batch.

        Args:
            producer_id: of the batch.
            last_offset: of its last record.
            control_types: types of its control records; empty for a batch of data.
        """
        while self._waiting and self._waiting[0].first_offset <= last_offset:
            self._open.add(self._waiting.popleft().producer_id)
        if control_types:
            if control_types[0] == ControlType.ABORT:
                self._open.discard(producer_id)
            return False
        return producer_id in self._open
