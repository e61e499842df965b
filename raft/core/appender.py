"""Batches that a leader appends because of one event: counted one after the other, written and flushed together."""

from __future__ import annotations

from dataclasses import replace

from raft.core.effects import ControlBatch
from raft.core.fetches import wake_fetches
from raft.core.roles import Leader
from raft.core.state import State
from raft.transactions import AbortedTransaction, OpenTransaction
from raft.types import Batch, BatchHeader, ControlType, ControlValue, Offset
from raft.writers import is_part


class Appender:
    """Places batches at the end of the leader's log. `finish` orders them to the disk.

    Args:
        state: of a leader.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._batches: list[Batch | ControlBatch] = []
        self._aborted: list[AbortedTransaction] = []

    def add(self, batch: Batch) -> Offset:
        """Add a client's batch with the offsets of the log end and this leader's epoch; return its base offset."""
        base_offset = self._state.log.end_offset
        placed = batch.placed(base_offset, self._state.epoch)
        self._count_in(placed.header)
        self._batches.append(placed)
        return base_offset

    def add_marker(self, transaction: OpenTransaction, end: ControlType, *, is_fencing: bool = False) -> None:
        """Add the marker that ends a transaction.

        Args:
            transaction: the transaction.
            end: COMMIT or ABORT.
            is_fencing: whether the marker has the next producer epoch, so that nothing is written with the present one
                any more. Parts need none: the producer id of a part that has ended is not used again.
        """
        role = self._state.role
        assert isinstance(role, Leader), "only a leader ends transactions"
        epoch = transaction.producer_epoch
        header = self._header(end, transaction.producer_id, epoch, is_transactional=True)
        if is_fencing and not is_part(header):
            header = replace(header, producer_epoch=min(epoch + 1, LAST_PRODUCER_EPOCH))
        self._add_control(header)
        role.timeouts.stop(transaction.producer_id)

    def add_value(self, kind: ControlType, value: ControlValue, producer_id: int, producer_epoch: int) -> None:
        """Add a control record of this project."""
        self._add_control(self._header(kind, producer_id, producer_epoch, value=value))

    def order(self) -> bool:
        """Order the batches to be written and flushed; return whether there are any."""
        if not self._batches:
            return False
        self._state.order_append(tuple(self._batches), tuple(self._aborted))
        return True

    def finish(self, now_ms: int) -> None:
        """Order the batches to be written and flushed, and respond to the fetches that wait for them."""
        if self.order():
            wake_fetches(self._state, now_ms, high_watermark_moved=False)

    def _add_control(self, header: BatchHeader) -> None:
        self._count_in(header)
        self._batches.append(ControlBatch(header=header))

    def _count_in(self, header: BatchHeader) -> None:
        aborted = self._state.count_in(header)
        if aborted is not None:
            self._aborted.append(aborted)

    def _header(
        self,
        kind: ControlType,
        producer_id: int,
        producer_epoch: int,
        *,
        value: ControlValue | None = None,
        is_transactional: bool = False,
    ) -> BatchHeader:
        offset = self._state.log.end_offset
        return BatchHeader(
            base_offset=offset,
            last_offset=offset,
            epoch=self._state.epoch,
            size_bytes=0,
            record_count=1,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=is_transactional,
            control_types=(kind,),
            control_value=value,
        )


LAST_PRODUCER_EPOCH = (1 << 15) - 1
"""The largest producer epoch, an int16. A producer that reaches it gets a new producer id."""
