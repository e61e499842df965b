import json
import struct

import pytest

from raft.codec import Message, encode
from raft.errors import DecodeError
from raft.records.batch import build_batch, read_records
from raft.records.compression import Compression
from raft.records.control import (
    ControlRecord,
    EndTransactionMarker,
    UnknownControlValue,
    leader_change_batch,
    read_control_records,
)
from raft.records.control_json import control_record_to_json
from raft.records.control_key import write_control_key
from raft.records.control_messages import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VoterEndpoint,
    VotersRecord,
)
from raft.records.header import MAX_CONTROL_BYTES, read_header
from raft.records.record import Record
from raft.types import ControlType, Epoch, NodeId, Offset, Uuid

DIRECTORY_ID = Uuid("9cQOuJBsTJyRnYbBrvXlXg")

LEADER_CHANGE = leader_change_batch(
    base_offset=Offset(5),
    epoch=Epoch(3),
    leader_id=NodeId(1),
    voters=[NodeId(1), NodeId(2), NodeId(3)],
    granting_voters=[NodeId(1), NodeId(3)],
    timestamp_ms=1_700_000_000_000,
)


def control_batch(*pairs: tuple[bytes | None, bytes | None]) -> bytes:
    return build_batch([Record(key=key, value=value) for key, value in pairs], is_control=True)


def of_message(control_type: int, message: Message, version: int = 0) -> bytes:
    return control_batch((write_control_key(control_type), encode(message, version)))


@pytest.mark.rule("CONTROL-2", "CONTROL-3", "CONTROL-5")
def test_leader_change_names_leader_and_voters_when_read() -> None:
    header = read_header(LEADER_CHANGE)
    assert (header.base_offset, header.epoch, header.control_types) == (5, 3, (2,))
    assert header.producer_id is None

    assert read_control_records(LEADER_CHANGE) == (
        ControlRecord(
            offset=Offset(5),
            timestamp_ms=1_700_000_000_000,
            control_type=ControlType.LEADER_CHANGE,
            value=LeaderChangeMessage(
                version=0,
                leader_id=1,
                voters=tuple(LeaderChangeVoter(voter_id=voter) for voter in (1, 2, 3)),
                granting_voters=tuple(LeaderChangeVoter(voter_id=voter) for voter in (1, 3)),
            ),
        ),
    )


@pytest.mark.rule("CONTROL-2", "CONTROL-3")
def test_leader_change_has_kafka_bytes_when_written() -> None:
    (record,) = read_records(LEADER_CHANGE)

    assert record.key == bytes.fromhex("0000 0002")
    # version, leader, 3 voters, 2 granting voters, each id with no tags, and no tags at the end
    assert record.value == bytes.fromhex(
        "0000 00000001  04 00000001 00 00000002 00 00000003 00  03 00000001 00 00000003 00  00"
    )
    assert LEADER_CHANGE[21:23] == b"\x00\x20", "only the control flag is set"


@pytest.mark.parametrize(
    ("control_type", "message", "version", "expected"),
    [
        pytest.param(
            ControlType.LEADER_CHANGE,
            LeaderChangeMessage(
                version=1,
                leader_id=2,
                voters=(LeaderChangeVoter(voter_id=2, voter_directory_id=DIRECTORY_ID),),
                granting_voters=(),
            ),
            1,
            {
                "type": "LeaderChange",
                "version": 1,
                "leaderId": 2,
                "voters": [{"voterId": 2, "voterDirectoryId": DIRECTORY_ID}],
                "grantingVoters": [],
            },
            id="leader change v1",
        ),
        pytest.param(
            ControlType.SNAPSHOT_HEADER,
            SnapshotHeaderRecord(version=0, last_contained_log_timestamp=99),
            0,
            {"type": "SnapshotHeader", "version": 0, "lastContainedLogTimestamp": 99},
            id="snapshot header",
        ),
        pytest.param(
            ControlType.SNAPSHOT_FOOTER,
            SnapshotFooterRecord(version=0),
            0,
            {"type": "SnapshotFooter", "version": 0},
            id="snapshot footer",
        ),
        pytest.param(
            ControlType.KRAFT_VERSION,
            KRaftVersionRecord(version=0, kraft_version=1),
            0,
            {"type": "KRaftVersion", "version": 0, "kRaftVersion": 1},
            id="kraft version",
        ),
        pytest.param(
            ControlType.KRAFT_VOTERS,
            VotersRecord(
                version=0,
                voters=(
                    Voter(
                        voter_id=1,
                        voter_directory_id=DIRECTORY_ID,
                        endpoints=(VoterEndpoint(name="CONTROLLER", host="localhost", port=9093),),
                        kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
                    ),
                ),
            ),
            0,
            {
                "type": "KRaftVoters",
                "version": 0,
                "voters": [
                    {
                        "voterId": 1,
                        "voterDirectoryId": DIRECTORY_ID,
                        "endpoints": [{"name": "CONTROLLER", "host": "localhost", "port": 9093}],
                        "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
                    }
                ],
            },
            id="voters",
        ),
    ],
)
def test_control_record_is_typed_and_printable_when_known(
    control_type: ControlType, message: Message, version: int, expected: dict[str, object]
) -> None:
    batch = of_message(control_type, message, version)

    (record,) = read_control_records(batch)

    assert record.value == message
    assert control_record_to_json(record) == expected
    assert json.loads(json.dumps(control_record_to_json(record))) == expected


def test_leader_change_prints_no_directory_ids_when_version_0_has_none() -> None:
    (record,) = read_control_records(LEADER_CHANGE)

    assert control_record_to_json(record) == {
        "type": "LeaderChange",
        "version": 0,
        "leaderId": 1,
        "voters": [{"voterId": 1}, {"voterId": 2}, {"voterId": 3}],
        "grantingVoters": [{"voterId": 1}, {"voterId": 3}],
    }


@pytest.mark.parametrize("control_type", [ControlType.ABORT, ControlType.COMMIT])
@pytest.mark.rule("CONTROL-8")
def test_transaction_marker_is_read_when_it_ends_a_transaction(control_type: ControlType) -> None:
    batch = control_batch((write_control_key(control_type), struct.pack(">hi", 0, 12)))

    (record,) = read_control_records(batch)

    assert record.value == EndTransactionMarker(version=0, coordinator_epoch=12)
    assert control_record_to_json(record) == {
        "type": "endTxnMarker",
        "controlType": control_type.name,
        "coordinatorEpoch": 12,
    }


@pytest.mark.rule("CONTROL-8")
def test_control_type_stays_a_number_when_unknown() -> None:
    batch = control_batch((write_control_key(99), b"\x00\x01"), (write_control_key(-1), b"x"))

    assert read_header(batch).control_types == (99, -1)
    first, second = read_control_records(batch)
    assert first.value == UnknownControlValue(value=b"\x00\x01")
    assert control_record_to_json(first) == {"type": "UNKNOWN", "controlType": 99, "value": "0001"}
    assert second.control_type == -1


@pytest.mark.rule("CONTROL-7")
def test_header_lists_every_type_when_a_batch_holds_several() -> None:
    leader_change = LeaderChangeMessage(version=0, leader_id=1, voters=(), granting_voters=())
    batch = control_batch(
        (write_control_key(2), encode(leader_change, 0)),
        (write_control_key(5), encode(KRaftVersionRecord(version=0, kraft_version=1), 0)),
        (write_control_key(6), encode(VotersRecord(version=0, voters=()), 0)),
    )

    assert read_header(batch).control_types == (2, 5, 6)
    assert [record.control_type for record in read_control_records(batch)] == [2, 5, 6]


@pytest.mark.rule("CONTROL-8")
def test_key_is_read_as_the_newest_known_when_its_version_is_higher() -> None:
    batch = control_batch((struct.pack(">hh", 7, 4) + b"more", encode(SnapshotFooterRecord(version=0), 0)))

    assert read_header(batch).control_types == (ControlType.SNAPSHOT_FOOTER,)


def test_value_is_read_as_the_newest_known_when_its_version_is_higher() -> None:
    value = struct.pack(">hq", 4, 99) + b"\x00" + b"what version 4 adds"

    (record,) = read_control_records(control_batch((write_control_key(3), value)))

    assert record.value == SnapshotHeaderRecord(version=4, last_contained_log_timestamp=99)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param(None, b"x", id="null key"),
        pytest.param(b"", b"x", id="empty key"),
        pytest.param(b"\x00\x00\x02", b"x", id="short key"),
        pytest.param(struct.pack(">hh", -1, 2), b"x", id="negative key version"),
        pytest.param(struct.pack(">hh", 0, 2), None, id="null value"),
        pytest.param(struct.pack(">hh", 0, 2), b"", id="empty value"),
    ],
)
@pytest.mark.rule("CONTROL-8", "CONTROL-9")
def test_control_batch_is_refused_when_a_key_or_value_is_empty(key: bytes | None, value: bytes | None) -> None:
    batch = control_batch((key, value))

    with pytest.raises(DecodeError, match="control record at offset 0"):
        read_header(batch)
    with pytest.raises(DecodeError, match="control record at offset 0"):
        read_control_records(batch)


def test_control_batch_is_refused_when_it_decompresses_to_too_much() -> None:
    record = Record(key=write_control_key(ControlType.SNAPSHOT_FOOTER), value=bytes(MAX_CONTROL_BYTES))
    bomb = build_batch([record], is_control=True, compression=Compression.ZSTD)

    with pytest.raises(DecodeError, match=f"more than {MAX_CONTROL_BYTES} bytes"):
        read_header(bomb)
    with pytest.raises(DecodeError, match=f"more than {MAX_CONTROL_BYTES} bytes"):
        read_control_records(bomb)


@pytest.mark.rule("CONTROL-9")
def test_control_batch_is_refused_when_it_has_no_records() -> None:
    empty = bytearray(LEADER_CHANGE[:61])
    struct.pack_into(">i", empty, 8, 61 - 12)
    struct.pack_into(">i", empty, 57, 0)

    with pytest.raises(DecodeError, match="without records"):
        read_header(bytes(empty))


@pytest.mark.parametrize(
    ("control_type", "value"),
    [
        pytest.param(2, b"\x00", id="half a version"),
        pytest.param(2, b"\xff\xff", id="negative version"),
        pytest.param(2, b"\x00\x00\x00", id="incomplete"),
        pytest.param(6, b"\x00\x00\xff\xff\xff\xff\x0f", id="four billion voters"),
        pytest.param(1, b"\x00\x00\x00", id="short marker"),
        pytest.param(0, b"\xff\xff\x00\x00\x00\x00", id="marker of negative version"),
    ],
)
def test_control_value_is_refused_when_broken(control_type: int, value: bytes) -> None:
    with pytest.raises(DecodeError):
        read_control_records(control_batch((write_control_key(control_type), value)))
