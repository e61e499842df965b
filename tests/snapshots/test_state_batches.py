"""What a snapshot says of epochs, writers and transactions is what the log has said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import DecodeError
from raft.records.batch import build_batch, build_empty_batch, build_sparse_batch
from raft.records.record import Record
from raft.snapshots import SnapshotScan, footer_batch, state_batches
from raft.transactions import (
    CommitImage,
    EndedWrite,
    OpenTransaction,
    ProducerState,
    ProducerStateImage,
    SnapshotSummary,
    TransactionalProducer,
    TransactionsImage,
)
from raft.types import FIRST_KEYED_PRODUCER_ID, ControlType, Epoch, EpochStart, Offset, OffsetAndEpoch
from raft.writers import TableImage, Written

END = OffsetAndEpoch(offset=Offset(100), epoch=Epoch(3))
EPOCHS = (EpochStart(epoch=Epoch(1), start_offset=Offset(0)), EpochStart(epoch=Epoch(3), start_offset=Offset(40)))
KEYED = FIRST_KEYED_PRODUCER_ID + 5


def written(base_offset: int, *, sequence: int = 0, records: int = 1, log_time_ms: int = 50) -> Written:
    return Written(
        epoch=2,
        sequence=sequence,
        record_count=records,
        base_offset=Offset(base_offset),
        end_offset=Offset(base_offset + records),
        log_time_ms=log_time_ms,
        content_checksum=None,
    )


def producers(
    *,
    histories: dict[int, tuple[Written, ...]] | None = None,
    log_time_ms: int = 70,
    transactions: TransactionsImage | None = None,
) -> ProducerStateImage:
    first_ms = -1 if log_time_ms == -1 else 0
    table = TableImage(
        end_offset=END.offset, log_time_ms=log_time_ms, first_log_time_ms=first_ms, histories=histories or {}
    )
    return ProducerStateImage(writers=table, transactions=transactions or TransactionsImage())


def content(state: SnapshotSummary, *records: bytes) -> bytes:
    return b"".join([*state_batches(state), *records, footer_batch(state.end.epoch)])


def scanned(data: bytes, *, piece_bytes: int = 1 << 20) -> SnapshotScan:
    scan = SnapshotScan(END)
    for position in range(0, len(data), piece_bytes):
        scan.feed(data[position : position + piece_bytes])
    return scan


TRANSACTIONS = TransactionsImage(
    transactions=(
        OpenTransaction(
            producer_id=5,
            producer_epoch=1,
            first_offset=Offset(60),
            last_offset=Offset(64),
            first_timestamp_ms=33,
            last_timestamp_ms=33,
            record_count=0,
            content_checksum=0,
        ),
    ),
    producers=(
        TransactionalProducer(
            name="orders",
            producer_id=5,
            producer_epoch=1,
            timeout_ms=900,
            previous=(5, 0),
            last_end=ControlType.ABORT,
            used_at=Offset(50),
        ),
    ),
)


@pytest.mark.rule("SNAPSHOT-2")
@pytest.mark.parametrize(
    "state",
    [
        pytest.param(producers(), id="no writers"),
        pytest.param(producers(log_time_ms=-1), id="no timestamps"),
        pytest.param(
            producers(histories={7: (written(3, records=2), written(9, sequence=2))}), id="several batches of a writer"
        ),
        pytest.param(
            producers(histories={KEYED: (written(9, sequence=4),), 7: (written(3),)}), id="two kinds of writers"
        ),
        pytest.param(producers(transactions=TRANSACTIONS), id="transactions"),
    ],
)
@pytest.mark.parametrize("piece_bytes", [1, 61, 1 << 20])
def test_state_is_what_it_was_when_it_is_read_again(state: ProducerStateImage, piece_bytes: int) -> None:
    summary = SnapshotSummary(end=END, epochs=EPOCHS, producers=state, shows_records=True)

    found = scanned(content(summary), piece_bytes=piece_bytes).finish()

    assert found.summary == summary


def test_pending_commit_names_the_parts_whose_markers_are_missing() -> None:
    part = 1 << 61
    opened = OpenTransaction(
        producer_id=part,
        producer_epoch=0,
        first_offset=Offset(60),
        last_offset=Offset(61),
        record_count=0,
        content_checksum=0,
    )
    commit = CommitImage(offset=Offset(70), first_offset=Offset(60), missing=(part,))
    state = producers(transactions=TransactionsImage(transactions=(opened,), commits=(commit,)))

    found = scanned(content(SnapshotSummary(end=END, epochs=EPOCHS, producers=state))).finish().summary

    loaded = ProducerState()
    loaded.restore(found.producers)
    assert found.producers.transactions.commits == (commit,)
    assert loaded.transactions.last_stable_offset(END.offset) == 60


@pytest.mark.rule("SNAPSHOT-2", "TXN-2")
def test_ended_write_is_hidden_by_a_node_that_has_loaded_the_snapshot() -> None:
    (opened,) = TRANSACTIONS.transactions
    ended = EndedWrite(first_offset=Offset(50), end_offset=Offset(70))
    before = EndedWrite(first_offset=Offset(30), end_offset=Offset(50))
    state = producers(transactions=TransactionsImage(transactions=(opened,), ended_writes=(before, ended)))

    found = scanned(content(SnapshotSummary(end=END, epochs=EPOCHS, producers=state))).finish().summary

    loaded = ProducerState()
    loaded.restore(found.producers)
    assert found.producers.transactions.ended_writes == (before, ended)
    assert loaded.transactions.kafkas_stable_offset(END.offset) == 60
    assert loaded.transactions.last_stable_offset(END.offset) == 50


@pytest.mark.rule("SNAPSHOT-4")
@pytest.mark.parametrize(
    "ranges",
    [
        pytest.param(((50, 101),), id="behind the end"),
        pytest.param(((50, 70), (60, 80)), id="two that overlap"),
        pytest.param(((50, 70), (20, 30)), id="out of order"),
    ],
)
def test_snapshot_with_impossible_ended_writes_is_refused(ranges: tuple[tuple[int, int], ...]) -> None:
    writes = tuple(EndedWrite(first_offset=Offset(first), end_offset=Offset(end)) for first, end in ranges)
    state = producers(transactions=TransactionsImage(ended_writes=writes))
    scan = scanned(content(SnapshotSummary(end=END, epochs=EPOCHS, producers=state)))

    with pytest.raises(DecodeError, match="an ended write from offset"):
        scan.finish()


@pytest.mark.rule("SNAPSHOT-2", "CLIENT-8")
def test_commit_of_a_multipart_write_keeps_its_record_count_and_ends_within_the_snapshot() -> None:
    commit = Written(
        epoch=0,
        sequence=4,
        record_count=1_000_000,
        base_offset=Offset(90),
        end_offset=Offset(91),
        log_time_ms=50,
        content_checksum=77,
    )
    state = producers(histories={KEYED: (commit,)})

    found = scanned(content(SnapshotSummary(end=END, epochs=EPOCHS, producers=state))).finish().summary

    ((loaded,),) = found.producers.writers.histories.values()
    assert (loaded.record_count, loaded.base_offset, loaded.content_checksum) == (1_000_000, 90, None)
    assert loaded.end_offset <= END.offset


def test_write_before_the_first_timestamp_counts_as_written_at_that_time() -> None:
    table = TableImage(
        end_offset=END.offset, log_time_ms=500, first_log_time_ms=40, histories={7: (written(3, log_time_ms=-1),)}
    )
    state = ProducerStateImage(writers=table)

    found = scanned(content(SnapshotSummary(end=END, epochs=EPOCHS, producers=state))).finish().summary

    ((loaded,),) = found.producers.writers.histories.values()
    assert loaded.log_time_ms == 40


RECORD = Record(key=b"k", value=b"v", timestamp_ms=9, offset=Offset(21))
BATCH = build_sparse_batch([RECORD], base_offset=Offset(21), last_offset=Offset(24), epoch=Epoch(1))
WHOLE = content(SnapshotSummary(end=END, epochs=EPOCHS, producers=producers()), BATCH)


def test_records_are_found_behind_the_state() -> None:
    found = scanned(WHOLE).finish()

    assert found.summary.shows_records
    assert WHOLE[found.index.start_position : found.index.end_position] == BATCH
    assert found.size_bytes == len(WHOLE)


@pytest.mark.rule("SNAPSHOT-4")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(WHOLE[:-1], "without a footer", id="torn"),
        pytest.param(WHOLE[: -len(footer_batch(END.epoch))], "without a footer", id="no footer"),
        pytest.param(b"", "without a footer", id="empty"),
        pytest.param(WHOLE + BATCH, "follows the footer", id="more behind the footer"),
        pytest.param(BATCH, "without a header", id="no header"),
        pytest.param(WHOLE[:40] + bytes([WHOLE[40] ^ 1]) + WHOLE[41:], "checksum", id="a flipped bit"),
        pytest.param(
            content(SnapshotSummary(end=END, epochs=EPOCHS, producers=producers()), BATCH, BATCH),
            "among the records",
            id="records out of order",
        ),
        pytest.param(
            content(
                SnapshotSummary(end=END, epochs=EPOCHS, producers=producers()),
                build_empty_batch(base_offset=Offset(100), last_offset_delta=0, epoch=Epoch(3)),
            ),
            "among the records",
            id="records behind the end",
        ),
        pytest.param(
            content(SnapshotSummary(end=END, epochs=EPOCHS[::-1], producers=producers())),
            "epoch 1 at offset 0",
            id="epochs out of order",
        ),
    ],
)
def test_snapshot_is_refused_when_it_is_not_whole(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        scanned(data).finish()


@given(st.integers(0, len(WHOLE) - 1))
def test_no_part_of_a_snapshot_is_taken_for_the_whole(size_bytes: int) -> None:
    with pytest.raises(DecodeError):
        scanned(WHOLE[:size_bytes]).finish()


def test_records_of_a_snapshot_of_kafka_are_not_indexed() -> None:
    header = build_batch(
        [Record(key=bytes.fromhex("00000003"), value=bytes.fromhex("0000000000000000000500"))],
        epoch=Epoch(3),
        is_control=True,
    )
    records = build_batch([RECORD, RECORD], base_offset=Offset(1), epoch=Epoch(3))

    found = scanned(header + records + footer_batch(Epoch(3))).finish()

    assert found.index.is_empty
    assert (found.summary.epochs, found.summary.shows_records) == ((), False)
    assert found.summary.producers.writers.log_time_ms == 5
