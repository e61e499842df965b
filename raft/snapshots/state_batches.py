"""The batches of a snapshot that are not records: header, epochs, writers, transactional ids and footer.

The base sequence of the header's batch is the number of batches of state that follow it; -1 in a snapshot of Kafka.

The fields of a batch header hold the state. Epochs and written batches are control batches of types that Kafka's nodes
skip, because they exit at a batch without records. Open transactions and ended writes are empty batches: those are
refused in a quorum with Kafka's nodes (`raft.records.strict`).

    an epoch          LEADER_CHANGE without a leader; base offset: its first offset; leader epoch: its number
    a written batch   SNAPSHOT_HEADER; base offset, producer id, producer epoch, base sequence: its own; last offset
                      delta: the number of its records minus one, for the commit of a multipart write that of all its
                      parts; timestamps: log time when it was appended
    an open           base offset: its first offset; last offset delta: up to its last one so far; producer id and
    transaction       epoch; the transactional bit. It was ended behind the snapshot.
    ended writes      base offset: the first offset of multipart writes that overlap each other and an open transaction;
                      last offset delta: up to the last marker; the transactional bit, and no producer id

A commit of a multipart write whose markers lie after the snapshot is a WRITE_COMMIT control batch with these parts.

The content checksum of a write is not kept. A write that is repeated after a node has loaded the snapshot is
recognised by its key and its number of records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from raft.codec import encode
from raft.errors import DecodeError
from raft.records.batch import build_batch, build_empty_batch, build_sparse_batch
from raft.records.control import leader_change_batch, leaders_control_batch
from raft.records.control_key import write_control_key
from raft.records.control_messages import SnapshotFooterRecord, SnapshotHeaderRecord
from raft.records.record import Record
from raft.transactions import (
    CommitImage,
    EndedWrite,
    OpenTransaction,
    ProducerStateImage,
    SnapshotSummary,
    TransactionalProducer,
    TransactionTable,
)
from raft.types import (
    BatchHeader,
    ControlType,
    Epoch,
    EpochStart,
    NodeId,
    Offset,
    OffsetAndEpoch,
    TransactionalId,
    WriteCommit,
    WritePart,
)
from raft.writers import History, TableImage, Written
from raft.writers.expiry import NO_LOG_TIME_MS

_VERSION = 0
NO_STATE = -1
"""The base sequence of the header of a snapshot of Kafka."""

_NO_LEADER = NodeId(-1)
_FIRST_LOG_TIME_MS = 0
"""The first log time after a snapshot: before every timestamp, because each written batch has its own in the file."""


def state_batches(state: SnapshotSummary) -> list[bytes]:
    """Return the batches before the records, the header first."""
    writers, transactions, epoch = state.producers.writers, state.producers.transactions, state.end.epoch
    batches = [_epoch_batch(start) for start in state.epochs]
    for producer_id, history in writers.histories.items():
        batches += [_written_batch(producer_id, written, writers.first_log_time_ms, epoch) for written in history]
    batches += [_open_transaction_batch(transaction, epoch) for transaction in transactions.transactions]
    batches += [_commit_batch(commit, epoch) for commit in transactions.commits]
    batches += [_ended_write_batch(write, epoch) for write in transactions.ended_writes]
    batches += [_transactional_id_batch(producer, epoch) for producer in transactions.producers]
    header = build_batch(
        [_header_record(writers.log_time_ms)], epoch=epoch, base_sequence=len(batches), is_control=True
    )
    return [header, *batches]


def footer_batch(epoch: Epoch) -> bytes:
    """Return the last batch of a snapshot of this epoch."""
    value = encode(SnapshotFooterRecord(version=_VERSION), _VERSION)
    record = Record(key=write_control_key(ControlType.SNAPSHOT_FOOTER), value=value, timestamp_ms=NO_LOG_TIME_MS)
    return build_batch([record], epoch=epoch, is_control=True)


def read_state(
    end: OffsetAndEpoch, log_time_ms: int, headers: Iterable[BatchHeader], *, shows_records: bool
) -> SnapshotSummary:
    """Return the state that the batches between the header and the records say.

    Args:
        end: end offset and epoch of the snapshot, from its name.
        log_time_ms: from its header; `NO_LOG_TIME_MS` for none.
        headers: the headers of these batches, in the order of the file.
        shows_records: see `SnapshotSummary`.

    Raises:
        DecodeError: a batch does not belong into this part.
    """
    epochs: list[EpochStart] = []
    histories: dict[int, History] = {}
    transactions = TransactionTable()
    ended_writes: list[EndedWrite] = []
    for header in headers:
        if header.is_transactional and header.producer_id is None:
            ended_writes.append(_ended_write(header, end, ended_writes))
        elif header.is_transactional or header.control_value is not None:
            transactions.appended(header)
        elif header.producer_id is not None:
            written = _written(header, end.offset)
            histories[header.producer_id] = (*histories.get(header.producer_id, ()), written)
        else:
            epochs.append(EpochStart(epoch=header.epoch, start_offset=header.base_offset))
    _check_epochs(epochs, end)
    return SnapshotSummary(
        end=end,
        epochs=tuple(epochs),
        producers=ProducerStateImage(
            writers=TableImage(
                end_offset=end.offset,
                log_time_ms=log_time_ms,
                first_log_time_ms=NO_LOG_TIME_MS if log_time_ms == NO_LOG_TIME_MS else _FIRST_LOG_TIME_MS,
                histories=histories,
            ),
            transactions=replace(transactions.image(), ended_writes=tuple(ended_writes)),
        ),
        shows_records=shows_records,
    )


def _header_record(log_time_ms: int, offset: Offset = Offset(0)) -> Record:
    value = encode(SnapshotHeaderRecord(version=_VERSION, last_contained_log_timestamp=log_time_ms), _VERSION)
    key = write_control_key(ControlType.SNAPSHOT_HEADER)
    return Record(key=key, value=value, timestamp_ms=log_time_ms, offset=offset)


def _epoch_batch(start: EpochStart) -> bytes:
    return leader_change_batch(
        base_offset=start.start_offset,
        epoch=start.epoch,
        leader_id=_NO_LEADER,
        voters=(),
        granting_voters=(),
        timestamp_ms=NO_LOG_TIME_MS,
    )


def _written_batch(producer_id: int, written: Written, first_log_time_ms: int, epoch: Epoch) -> bytes:
    # The age of a write before the first timestamp is unknown; it counts as written at that time.
    log_time_ms = max(written.log_time_ms, first_log_time_ms)
    return build_sparse_batch(
        [_header_record(log_time_ms, written.base_offset)],
        base_offset=written.base_offset,
        last_offset=Offset(written.base_offset + written.record_count - 1),
        epoch=epoch,
        producer_id=producer_id,
        producer_epoch=written.epoch,
        base_sequence=written.sequence,
        is_control=True,
    )


def _written(header: BatchHeader, end_offset: Offset) -> Written:
    return Written(
        epoch=header.producer_epoch,
        sequence=header.base_sequence,
        record_count=header.last_offset - header.base_offset + 1,
        base_offset=header.base_offset,
        # The commit of a multipart write has one record, but the record count of all its parts.
        end_offset=min(header.end_offset, end_offset),
        log_time_ms=header.max_timestamp_ms,
        content_checksum=None,
    )


def _open_transaction_batch(transaction: OpenTransaction, epoch: Epoch) -> bytes:
    return build_empty_batch(
        base_offset=transaction.first_offset,
        last_offset_delta=transaction.last_offset - transaction.first_offset,
        epoch=epoch,
        timestamp_ms=transaction.first_timestamp_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )


def _commit_batch(commit: CommitImage, epoch: Epoch) -> bytes:
    parts = tuple(WritePart(producer_id=part, record_count=1, content_checksum=0) for part in commit.missing)
    header = BatchHeader(
        base_offset=commit.offset,
        last_offset=commit.offset,
        epoch=epoch,
        size_bytes=0,
        record_count=1,
        control_types=(ControlType.WRITE_COMMIT,),
        control_value=WriteCommit(parts=parts),
    )
    return leaders_control_batch(header, timestamp_ms=NO_LOG_TIME_MS)


def _ended_write_batch(write: EndedWrite, epoch: Epoch) -> bytes:
    return build_empty_batch(
        base_offset=write.first_offset,
        last_offset_delta=write.end_offset - 1 - write.first_offset,
        epoch=epoch,
        is_transactional=True,
    )


def _ended_write(header: BatchHeader, end: OffsetAndEpoch, before: Sequence[EndedWrite]) -> EndedWrite:
    first = before[-1].end_offset if before else 0
    if not first <= header.base_offset < header.end_offset <= end.offset:
        raise DecodeError(
            f"an ended write from offset {header.base_offset} to {header.end_offset}, behind one that ends at {first}, "
            f"in a snapshot that ends at {end}"
        )
    return EndedWrite(first_offset=header.base_offset, end_offset=header.end_offset)


def _transactional_id_batch(producer: TransactionalProducer, epoch: Epoch) -> bytes:
    value = TransactionalId(
        name=producer.name, timeout_ms=producer.timeout_ms, previous=producer.previous, last_end=producer.last_end
    )
    header = BatchHeader(
        base_offset=producer.used_at,
        last_offset=producer.used_at,
        epoch=epoch,
        size_bytes=0,
        record_count=1,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        control_types=(ControlType.TRANSACTIONAL_ID,),
        control_value=value,
    )
    return leaders_control_batch(header, timestamp_ms=NO_LOG_TIME_MS)


def _check_epochs(epochs: list[EpochStart], end: OffsetAndEpoch) -> None:
    before = EpochStart(epoch=Epoch(-1), start_offset=Offset(-1))
    for start in epochs:
        if start.epoch <= before.epoch or start.start_offset <= before.start_offset or start.epoch > end.epoch:
            raise DecodeError(f"epoch {start.epoch} at offset {start.start_offset} in a snapshot that ends at {end}")
        before = start
