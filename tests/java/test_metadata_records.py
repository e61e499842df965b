"""Kafka's own MetadataRecordSerde reads what we write, and we read what it writes, byte for byte and field by field."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from raft.codec import Message
from raft.codec.schema import StructLayout
from raft.metadata.record import MetadataRecord, read_metadata_record, write_metadata_record
from raft.metadata.record_types import RECORD_TYPES, TYPES_OF_MESSAGES
from tests.java.kafka import Kafka
from tests.metadata.messages import EDITIONS, of_record_type

pytestmark = [pytest.mark.java, pytest.mark.rule("META-5")]

PROGRAM = Path(__file__).parent / "programs" / "MetadataRecords.java"
NEWER_THAN_KAFKA = {29}
"""Types of a release after the one that the tests run."""

RECORDS = tuple(
    MetadataRecord(version=version, message=message)
    for record_type, version in EDITIONS
    if record_type.id not in NEWER_THAN_KAFKA
    for message in of_record_type(record_type, version)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A record as Kafka writes it.

    Fields:
        type_id: the type of the record.
        version: its version.
        value: its bytes.
        fields: as JSON, by Kafka's names.
    """

    type_id: int
    version: int
    value: bytes
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What the program has printed.

    Fields:
        read: our records as Kafka writes them again.
        with_defaults: a record of each type in each version, whose fields have Kafka's defaults.
        shown: the same records as text with all fields, by type and version.
    """

    read: list[Written]
    with_defaults: list[Written]
    shown: dict[tuple[int, int], str]


@pytest.fixture(scope="module")
def output(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Output:
    """What Kafka has read of our records, and its records with defaults."""
    file = tmp_path_factory.mktemp("records") / "values"
    file.write_text("".join(f"{write_metadata_record(record).hex()}\n" for record in RECORDS))
    found = Output(read=[], with_defaults=[], shown={})
    for line in kafka.run_source(PROGRAM, str(file)).splitlines():
        what, type_id, version, rest = line.split(" ", 3)
        if what == "shown":
            found.shown[int(type_id), int(version)] = rest
            continue
        value, fields = rest.split(" ", 1)
        written = Written(
            type_id=int(type_id), version=int(version), value=bytes.fromhex(value), fields=json.loads(fields)
        )
        (found.read if what == "read" else found.with_defaults).append(written)
    return found


def as_json(message: Message, version: int) -> dict[str, Any]:
    """The fields as Kafka's converters to JSON print them: tagged ones only if they do not have their defaults."""
    layout = StructLayout.of(type(message).__struct__, version)
    tagged = [field for field in layout.tagged if getattr(message, field.name) != field.default]
    return {
        camel_case(field.name): json_value(getattr(message, field.name), version)
        for field in (*layout.untagged, *tagged)
    }


def json_value(value: Any, version: int) -> Any:
    if isinstance(value, Message):
        return as_json(value, version)
    if isinstance(value, tuple):
        return [json_value(each, version) for each in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def as_java_shows(value: object) -> str:
    """A default as the text of a message in Java has it."""
    match value:
        case None:
            return "null"
        case ():
            return "[]"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def test_kafka_reads_what_we_write_and_writes_the_same_bytes(output: Output) -> None:
    expected = [
        Written(
            type_id=TYPES_OF_MESSAGES[type(record.message)].id,
            version=record.version,
            value=write_metadata_record(record),
            fields=as_json(record.message, record.version),
        )
        for record in RECORDS
    ]

    assert output.read == expected


def test_we_read_what_kafka_writes_with_its_defaults_and_write_the_same_bytes(output: Output) -> None:
    for line in output.with_defaults:
        record = read_metadata_record(line.value)

        assert isinstance(record, MetadataRecord)
        assert (TYPES_OF_MESSAGES[type(record.message)].id, record.version) == (line.type_id, line.version)
        assert as_json(record.message, record.version) == line.fields
        assert write_metadata_record(record) == line.value


def test_fields_that_are_left_out_have_the_defaults_that_kafka_shows(output: Output) -> None:
    compared = 0
    for (type_id, version), text in output.shown.items():
        layout = StructLayout.of(RECORD_TYPES[type_id].message_class.__struct__, version)
        for field in (*layout.tagged, *layout.absent):
            expected = f"{camel_case(field.name)}={as_java_shows(field.default)}"
            assert re.search(rf"[(, ]{re.escape(expected)}[,)]", text), f"{expected} is not in {text}"
            compared += 1

    assert compared > 50


def test_we_know_the_types_and_versions_of_kafka(output: Output) -> None:
    assert {(line.type_id, line.version) for line in output.with_defaults} == {
        (record_type.id, version) for record_type, version in EDITIONS if record_type.id not in NEWER_THAN_KAFKA
    }
    assert set(RECORD_TYPES) >= NEWER_THAN_KAFKA
