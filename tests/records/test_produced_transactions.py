"""What a leader takes and refuses of transactions, before it asks which transactions are open."""

from __future__ import annotations

from typing import Any

import pytest

from raft.errors import ErrorCode, RequestError
from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.control import leader_change_batch, leaders_control_batch, write_commit_batch
from raft.records.control_key import write_control_key
from raft.records.produced import read_produced_batch
from raft.records.record import Record
from raft.types import (
    FIRST_KEYED_PRODUCER_ID,
    FIRST_PART_PRODUCER_ID,
    BatchHeader,
    ControlType,
    Epoch,
    NodeId,
    Offset,
    TransactionalId,
    WriteCommit,
    WritePart,
)
from raft.writers import WriteKey
from tests.records.samples import with_field

KEY = WriteKey("a query", 3)
KEY_FIELDS: dict[str, Any] = {
    "producer_id": KEY.producer_id,
    "producer_epoch": KEY.producer_epoch,
    "base_sequence": KEY.base_sequence,
}
COMMIT = WriteCommit(parts=(WritePart(producer_id=FIRST_PART_PRODUCER_ID + 5, record_count=2, content_checksum=9),))
COMMIT_BATCH = write_commit_batch(COMMIT, **KEY_FIELDS, timestamp_ms=5)

ATTRIBUTES_AT, PRODUCER_ID_AT = 21, 43
TRANSACTIONAL_CONTROL = 0x30


def transactional(producer_id: int | None, **changes: Any) -> bytes:
    fields: dict[str, Any] = {"producer_epoch": 0, "base_sequence": 0, "is_transactional": True, **changes}
    return build_batch([Record(value=b"row", timestamp_ms=5)] * 2, producer_id=producer_id, **fields)


def marker(control_type: ControlType) -> bytes:
    header = BatchHeader(
        base_offset=Offset(0),
        last_offset=Offset(0),
        epoch=Epoch(4),
        size_bytes=0,
        record_count=1,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
        control_types=(control_type,),
    )
    return leaders_control_batch(header, timestamp_ms=5)


def transactional_id() -> bytes:
    header = BatchHeader(
        base_offset=Offset(0),
        last_offset=Offset(0),
        epoch=Epoch(4),
        size_bytes=0,
        record_count=1,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        control_types=(ControlType.TRANSACTIONAL_ID,),
        control_value=TransactionalId(name="orders", timeout_ms=5, previous=None),
    )
    return leaders_control_batch(header, timestamp_ms=5)


def two_control_records() -> bytes:
    record = Record(key=write_control_key(ControlType.COMMIT), value=bytes(6))
    return build_batch([record] * 2, is_control=True, **KEY_FIELDS)


LEADER_CHANGE = leader_change_batch(
    base_offset=Offset(0), epoch=Epoch(4), leader_id=NodeId(1), voters=[], granting_voters=[], timestamp_ms=5
)
BROKEN_COMMIT = build_batch(
    [Record(key=write_control_key(ControlType.WRITE_COMMIT), value=b"\0\0")], is_control=True, **KEY_FIELDS
)


@pytest.mark.rule("TXN-6")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(transactional(7), id="a producer of Kafka"),
        pytest.param(transactional(7, compression=Compression.ZSTD), id="a producer of Kafka that compresses"),
        pytest.param(transactional(FIRST_PART_PRODUCER_ID), id="the first part"),
        pytest.param(transactional(FIRST_KEYED_PRODUCER_ID - 1), id="the last part"),
        pytest.param(COMMIT_BATCH, id="the commit of a multipart write"),
    ],
)
def test_leader_takes_batch_of_a_transaction(data: bytes) -> None:
    batch = read_produced_batch(data, max_batch_bytes=1 << 20)

    assert batch.payload is data
    assert batch.header.is_transactional or batch.header.control_value == COMMIT


@pytest.mark.rule("CLIENT-6", "TXN-6")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(transactional(None), "a transactional batch without a producer id", id="no producer id"),
        pytest.param(
            transactional(FIRST_KEYED_PRODUCER_ID), "a transactional batch with the key of a write", id="a write key"
        ),
        pytest.param(
            transactional(FIRST_PART_PRODUCER_ID + 5, compression=Compression.ZSTD),
            "a part of a multipart write whose records are compressed",
            id="a compressed part",
        ),
        pytest.param(transactional(7, base_sequence=-1), "without its epoch or sequence", id="no sequence"),
        pytest.param(marker(ControlType.COMMIT), "a control batch", id="a COMMIT marker"),
        pytest.param(marker(ControlType.ABORT), "a control batch", id="an ABORT marker"),
        pytest.param(transactional_id(), "a control batch", id="a TRANSACTIONAL_ID"),
        pytest.param(LEADER_CHANGE, "a control batch", id="a LeaderChange"),
        pytest.param(two_control_records(), "a control batch", id="two control records"),
        pytest.param(BROKEN_COMMIT, "a control batch: value of WRITE_COMMIT is malformed", id="a broken WRITE_COMMIT"),
        pytest.param(
            with_field(COMMIT_BATCH, PRODUCER_ID_AT, ">q", FIRST_KEYED_PRODUCER_ID - 1),
            "a WRITE_COMMIT without the key of a write",
            id="a WRITE_COMMIT of a part",
        ),
        pytest.param(
            with_field(COMMIT_BATCH, PRODUCER_ID_AT, ">q", -1),
            "a WRITE_COMMIT without the key of a write",
            id="a WRITE_COMMIT of no producer",
        ),
        pytest.param(
            with_field(COMMIT_BATCH, ATTRIBUTES_AT, ">h", TRANSACTIONAL_CONTROL),
            "a WRITE_COMMIT without the key of a write",
            id="a transactional WRITE_COMMIT",
        ),
    ],
)
def test_leader_refuses_batch_that_no_transaction_can_have(data: bytes, reason: str) -> None:
    with pytest.raises(RequestError, match=reason) as refusal:
        read_produced_batch(data, max_batch_bytes=1 << 20)

    assert refusal.value.code == ErrorCode.INVALID_RECORD


@pytest.mark.rule("LOG-4", "CONTROL-8")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(transactional(7), id="a producer of Kafka"),
        pytest.param(transactional(FIRST_PART_PRODUCER_ID + 5), id="a part"),
        pytest.param(COMMIT_BATCH, id="the commit of a multipart write"),
        pytest.param(marker(ControlType.COMMIT), id="a marker"),
        pytest.param(BROKEN_COMMIT, id="a broken WRITE_COMMIT"),
    ],
)
def test_strict_leader_refuses_every_batch_of_a_transaction(data: bytes) -> None:
    with pytest.raises(RequestError, match="strict: a batch of a transaction") as refusal:
        read_produced_batch(data, max_batch_bytes=1 << 20, strict=True)

    assert refusal.value.code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("data", [transactional(FIRST_PART_PRODUCER_ID + 5), COMMIT_BATCH], ids=["part", "commit"])
def test_leader_refuses_batch_of_a_transaction_when_it_ends_early(data: bytes) -> None:
    for size_bytes in range(len(data)):
        with pytest.raises(RequestError) as refusal:
            read_produced_batch(data[:size_bytes], max_batch_bytes=1 << 20)
        assert refusal.value.code == ErrorCode.INVALID_RECORD
