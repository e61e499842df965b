"""Values of records to typed messages and back; what is not known is kept, what is malformed is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from raft.codec import Message, encode
from raft.codec.varint import encode_uvarint
from raft.errors import DecodeError, LocalProtocolError
from raft.metadata.record import MetadataRecord, UnknownRecord, read_metadata_record, write_metadata_record
from raft.metadata.record_types import RECORD_TYPES, RecordType
from raft.metadata.records.others import NoOpRecord
from raft.metadata.records.partitions import PartitionChangeRecord
from raft.metadata.records.topics import TopicRecord
from raft.metadata.records.transactions import BeginTransactionRecord
from raft.records.control_messages import SnapshotFooterRecord
from raft.types import Uuid
from tests.codec.strategies import FEW, messages
from tests.metadata.messages import every_edition, numbered, of_record_type, with_unknown_tags

TOPIC_ID = Uuid("AAECAwQFBgcICQoLDA0ODw")
TOPIC_ID_BYTES = "000102030405060708090a0b0c0d0e0f"


@pytest.mark.rule("META-1")
@pytest.mark.parametrize(
    ("value", "record"),
    [
        pytest.param(
            f"01 02 00  04 666f6f {TOPIC_ID_BYTES} 00",
            MetadataRecord(version=0, message=TopicRecord(name="foo", topic_id=TOPIC_ID)),
            id="topic",
        ),
        pytest.param(
            f"01 05 01  00000003 {TOPIC_ID_BYTES} 02  00 05 02 00000001  01 04 00000001",
            MetadataRecord(
                version=1, message=PartitionChangeRecord(partition_id=3, topic_id=TOPIC_ID, isr=(1,), leader=1)
            ),
            id="partition change",
        ),
        pytest.param("01 14 00  00", MetadataRecord(version=0, message=NoOpRecord()), id="no op"),
        pytest.param(
            "01 17 00  01 00 02 02 78",
            MetadataRecord(version=0, message=BeginTransactionRecord(name="x")),
            id="transaction with a name",
        ),
        pytest.param("01 ac02 07  beef", UnknownRecord(type=300, version=7, payload=b"\xbe\xef"), id="unknown"),
    ],
)
def test_value_has_frame_version_type_version_and_message(value: str, record: MetadataRecord | UnknownRecord) -> None:
    assert read_metadata_record(bytes.fromhex(value)) == record
    assert write_metadata_record(record) == bytes.fromhex(value)


@pytest.mark.rule("META-5")
@every_edition
def test_record_is_unchanged_after_write_and_read(record_type: RecordType, version: int) -> None:
    @FEW
    @given(messages(record_type.message_class, version))
    def check(message: Message) -> None:
        record = MetadataRecord(version=version, message=message)

        assert read_metadata_record(write_metadata_record(record)) == record

    check()


@pytest.mark.rule("META-2")
@pytest.mark.parametrize("type_id", [6, 13, 16, 30, 127, 128, 0x7FFF])
def test_record_of_an_unknown_type_is_read_as_bytes_and_written_as_it_was(type_id: int) -> None:
    value = b"\x01" + encode_uvarint(type_id) + encode_uvarint(0x7FFF) + b"anything"

    record = read_metadata_record(value)

    assert record == UnknownRecord(type=type_id, version=0x7FFF, payload=b"anything")
    assert write_metadata_record(record) == value


@pytest.mark.rule("META-2")
@pytest.mark.parametrize("record_type", RECORD_TYPES.values(), ids=lambda record_type: record_type.name)
@pytest.mark.parametrize("payload", [b"", b"\xff" * 40], ids=["nothing", "bytes"])
def test_version_above_the_highest_known_one_is_read_as_bytes(record_type: RecordType, payload: bytes) -> None:
    version = record_type.highest_version + 1
    value = b"\x01" + encode_uvarint(record_type.id) + encode_uvarint(version) + payload

    record = read_metadata_record(value)

    assert record == UnknownRecord(type=record_type.id, version=version, payload=payload)
    assert write_metadata_record(record) == value


@pytest.mark.rule("META-3")
@every_edition
def test_unknown_tagged_fields_are_kept_and_written_again(record_type: RecordType, version: int) -> None:
    message = with_unknown_tags(numbered(record_type.message_class, version))
    value = write_metadata_record(MetadataRecord(version=version, message=message))

    record = read_metadata_record(value)

    assert isinstance(record, MetadataRecord)
    assert record.message == message
    assert record.message.unknown_tags == ((90, b"newer"), (200, b""))
    assert write_metadata_record(record) == value


@pytest.mark.rule("META-3")
def test_tagged_field_that_only_a_higher_version_has_is_kept_as_bytes() -> None:
    value = bytes.fromhex(f"01 05 00  00000003 {TOPIC_ID_BYTES} 01  08 01 01")

    record = read_metadata_record(value)

    expected = PartitionChangeRecord(partition_id=3, topic_id=TOPIC_ID)
    assert record == MetadataRecord(version=0, message=expected)
    assert isinstance(record, MetadataRecord)
    assert record.message.unknown_tags == ((8, b"\x01"),)
    assert write_metadata_record(record) == value


@pytest.mark.rule("META-4")
@every_edition
def test_value_that_ends_early_is_refused_at_every_length(record_type: RecordType, version: int) -> None:
    named = f"{record_type.name} v{version}"
    for message in of_record_type(record_type, version):
        value = write_metadata_record(MetadataRecord(version=version, message=message))
        header = len(value) - len(encode(message, version))
        for length in range(header):
            with pytest.raises(DecodeError, match="metadata record: "):
                read_metadata_record(value[:length])
        for length in range(header, len(value)):
            with pytest.raises(DecodeError, match=named):
                read_metadata_record(value[:length])


@pytest.mark.rule("META-4")
@every_edition
def test_bytes_after_the_message_are_refused(record_type: RecordType, version: int) -> None:
    message = numbered(record_type.message_class, version)
    value = write_metadata_record(MetadataRecord(version=version, message=message))

    with pytest.raises(DecodeError, match=f"{record_type.name} v{version}: 2 bytes after the end of the message"):
        read_metadata_record(value + b"\x00\x00")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("", "frame version at byte 0: not a varint", id="nothing"),
        pytest.param("00 02 00", "frame version 0: expected 1", id="frame of the preview"),
        pytest.param("02 02 00", "frame version 2: expected 1", id="newer frame"),
        pytest.param("ffffffff0f 02 00", "frame version 4294967295: expected at most 32767", id="huge frame version"),
        pytest.param("01", "type at byte 1: not a varint", id="no type"),
        pytest.param("01 808002 00", "type 32768: expected at most 32767", id="huge type"),
        pytest.param("01 ffffffffffff", "type at byte 1: not a varint of 32 bits", id="type without end"),
        pytest.param("01 02", "version of type 2 at byte 2: not a varint", id="no version"),
        pytest.param("01 02 808002", "version of type 2 32768: expected at most 32767", id="huge version"),
        pytest.param("01 02 00  00", "TopicRecord v0: name at byte .*: null", id="null name"),
        pytest.param("01 02 00  ffffffff0f", "TopicRecord v0: name .* a length of 4294967294 with", id="huge string"),
        pytest.param("01 02 00  02 ff", "TopicRecord v0: name .*utf-8", id="string that is no text"),
        pytest.param(
            f"01 03 00  00000001 {TOPIC_ID_BYTES} ffffff7f",
            "PartitionRecord v0: replicas .* a length of",
            id="huge count",
        ),
        pytest.param("01 14 00  ffffffff0f", "NoOpRecord v0", id="huge count of tagged fields"),
        pytest.param("01 14 00  01 05 ffffffff0f", "NoOpRecord v0: .* a length of 4294967295", id="huge tagged field"),
        pytest.param(
            f"01 05 00  00000001 {TOPIC_ID_BYTES} 01 01 05 0000000100",
            "PartitionChangeRecord v0: leader .* the size of a tagged field is wrong",
            id="size of a tagged field",
        ),
    ],
)
@pytest.mark.rule("META-1", "META-4")
def test_malformed_value_is_refused_with_what_is_wrong(value: str, expected: str) -> None:
    with pytest.raises(DecodeError, match=expected):
        read_metadata_record(bytes.fromhex(value))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(
            MetadataRecord(version=1, message=NoOpRecord()),
            "NoOpRecord has no version 1",
            id="version that there is not",
        ),
        pytest.param(
            MetadataRecord(version=0, message=SnapshotFooterRecord(version=0)),
            "SnapshotFooterRecord: expected a message of a metadata record",
            id="another message",
        ),
        pytest.param(UnknownRecord(type=-1, version=0, payload=b""), "type -1: expected 0 to 32767", id="type"),
        pytest.param(UnknownRecord(type=40, version=1 << 15, payload=b""), "version 32768: expected 0", id="version"),
        pytest.param(
            MetadataRecord(
                version=0, message=PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, directories=(TOPIC_ID,))
            ),
            "PartitionChangeRecord v0: directories: this version has no such field",
            id="field that the version lacks",
        ),
    ],
)
def test_record_that_cannot_be_written_is_refused(record: Any, expected: str) -> None:
    with pytest.raises(LocalProtocolError, match=expected):
        write_metadata_record(record)
