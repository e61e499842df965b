"""Control records as values for JSON, with the names that kafka-dump-log prints.

    {"type": "LeaderChange", "version": 0, "leaderId": 1, "voters": [{"voterId": 1}], "grantingVoters": [...]}

Source: Kafka DumpLogSegments.printControlRecord.
"""

from __future__ import annotations

from typing import Any

from raft.codec import Message
from raft.records.control import ControlRecord, EndTransactionMarker, UnknownControlValue
from raft.types import ControlType, TransactionalId, WriteCommit

_TYPE_NAMES = {
    ControlType.LEADER_CHANGE: "LeaderChange",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlType.KRAFT_VERSION: "KRaftVersion",
    ControlType.KRAFT_VOTERS: "KRaftVoters",
}

# Names in Kafka that differ from the camel case of ours.
_KAFKA_NAMES = {"kraft_version": "kRaftVersion", "kraft_version_feature": "kRaftVersionFeature"}


def control_record_to_json(record: ControlRecord) -> dict[str, Any]:
    """Return a control record as numbers, strings, lists and dicts; the value of an unknown type is hexadecimal."""
    match record.value:
        case EndTransactionMarker(coordinator_epoch=coordinator_epoch):
            control_type = ControlType(record.control_type).name
            return {"type": "endTxnMarker", "controlType": control_type, "coordinatorEpoch": coordinator_epoch}
        case WriteCommit(parts=parts):
            return {
                "type": "WriteCommit",
                "parts": [
                    {
                        "producerId": part.producer_id,
                        "recordCount": part.record_count,
                        "contentChecksum": f"{part.content_checksum:016x}",
                    }
                    for part in parts
                ],
            }
        case TransactionalId():
            return {
                "type": "TransactionalId",
                "name": record.value.name,
                "timeoutMs": record.value.timeout_ms,
                "previous": record.value.previous,
            }
        case UnknownControlValue(value=value):
            return {"type": "UNKNOWN", "controlType": record.control_type, "value": value.hex()}
        case message:
            return {"type": _TYPE_NAMES[ControlType(record.control_type)], **_to_json(message, message.version)}


def _to_json(message: Message, version: int) -> dict[str, Any]:
    return {
        _KAFKA_NAMES.get(field.name) or _camel_case(field.name): _value_to_json(getattr(message, field.name), version)
        for field in message.__struct__.fields
        if version in field.versions
    }


def _value_to_json(value: Any, version: int) -> Any:
    match value:
        case Message():
            return _to_json(value, version)
        case tuple():
            return [_value_to_json(item, version) for item in value]
        case _:
            return value


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
