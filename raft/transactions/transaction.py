"""What is remembered of a transaction, and of the producer that has a transactional id."""

from __future__ import annotations

from dataclasses import dataclass, replace

from raft.types import BatchHeader, ControlType, Offset, TransactionalId, WritePart, add_checksums
from raft.writers import History, Written, is_part
from raft.writers.expiry import NO_LOG_TIME_MS
from raft.writers.table import KEPT_BATCHES


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction without its end marker.

    Fields:
        producer_id, producer_epoch: of its batches. A producer has one transaction at a time.
        first_offset: of its first record.
        last_offset: of its last record so far.
        first_timestamp_ms, last_timestamp_ms: the largest timestamps of its first and of its last batch; -1 for none.
        record_count: number of its records.
        content_checksum: sum of the content checksums of its batches; 0 for a producer of Kafka.
        history: its last batches, by which a repeated append is recognized; empty for a producer of Kafka, which the
            table of writers remembers.
    """

    producer_id: int
    producer_epoch: int
    first_offset: Offset
    last_offset: Offset
    first_timestamp_ms: int = -1
    last_timestamp_ms: int = -1
    record_count: int
    content_checksum: int
    history: History = ()

    @classmethod
    def begun_by(cls, header: BatchHeader) -> OpenTransaction:
        """Return the transaction that begins with a batch."""
        assert header.producer_id is not None, "a transaction has a producer"
        return cls(
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            first_offset=header.base_offset,
            last_offset=header.last_offset,
            first_timestamp_ms=header.max_timestamp_ms,
            last_timestamp_ms=header.max_timestamp_ms,
            record_count=header.record_count,
            content_checksum=header.content_checksum or 0,
            history=_with(header, ()),
        )

    def continued_by(self, header: BatchHeader) -> OpenTransaction:
        """Return the transaction with one more batch."""
        return replace(
            self,
            producer_epoch=header.producer_epoch,
            last_offset=header.last_offset,
            last_timestamp_ms=header.max_timestamp_ms,
            record_count=self.record_count + header.record_count,
            content_checksum=add_checksums((self.content_checksum, header.content_checksum or 0)),
            history=_with(header, self.history),
        )

    def is_whole(self, part: WritePart) -> bool:
        """Whether it has exactly the records of a part: none is missing, and none came twice."""
        return (self.record_count, self.content_checksum) == (part.record_count, part.content_checksum)


def _with(header: BatchHeader, history: History) -> History:
    if not is_part(header):
        return ()
    return (*history, Written.of(header, log_time_ms=NO_LOG_TIME_MS))[-KEPT_BATCHES:]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortedTransaction:
    """An aborted transaction, as a reader needs it to leave out its records.

    Fields:
        producer_id: of its batches.
        first_offset: of its first record.
        last_offset: of its ABORT marker.
        last_stable_offset: where the first transaction began that was open behind the marker; the end of the marker if
            there was none.

    Source: Kafka AbortedTxn.
    """

    producer_id: int
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalProducer:
    """The producer that has a transactional id.

    Fields:
        name: the transactional id.
        producer_id, producer_epoch: what it writes with. Batches of lower epochs are refused.
        timeout_ms: longest duration of its transactions.
        previous: producer id and epoch that the same producer had before the present ones; None if it has just begun.
        last_end: how the transaction ended that it wrote with those; None if it ended none.
        used_at: offset of the last record that changed this.
    """

    name: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    previous: tuple[int, int] | None = None
    last_end: ControlType | None = None
    used_at: Offset

    @classmethod
    def of(cls, header: BatchHeader, value: TransactionalId) -> TransactionalProducer:
        """Return the producer that a TRANSACTIONAL_ID record names."""
        assert header.producer_id is not None, "a TRANSACTIONAL_ID record has the producer id in its header"
        return cls(
            name=value.name,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            timeout_ms=value.timeout_ms,
            previous=value.previous,
            last_end=value.last_end,
            used_at=header.base_offset,
        )

    @property
    def identity(self) -> tuple[int, int]:
        """Producer id and epoch."""
        return self.producer_id, self.producer_epoch

    def ended_by(self, header: BatchHeader, end: ControlType) -> TransactionalProducer:
        """Return the producer after an end marker. With a marker of a higher epoch it goes on in that epoch."""
        if header.producer_epoch <= self.producer_epoch:
            return replace(self, used_at=header.base_offset)
        return replace(
            self,
            producer_epoch=header.producer_epoch,
            previous=self.identity,
            last_end=end,
            used_at=header.base_offset,
        )
