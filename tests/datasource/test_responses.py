"""Fetch responses with batches that no reader can read: an error or a warning names them, others are delivered."""

from __future__ import annotations

import logging

import pyarrow as pa
import pytest

from datasource.options import ReadOptions
from datasource.read_plan import DataLossError
from datasource.responses import Rows, read_response
from raft.client import AbortedTransaction, Fetched
from raft.records.batch import build_batch
from raft.records.compression import Compression, compress
from raft.records.control import leader_change_batch
from raft.records.header_fields import HEADER
from raft.records.record import Record
from raft.types import Endpoint, Epoch, NodeId, Offset
from tests.columns.batches import batch_of, with_field, with_records
from tests.node.harness.batches import sealed

EVERYTHING = Offset(2**63 - 1)
TOO_LATE_MS = 2**63 // 1000 + 1


def at(offset: int, *values: bytes) -> bytes:
    return batch_of(*values, base_offset=offset)


READER = Endpoint("observer", 9093)


def of(records: bytes, *aborted: AbortedTransaction, reader: Endpoint | None = None) -> Fetched:
    """A response with these records."""
    return Fetched(
        records=records, last_stable_offset=EVERYTHING, log_start_offset=Offset(0), aborted=aborted, reader=reader
    )


def read(records: bytes, *, start: int = 0, end: int = EVERYTHING, **options: str) -> tuple[list[bytes], int]:
    """Return the values, and where to continue."""
    given = {"kraft.bootstrap.servers": "localhost:1", "failOnDataLoss": "false"} | options
    return drained(read_response(ReadOptions.of(given), of(records), Offset(start), Offset(end)))


def drained(rows: Rows) -> tuple[list[bytes], int]:
    """Return the values, and where to continue."""
    values: list[bytes] = []
    while True:
        try:
            values += next(rows).column("value").to_pylist()
        except StopIteration as done:
            return values, done.value


def flipped(batch: bytes, position: int) -> bytes:
    changed = bytearray(batch)
    changed[position] ^= 0x10
    return bytes(changed)


GARBAGE = with_records(at(2, b"?", b"?"), b"garbage")
LATE = build_batch([Record(value=b"late", timestamp_ms=TOO_LATE_MS)] * 2, base_offset=Offset(2))
BOMB = sealed(at(2, b"?", b"?")[: HEADER.size] + compress(Compression.ZSTD, bytes((64 << 20) + 1)))
DAMAGED = [
    pytest.param(GARBAGE, "batch at offset 2, record 0: it is malformed", id="garbage"),
    pytest.param(LATE, "batch at offset 2, record 0: its timestamp does not fit into 64 bits", id="late"),
    pytest.param(with_field(BOMB, ">h", 21, Compression.ZSTD), "batch at offset 2: more than 67108864", id="bomb"),
    pytest.param(with_field(at(2, b"?", b"?"), ">h", 21, 7), "batch at offset 2: unknown compression", id="codec"),
    pytest.param(flipped(at(2, b"?", b"?"), -1), "batch at offset 2, byte 0 of the response: wrong", id="a bit"),
    pytest.param(
        flipped(at(2, b"?", b"?"), 26),
        "batch at offset 2, byte 0 of the response: wrong",
        id="last offset delta",
    ),
    pytest.param(with_field(at(2, b"?", b"?"), ">i", 57, -1), "batch at offset 2: last offset delta 1", id="count"),
]
"""Batches at offsets 2 and 3."""


@pytest.mark.parametrize(("damaged", "cause"), DAMAGED)
def test_damaged_batch_is_skipped_with_a_warning(damaged: bytes, cause: str, caplog: pytest.LogCaptureFixture) -> None:
    records = at(0, b"a", b"b") + damaged + at(4, b"c") + at(5, b"d")

    assert read(records) == ([b"a", b"b", b"c", b"d"], 6)

    (warning,) = caplog.records
    assert warning.levelno == logging.WARNING
    assert warning.getMessage().startswith(f"cannot read offsets 2 to 3: {cause}")


@pytest.mark.parametrize(("damaged", "cause"), DAMAGED)
def test_damaged_batch_ends_the_query_after_the_rows_before_it(damaged: bytes, cause: str) -> None:
    options = ReadOptions.of({"kraft.bootstrap.servers": "localhost:1"})
    rows = read_response(options, of(at(0, b"a", b"b") + damaged + at(4, b"c")), Offset(0), EVERYTHING)
    delivered: list[pa.RecordBatch] = []

    with pytest.raises(DataLossError, match=f"cannot read offsets 2 to 3: {cause}.* set failOnDataLoss to false"):
        delivered += rows

    assert [value for record_batch in delivered for value in record_batch.column("value").to_pylist()] == [b"a", b"b"]


@pytest.mark.parametrize(("damaged", "cause"), DAMAGED)
@pytest.mark.rule("READ-6")
def test_node_that_is_not_the_leader_is_left_when_it_sends_a_damaged_batch(
    damaged: bytes, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = ReadOptions.of({"kraft.bootstrap.servers": "localhost:1"})
    records = at(0, b"a", b"b") + damaged + at(4, b"c")
    left: list[Endpoint] = []

    rows = read_response(options, of(records, reader=READER), Offset(0), EVERYTHING, leave_reader=left.append)
    delivered, next_offset = drained(rows)

    assert next_offset == len(delivered), "the rest is fetched again from the first row that is missing"
    assert delivered in ([], [b"a", b"b"])
    assert left == [READER]
    (warning,) = caplog.records
    assert warning.getMessage().startswith(f"node {READER} sent a damaged batch, another node is asked: {cause[:5]}")


@pytest.mark.parametrize(
    ("damaged", "next_offset"),
    [
        pytest.param(GARBAGE, 4, id="its header is right"),
        pytest.param(flipped(at(2, b"?", b"?"), -1), 4, id="two of its fields agree on its end"),
        pytest.param(flipped(at(2, b"?", b"?"), 26), 90, id="nothing tells where it ends"),
    ],
)
def test_reading_continues_after_a_damaged_batch_when_it_is_the_last_of_its_response(
    damaged: bytes, next_offset: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(at(0, b"a", b"b") + damaged, end=90) == ([b"a", b"b"], next_offset)

    (warning,) = caplog.records
    assert warning.getMessage().startswith(f"cannot read offsets 2 to {next_offset - 1}: ")


def test_only_requested_offsets_are_lost(caplog: pytest.LogCaptureFixture) -> None:
    assert read(GARBAGE + at(4, b"c", b"d"), start=3, end=5) == ([b"c"], 6)
    assert read(at(0, b"a", b"b") + GARBAGE, start=0, end=2) == ([b"a", b"b"], 4)

    (warning,) = caplog.records
    assert warning.getMessage().startswith("cannot read offsets 3 to 3: ")


def test_rows_are_delivered_once_when_the_damage_is_found_late(caplog: pytest.LogCaptureFixture) -> None:
    # Compressed batches are decompressed one by one, so rows are returned before the last one is decompressed.
    large = bytes(50 << 20)
    parts = [batch_of(large, base_offset=at, compression=Compression.ZSTD) for at in range(3)]
    broken = with_field(batch_of(b"?", base_offset=3, compression=Compression.GZIP), ">h", 21, Compression.ZSTD)

    values, next_offset = read(b"".join(parts) + broken + at(4, b"last"))

    assert ([len(value) for value in values], next_offset) == ([50 << 20] * 3 + [4], 5)
    assert len(caplog.records) == 1


def test_batch_that_goes_back_is_damaged(caplog: pytest.LogCaptureFixture) -> None:
    assert read(at(0, b"a", b"b", b"c") + at(1, b"?") + at(3, b"d")) == ([b"a", b"b", b"c", b"d"], 4)
    assert not caplog.records, "nothing of it was wanted"


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(at(0, b"a")[:-1], id="a part of a batch"),
        pytest.param(at(0, b"a")[:30], id="a part of a header"),
        pytest.param(with_field(at(0, b"a"), ">b", 16, 1)[:-1] + b"?", id="another magic"),
    ],
)
def test_response_without_a_whole_batch_loses_all_requested_offsets(
    records: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(records, end=9)[0] == []

    (warning,) = caplog.records
    assert "cannot read offsets 0 to " in warning.getMessage()


def test_incomplete_batch_at_the_end_is_read_from_the_next_response() -> None:
    assert read(at(0, b"a") + GARBAGE + at(4, b"c")[:-1]) == ([b"a"], 4)


def test_damaged_control_batch_is_lost_when_control_records_are_read(caplog: pytest.LogCaptureFixture) -> None:
    control = leader_change_batch(
        base_offset=Offset(1),
        epoch=Epoch(1),
        leader_id=NodeId(1),
        voters=[NodeId(1)],
        granting_voters=[],
        timestamp_ms=1,
    )
    broken = with_records(control, b"garbage")

    assert read(at(0, b"a") + broken + at(2, b"b")) == ([b"a", b"b"], 3)
    assert not caplog.records
    assert read(at(0, b"a") + broken + at(2, b"b"), includeControlRecords="true") == ([b"a", b"b"], 3)
    assert len(caplog.records) == 1
