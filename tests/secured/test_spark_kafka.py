"""Spark's own source and sink for Kafka, in batches and as streams, over SASL_SSL and with certificates."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import pytest

from raft.records.record import Record
from tests.hang import HANG_S
from tests.java.installation import installed_connector
from tests.java.librdkafka import consume, produce
from tests.java.samples import SOME_TIME_MS
from tests.java.test_spark_kafka import record_of
from tests.node.harness.properties import TOPIC
from tests.processes.finished import run_to_end
from tests.secured.secured_quorum import SecuredQuorum
from tests.secured.ways import MUTUAL, SCRAM

pytestmark = [pytest.mark.java, pytest.mark.spark]

_COUNT = 20
_WAYS = {"SASL_SSL": SCRAM, "SSL": MUTUAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """The records before the application ran, and its results.

    Fields:
        originals: the records that it read.
        read: what it read, by the name of the way and the kind of query.
        log: what was written after the originals.
    """

    originals: list[Record]
    read: dict[str, list[Record]]
    log: list[Record]


@pytest.fixture(scope="module")
def copied(quorum: SecuredQuorum, tmp_path_factory: pytest.TempPathFactory) -> Copied:
    access, folder = quorum.access(SCRAM), tmp_path_factory.mktemp("spark")
    records = [
        Record(key=b"key %d" % at, value=b"value %d" % at, timestamp_ms=SOME_TIME_MS + at) for at in range(_COUNT)
    ]
    originals = produce(access.bootstrap_servers, records, access.librdkafka())
    start, end = originals[0].offset, originals[-1].offset + 1
    ways = {
        name: {"bootstrap.servers": quorum.access(way).bootstrap_servers, **quorum.access(way).properties()}
        for name, way in _WAYS.items()
    }
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"topic": TOPIC, "start": start, "end": end, "ways": ways}))
    jars = ",".join(str(jar) for jar in installed_connector())

    command = [sys.executable, "-m", "tests.secured.spark_application", jars, str(folder), str(plan)]
    output = run_to_end("Spark", command, within_s=HANG_S).require_success()

    results = [json.loads(line) for line in output.splitlines()]
    return Copied(
        originals=originals,
        read={result["name"]: [record_of(row) for row in result["rows"]] for result in results},
        log=consume(access.bootstrap_servers, end, access.librdkafka()),
    )


@pytest.mark.parametrize("query", ["batch", "stream"])
@pytest.mark.parametrize("way", _WAYS)
def test_sparks_source_reads_every_record(copied: Copied, way: str, query: str) -> None:
    assert copied.read[f"{way} {query}"] == copied.originals


@pytest.mark.parametrize(
    ("way", "query", "place"),
    [("SASL_SSL", "stream", 0), ("SASL_SSL", "batch", 1), ("SSL", "stream", 2), ("SSL", "batch", 3)],
)
def test_sparks_sink_writes_every_record_once_and_in_order(copied: Copied, way: str, query: str, place: int) -> None:
    written = copied.log[place * _COUNT : (place + 1) * _COUNT]

    assert [(record.key, record.value) for record in written] == [
        (record.key, f"{way} {query} ".encode() + (record.value or b"")) for record in copied.originals
    ]
    assert len(copied.log) == 2 * len(_WAYS) * _COUNT
