"""Kafka's own message files can be declared too: two of its metadata records, loaded from JSON."""

import json
import re
from typing import Any

import pytest

from raft.codec import (
    BOOL,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    Message,
    array,
    decode,
    encode,
    field,
    message,
    struct,
)
from raft.types import ZERO_UUID, Uuid

PRIMITIVES: dict[str, tuple[Any, object]] = {
    "bool": (BOOL, False),
    "int8": (INT8, 0),
    "int16": (INT16, 0),
    "int32": (INT32, 0),
    "int64": (INT64, 0),
    "uint16": (UINT16, 0),
    "float64": (FLOAT64, 0.0),
    "string": (STRING, ""),
    "uuid": (UUID, ZERO_UUID),
}

REGISTER_BROKER = """
{ "apiKey": 0, "type": "metadata", "name": "RegisterBrokerRecord", "validVersions": "0-4", "flexibleVersions": "0+",
  "fields": [
    { "name": "BrokerId", "type": "int32", "versions": "0+" },
    { "name": "IsMigratingZkBroker", "type": "bool", "versions": "2+", "default": "false" },
    { "name": "IncarnationId", "type": "uuid", "versions": "0+" },
    { "name": "BrokerEpoch", "type": "int64", "versions": "0+" },
    { "name": "EndPoints", "type": "[]BrokerEndpoint", "versions": "0+", "fields": [
        { "name": "Name", "type": "string", "versions": "0+" },
        { "name": "Host", "type": "string", "versions": "0+" },
        { "name": "Port", "type": "uint16", "versions": "0+" },
        { "name": "SecurityProtocol", "type": "int16", "versions": "0+" } ] },
    { "name": "Rack", "type": "string", "versions": "0+", "nullableVersions": "0+" },
    { "name": "Fenced", "type": "bool", "versions": "0+", "default": "true" },
    { "name": "LogDirs", "type": "[]uuid", "versions": "3+", "taggedVersions": "3+", "tag": 0 },
    { "name": "CordonedLogDirs", "type": "[]uuid", "versions": "4+", "taggedVersions": "4+", "tag": 1,
      "nullableVersions": "4+", "default": "null" } ] }
"""

CLIENT_QUOTA = """
{ "apiKey": 14, "type": "metadata", "name": "ClientQuotaRecord", "validVersions": "0", "flexibleVersions": "0+",
  "fields": [
    { "name": "Entity", "type": "[]EntityData", "versions": "0+", "fields": [
        { "name": "EntityType", "type": "string", "versions": "0+" },
        { "name": "EntityName", "type": "string", "versions": "0+", "nullableVersions": "0+" } ] },
    { "name": "Key", "type": "string", "versions": "0+" },
    { "name": "Value", "type": "float64", "versions": "0+" },
    { "name": "Remove", "type": "bool", "versions": "0+" } ] }
"""


def load(text: str) -> Any:
    """The class of a message from the text of Kafka's file about it."""
    description = json.loads(text)
    declare = message(
        versions=description["validVersions"],
        flexible=description["flexibleVersions"],
        api_key=description["apiKey"],
    )
    return declare(class_of(description))


def class_of(description: dict[str, Any]) -> type[Message]:
    fields = {snake_case(each["name"]): field_of(each) for each in description["fields"]}
    return type(description["name"], (Message,), {"__annotations__": dict.fromkeys(fields, Any), **fields})


def field_of(description: dict[str, Any]) -> Any:
    element = description["type"].removeprefix("[]")
    is_array = element != description["type"]
    type_, zero = PRIMITIVES.get(element) or (struct(class_of({"name": element, **description})), None)
    default = () if is_array else zero
    if "default" in description:
        default = json.loads(description["default"])
    tagging: Any = {"tag": description["tag"], "tagged": description["taggedVersions"]} if "tag" in description else {}
    return field(
        array(type_) if is_array else type_,
        versions=description["versions"],
        nullable=description.get("nullableVersions", "none"),
        default=default,
        **tagging,
    )


def snake_case(name: str) -> str:
    return re.sub("(?<!^)(?=[A-Z])", "_", name).lower()


@pytest.mark.parametrize(
    ("version", "tags"),
    [
        pytest.param(0, "00", id="v0"),
        pytest.param(3, "01 00 11 02 000102030405060708090a0b0c0d0e0f", id="v3"),
        pytest.param(4, "02 00 11 02 000102030405060708090a0b0c0d0e0f 01 01 01", id="v4"),
    ],
)
def test_register_broker_record_is_read_and_written_from_its_json(version: int, tags: str) -> None:
    record_class = load(REGISTER_BROKER)
    endpoint_class = record_class.__struct__.fields[4].type.element.struct.message_class
    endpoint = endpoint_class(name="C", host="h", port=9093, security_protocol=0)
    directory = Uuid("AAECAwQFBgcICQoLDA0ODw")
    present: dict[str, object] = {"log_dirs": (directory,)} if version > 2 else {}
    present |= {"cordoned_log_dirs": ()} if version > 3 else {}
    record = record_class(
        broker_id=3, incarnation_id=directory, broker_epoch=9, end_points=(endpoint,), rack=None, **present
    )
    migrating = "00" if version > 1 else ""

    encoded = encode(record, version)

    assert encoded == bytes.fromhex(
        f"00000003 {migrating} 000102030405060708090a0b0c0d0e0f 000000000000000902 0243 0268 2385 0000 00  00 01 {tags}"
    )
    assert decode(record_class, version, encoded) == record


def test_client_quota_record_is_read_and_written_from_its_json() -> None:
    record_class = load(CLIENT_QUOTA)
    entity_class = record_class.__struct__.fields[0].type.element.struct.message_class
    record = record_class(entity=(entity_class(entity_type="u", entity_name=None),), key="rate", value=1.5, remove=True)

    encoded = encode(record, 0)

    assert encoded == bytes.fromhex("02 0275 00 00  05 72617465 3ff8000000000000 01 00")
    assert decode(record_class, 0, encoded) == record
