"""Spark's own source and sink for Kafka, in batches and as streams, against our quorum."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from raft.records.record import Record
from tests.hang import HANG_S
from tests.java.installation import installed_connector
from tests.java.librdkafka import consume, produce
from tests.java.samples import later_ms, records_of_every_kind
from tests.java.spark_application import MOST_OFFSETS_A_BATCH
from tests.node.harness.properties import TOPIC
from tests.processes.finished import run_to_end
from tests.processes.node_quorum import NodeQuorum

pytestmark = [pytest.mark.java, pytest.mark.spark]

_COUNT = 100
_MIDDLE = 37


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """The records before the application ran, and its results.

    Fields:
        originals: the records that it read, in their part of the log.
        read: what it read, by the name of the way.
        batches: how many micro-batches it took, by the name of the way, for streams.
        log: that part of the log after the run.
    """

    originals: list[Record]
    read: dict[str, list[Record]]
    batches: dict[str, int]
    log: list[Record]


@pytest.fixture(scope="module")
def copied(quorum: NodeQuorum, tmp_path_factory: pytest.TempPathFactory) -> Copied:
    jars = ",".join(str(jar) for jar in installed_connector())
    servers = quorum.bootstrap_servers
    records = records_of_every_kind(_COUNT, "spark", first_timestamp_ms=later_ms())
    originals = produce(servers, records, {"compression.type": "zstd"})
    start, middle, last = originals[0], originals[_MIDDLE], originals[-1]
    numbers = [start.offset, middle.offset, last.offset + 1, middle.timestamp_ms]
    arguments = [jars, tmp_path_factory.mktemp("spark"), servers, TOPIC, *numbers]

    command = [sys.executable, "-m", "tests.java.spark_application", *map(str, arguments)]
    output = run_to_end("Spark", command, within_s=HANG_S).require_success()

    results = [json.loads(line) for line in output.splitlines()]
    return Copied(
        originals=originals,
        read={result["name"]: [record_of(row) for row in result["rows"]] for result in results},
        batches={result["name"]: result["batches"] for result in results},
        log=consume(servers, start.offset, {}),
    )


def record_of(row: dict[str, Any]) -> Record:
    return Record(
        key=bytes_of(row["key"]),
        value=bytes_of(row["value"]),
        headers=tuple((key, bytes_of(value)) for key, value in row["headers"] or ()),
        timestamp_ms=row["timestamp"],
        offset=row["offset"],
    )


def bytes_of(digits: str | None) -> bytes | None:
    return None if digits is None else bytes.fromhex(digits)


@pytest.mark.parametrize("way", ["batch", "batch committed"])
def test_sparks_source_reads_a_batch_from_an_offset(copied: Copied, way: str) -> None:
    assert copied.read[way] == copied.originals


def test_sparks_source_reads_a_batch_up_to_an_offset(copied: Copied) -> None:
    assert copied.read["batch to the middle"] == copied.originals[:_MIDDLE]


def test_sparks_source_reads_a_batch_from_a_timestamp(copied: Copied) -> None:
    assert copied.read["batch by time"] == copied.originals[_MIDDLE:]


def test_sparks_source_reads_a_stream_in_micro_batches(copied: Copied) -> None:
    assert copied.read["stream"] == copied.originals
    assert copied.batches["stream"] == -(-_COUNT // MOST_OFFSETS_A_BATCH)


@pytest.mark.parametrize(("name", "place"), [("stream", 1), ("batch", 2)])
def test_sparks_sink_writes_every_record_once_and_in_order(copied: Copied, name: str, place: int) -> None:
    written = copied.log[place * _COUNT : (place + 1) * _COUNT]

    assert [(record.key, record.value, record.headers) for record in written] == [
        (record.key, None if record.value is None else f"{name} ".encode() + record.value, record.headers)
        for record in copied.originals
    ]
    assert len(copied.log) == 3 * _COUNT
