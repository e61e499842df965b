"""The value of a record of `__cluster_metadata`, as a typed message.

    frame version   uvarint, 1
    type            uvarint, at most 32767
    version         uvarint, at most 32767
    message         in this version, to the end of the value

Source: Kafka MetadataRecordSerde, AbstractApiMessageSerde; rules META-1 to META-4.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.codec import Message, decode_prefix, encode
from raft.codec.varint import encode_uvarint, read_uvarint
from raft.errors import DecodeError, LocalProtocolError
from raft.metadata.record_types import RECORD_TYPES, TYPES_OF_MESSAGES

FRAME_VERSION = 1
"""The only frame version. The preview of KRaft in Kafka 2.8 wrote 0, which no later Kafka reads."""

_HIGHEST_NUMBER = 0x7FFF


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecord:
    """A record of a known type and version.

    Fields:
        version: of the message in the log.
        message: the message, of a class in `RECORD_TYPES`. Its `unknown_tags` has tagged fields of a newer Kafka.
    """

    version: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRecord:
    """A record that a newer Kafka wrote: its type is not known, or not in this version (META-2).

    Fields:
        type: the number of its type.
        version: of its message.
        payload: the bytes of its message.
    """

    type: int
    version: int
    payload: bytes


def read_metadata_record(value: bytes) -> MetadataRecord | UnknownRecord:
    """Return the record in the value of a record of the log.

    Raises:
        DecodeError: the frame has another version, or the bytes are malformed. Once they are known, it names the type
            and the version.
    """
    frame_version, position = _read_number(value, 0, "frame version")
    if frame_version != FRAME_VERSION:
        raise DecodeError(f"metadata record of frame version {frame_version}: expected {FRAME_VERSION}")
    type_id, position = _read_number(value, position, "type")
    version, position = _read_number(value, position, f"version of type {type_id}")
    record_type = RECORD_TYPES.get(type_id)
    if record_type is None or version not in record_type.message_class.__schema__.versions:
        return UnknownRecord(type=type_id, version=version, payload=value[position:])
    message, end = decode_prefix(record_type.message_class, version, value, position)
    if end != len(value):
        raise DecodeError(f"{record_type.name} v{version}: {len(value) - end} bytes after the end of the message")
    return MetadataRecord(version=version, message=message)


def write_metadata_record(record: MetadataRecord | UnknownRecord) -> bytes:
    """Return the value of a record of the log.

    Raises:
        LocalProtocolError: the message is of no metadata record, does not have this version, or cannot be encoded in
            it (see `raft.codec.encode`); or a number of an unknown record is out of range.
    """
    match record:
        case UnknownRecord():
            type_id, payload = record.type, record.payload
        case MetadataRecord():
            type_id, payload = _type_id(record.message), encode(record.message, record.version)
    header = [_write_number(FRAME_VERSION, "frame version"), _write_number(type_id, "type")]
    return b"".join((*header, _write_number(record.version, "version"), payload))


def _type_id(message: Message) -> int:
    record_type = TYPES_OF_MESSAGES.get(type(message))
    if record_type is None:
        raise LocalProtocolError(f"{type(message).__name__}: expected a message of a metadata record")
    return record_type.id


def _write_number(number: int, what: str) -> bytes:
    if not 0 <= number <= _HIGHEST_NUMBER:
        raise LocalProtocolError(f"metadata record: {what} {number}: expected 0 to {_HIGHEST_NUMBER}")
    return encode_uvarint(number)


def _read_number(value: bytes, position: int, what: str) -> tuple[int, int]:
    """Return the number at a position of the header, and the position after it."""
    try:
        number, end = read_uvarint(value, position)
    except (IndexError, ValueError) as error:
        raise DecodeError(f"metadata record: {what} at byte {position}: not a varint of 32 bits") from error
    if number > _HIGHEST_NUMBER:
        raise DecodeError(f"metadata record: {what} {number}: expected at most {_HIGHEST_NUMBER}")
    return number, end
