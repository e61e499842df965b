"""When a wrong value of an option is reported: of a read at `load()`, of a write at `save()` or by the query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from datasource.client_options import CONFIG_FILE, SECURITY_NAMES
from datasource.option import Use
from datasource.options import OPTIONS
from tests.spark.frames import SERVERS, Frames
from tests.spark.streams import Input, into_log, run_to_end

pytestmark = pytest.mark.spark

UNUSED = "has no effect with kraft.security.protocol=PLAINTEXT: remove it"
WRONG_OF_CLIENTS = {
    "kraft.bootstrap.servers": ("h", "expected host:port with a port of 1 to 65535"),
    "kraft.cluster.id": (" ", "expected a text that is not empty"),
    "kraft.default.api.timeout.ms": ("0", "expected a whole number of 1 or more"),
    "kraft.request.timeout.ms": ("1.5", "expected a whole number of 1 or more"),
    "kraft.socket.connection.setup.timeout.ms": ("-5", "expected a whole number of 1 or more"),
    "kraft.max.request.size": ("0", "expected 1 to 267386880"),
    "kraft.security.protocol": ("TLS", "expected PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    "kraft.sasl.jaas.config": ("x", UNUSED),  # as all others of SECURITY_NAMES: tests/datasource
}
WRONG_OF_READS = WRONG_OF_CLIENTS | {
    "startingOffsets": ("abc", "expected earliest, latest or an offset"),
    "endingOffsets": ("-1", "expected latest or an offset of 0 or more"),
    "startingTimestamp": ("yesterday", "expected milliseconds since 1970"),
    "endingTimestamp": ("tomorrow", "expected milliseconds since 1970"),
    "startingOffsetsByTimestampStrategy": ("skip", "expected error or latest"),
    "maxOffsetsPerTrigger": ("0", "expected a whole number of 1 or more"),
    "maxBytesPerTrigger": ("-1", "expected a whole number of 1 or more"),
    "minOffsetsPerTrigger": ("few", "expected a whole number of 1 or more"),
    "maxTriggerDelay": ("soon", "expected a duration such as"),
    "minPartitions": ("0", "expected a whole number of 1 or more"),
    "maxRecordsPerPartition": ("many", "expected a whole number of 1 or more"),
    "failOnDataLoss": ("yes", "expected true or false"),
    "includeHeaders": ("", "expected true or false"),
    "includeControlRecords": ("1", "expected true or false"),
    "view": ("newest", "expected log or latest"),
    "kraft.read.from": ("moon", "expected leader, any, nearest"),
    "kraft.client.rack": ("", "expected a text that is not empty"),
}
WRONG_OF_WRITES = WRONG_OF_CLIENTS | {
    "txnAppId": ("", "expected a text that is not empty"),
    "txnVersion": ("-1", "expected a whole number of 0 or more"),
    "failOnWriteConflict": ("maybe", "expected true or false"),
    "readColumns": ("keep", "expected refuse, drop, keepTimestamps"),
}


def said_of(name: str, value: str, message: str) -> str:
    """What the error says. A value without an effect is not shown: it may be a secret."""
    return f"{name} {message}" if message == UNUSED else f"{name}={value.strip()}: {message}"


def test_tables_have_every_option() -> None:
    reads = {row.name for row in OPTIONS if row.uses & Use.READ}
    writes = {row.name for row in OPTIONS if row.uses & Use.WRITE}

    assert {*WRONG_OF_READS, *SECURITY_NAMES, CONFIG_FILE} == reads
    assert {*WRONG_OF_WRITES, *SECURITY_NAMES, CONFIG_FILE} == writes


@pytest.mark.kafka_suite(5, 31)
@pytest.mark.parametrize(
    ("name", "value", "message"), [(name, *wrong) for name, wrong in WRONG_OF_READS.items()], ids=[*WRONG_OF_READS]
)
def test_wrong_value_of_a_read_is_an_error_of_load(frames: Frames, name: str, value: str, message: str) -> None:
    for load in (frames.read, frames.stream):
        with pytest.raises(AnalysisException) as refusal:
            load(**{name: value})
        assert said_of(name, value, message) in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value", "message"), [(name, *wrong) for name, wrong in WRONG_OF_WRITES.items()], ids=[*WRONG_OF_WRITES]
)
def test_wrong_value_of_a_write_is_an_error_of_save(frames: Frames, name: str, value: str, message: str) -> None:
    end = frames.end()

    with pytest.raises(AnalysisException) as refusal:
        frames.write(frames.values(["x"]), **{name: value})

    assert said_of(name, value, message) in str(refusal.value)
    assert frames.end() == end


@pytest.mark.parametrize("name", [*WRONG_OF_WRITES])
def test_wrong_value_of_a_streaming_write_ends_the_query_before_its_first_batch(
    frames: Frames, tmp_path: Path, name: str
) -> None:
    """Spark 4.3 asks the source for nothing at `start()`."""
    end, source = frames.end(), Input(tmp_path / "input")
    source.add(["x"])
    value, message = WRONG_OF_WRITES[name]
    writer = into_log(source.stream(frames.spark), frames.servers, tmp_path / "checkpoint", **{name: value})

    query = writer.start()

    with pytest.raises(StreamingQueryException) as refusal:
        run_to_end(query)
    assert said_of(name, value, message) in str(refusal.value)
    assert frames.end() == end


@pytest.mark.kafka_suite(38)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxOffsetsPerTrigger": 5}, "maxOffsetsPerTrigger is for streams only: a batch read has no triggers"),
        ({"startingOffsets": "latest"}, "startingOffsets=latest is for streams only"),
    ],
    ids=["trigger", "latest"],
)
def test_option_of_streams_is_an_error_of_the_first_action_of_a_batch(
    frames: Frames, options: dict[str, Any], message: str
) -> None:
    """Spark 4.3 does not say at `load()` whether the read is a batch or a stream."""
    read = frames.read(**options)

    with pytest.raises(AnalysisException) as refusal:
        read.count()
    assert message in str(refusal.value)


@pytest.mark.kafka_suite(5)
@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp"])
def test_option_of_batches_ends_the_query_of_a_stream(frames: Frames, tmp_path: Path, name: str) -> None:
    stream = frames.stream(**{name: 5})

    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()

    with pytest.raises(StreamingQueryException) as refusal:
        run_to_end(query)
    assert f"{name} is for batch reads only: a stream has no end" in str(refusal.value)


def test_wrong_value_is_an_error_of_the_first_action_if_the_program_gives_a_schema(frames: Frames) -> None:
    """Spark 4.3 asks the source for nothing at `load()` then."""
    reader = frames.spark.read.format("kraft").option(SERVERS, frames.servers).option("startingOffsets", "abc")

    read = reader.schema("value binary").load()

    with pytest.raises(AnalysisException, match="startingOffsets=abc: expected earliest, latest or an offset"):
        read.count()
