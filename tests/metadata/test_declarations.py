"""The declared record types are those of Kafka 4.3.1, which `records.json` lists, and one newer type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from raft.codec import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
)
from raft.codec.schema import AnyType, Array, Field, Struct, StructLayout, Structure
from raft.codec.types import WireType
from raft.metadata.record_types import RECORD_TYPES, TYPES_OF_MESSAGES
from raft.metadata.records.brokers import BrokerRegistrationChangeRecord
from raft.metadata.records.partitions import PartitionChangeRecord, PartitionRecord
from raft.types import ZERO_UUID

KAFKA = {described["id"]: described for described in json.loads(Path(__file__).with_name("records.json").read_text())}
NEWER = {29: "UnregisterControllerRecord"}

NAMES: dict[WireType[Any], str] = {
    BOOL: "BOOLEAN",
    BYTES: "COMPACT_BYTES",
    FLOAT64: "FLOAT64",
    INT8: "INT8",
    INT16: "INT16",
    INT32: "INT32",
    INT64: "INT64",
    STRING: "COMPACT_STRING",
    UINT16: "UINT16",
    UUID: "UUID",
}


def described_fields(description: Struct, version: int) -> list[dict[str, Any]]:
    """The fields of a struct in the order of the wire, as records.json describes them."""
    layout = StructLayout.of(description, version)
    return [
        *(described_field(field, version) for field in layout.untagged),
        *(described_field(field, version) for field in layout.tagged),
    ]


def described_field(field: Field, version: int) -> dict[str, Any]:
    tag = {"tag": field.tag} if version in field.tagged else {}
    return {"name": field.name, **tag, "is": described_type(field.type, version, is_nullable=version in field.nullable)}


def described_type(type: AnyType, version: int, *, is_nullable: bool = False) -> dict[str, Any]:
    nullable = {"nullable": True} if is_nullable else {}
    if isinstance(type, Array):
        return {"array": described_type(type.element, version), **nullable}
    if isinstance(type, Structure):
        return {"fields": described_fields(type.struct, version), **nullable}
    name = NAMES[type]
    return {"type": name.replace("COMPACT_", "COMPACT_NULLABLE_") if is_nullable else name, **nullable}


def without_defaults(described: Any) -> Any:
    """What Kafka's schemas say of defaults is incomplete: tests against Java compare them."""
    if isinstance(described, dict):
        return {key: without_defaults(value) for key, value in described.items() if key != "default"}
    return [without_defaults(each) for each in described] if isinstance(described, list) else described


@pytest.mark.rule("META-5")
def test_types_are_those_of_kafka_and_one_newer() -> None:
    ours = {id: (each.name, each.lowest_version, each.highest_version) for id, each in RECORD_TYPES.items()}

    assert ours == {
        **{id: (each["name"], each["lowest"], each["highest"]) for id, each in KAFKA.items()},
        **{id: (name, 0, 0) for id, name in NEWER.items()},
    }
    assert set(TYPES_OF_MESSAGES.values()) == set(RECORD_TYPES.values())


@pytest.mark.rule("META-5")
@pytest.mark.parametrize(
    ("id", "version"),
    [
        pytest.param(id, version, id=f"{described['name']}-v{version}")
        for id, described in KAFKA.items()
        for version in range(described["lowest"], described["highest"] + 1)
    ],
)
def test_fields_of_a_version_are_those_of_kafka(id: int, version: int) -> None:
    schema = RECORD_TYPES[id].message_class.__schema__

    assert version in schema.flexible
    assert described_fields(schema.struct, version) == without_defaults(KAFKA[id]["versions"][str(version)])


@pytest.mark.rule("META-5")
def test_fields_that_are_left_out_have_kafkas_defaults() -> None:
    partition = PartitionRecord(
        partition_id=0,
        topic_id=ZERO_UUID,
        replicas=(),
        isr=(),
        removing_replicas=(),
        adding_replicas=(),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
    )
    change = PartitionChangeRecord(partition_id=0, topic_id=ZERO_UUID)
    registration = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=2)

    assert (partition.leader_recovery_state, partition.eligible_leader_replicas, partition.directories) == (0, None, ())
    assert (change.leader, change.leader_recovery_state, change.isr, change.directories) == (-2, -1, None, None)
    assert (registration.fenced, registration.log_dirs, registration.cordoned_log_dirs) == (0, (), None)
