"""Invalid reads: the exception says what is wrong and what is expected, as early as that is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException
from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from tests.spark.frames import SERVERS, Frames
from tests.spark.streams import Delivered

pytestmark = pytest.mark.spark

FAST = {"kraft.default.api.timeout.ms": "700"}
UNUSED_ADDRESS = {SERVERS: "127.0.0.1:1", **FAST}
UNREACHABLE = " s: 127.0.0.1:1: Connection refused"
"""Follows the time of the attempt."""


@pytest.mark.kafka_suite(5, 38)
def test_option_is_rejected_when_the_dataframe_is_created(spark: SparkSession) -> None:
    refusals: list[tuple[DataFrameReader | DataStreamReader, dict[str, str], str]] = [
        (spark.read, {"startingOffset": "1"}, "unknown option startingoffset: did you mean startingOffsets?"),
        (spark.readStream, {"startingOffsets": "abc"}, "startingOffsets=abc: expected earliest, latest or an offset"),
        (spark.read, {"startingOffsets": "5", "endingOffsets": "3"}, "startingOffsets=5 is after endingOffsets=3"),
        (spark.readStream, {SERVERS: ""}, "option kraft.bootstrap.servers is missing: expected host:port,..."),
    ]

    for reader, options, message in refusals:
        with pytest.raises(AnalysisException) as refusal:
            reader.format("kraft").options(**{**UNUSED_ADDRESS, **options}).load()
        assert refusal.value.getCondition() == "PYTHON_DATA_SOURCE_ERROR"
        assert f"ConfigError: {message}" in str(refusal.value)


@pytest.mark.kafka_suite(3, 38)
def test_batch_is_rejected_at_its_first_use_when_only_the_quorum_knows_the_error(frames: Frames) -> None:
    end = frames.end()
    refusals: list[tuple[dict[str, Any], str]] = [
        (
            {"startingOffsets": end + 1},
            f"ConfigError: startingOffsets={end + 1} is after the end of the log, expected 0 to {end}",
        ),
        (
            {"endingOffsets": end + 1},
            f"ConfigError: endingOffsets={end + 1} is after the end of the log, expected at most {end}",
        ),
        (
            {"startingTimestamp": 1 << 52},
            f"ConfigError: startingTimestamp={1 << 52}: no record has this timestamp",
        ),
        ({"startingTimestamp": 9**15, "endingOffsets": 0}, "no record has this timestamp"),
        (
            {"startingOffsets": "latest"},
            "ConfigError: startingOffsets=latest is for streams only",
        ),
        ({"kraft.cluster.id": "J8qFJ5vSQ_WmUo0zCbbnZg"}, "expected J8qFJ5vSQ_WmUo0zCbbnZg"),
        (UNUSED_ADDRESS, UNREACHABLE),
    ]

    for options, message in refusals:
        read = frames.read(**options)
        with pytest.raises(PySparkException) as refusal:
            read.count()
        assert message in str(refusal.value), options


def test_stream_is_rejected_with_the_same_message_when_the_check_of_its_options_is_skipped(
    frames: Frames, tmp_path: Path
) -> None:
    reader = frames.spark.readStream.format("kraft").option(SERVERS, frames.servers)
    delivered = Delivered(reader.option("startingOffsets", "abc").schema("offset int, value int").load(), tmp_path)

    with pytest.raises(StreamingQueryException) as refusal:
        delivered.run()

    assert "ConfigError: startingOffsets=abc: expected earliest, latest or an offset" in str(refusal.value)
    assert "UnboundLocalError" not in str(refusal.value)


def test_batch_with_another_schema_is_rejected(frames: Frames) -> None:
    read = frames.spark.read.format("kraft").option(SERVERS, frames.servers).schema("id int").load()

    with pytest.raises(AnalysisException, match="the kraft source has a fixed schema, struct<key:binary,value:binary,"):
        read.count()


@pytest.mark.kafka_suite(5)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endingOffsets": "5"}, "ConfigError: endingOffsets is for batch reads only: a stream has no end"),
        (
            {"startingOffsets": "999999"},
            "ConfigError: startingOffsets=999999 is after the end of the log",
        ),
        (UNUSED_ADDRESS, UNREACHABLE),
        ({"kraft.cluster.id": "J8qFJ5vSQ_WmUo0zCbbnZg"}, "expected J8qFJ5vSQ_WmUo0zCbbnZg"),
    ],
    ids=["end", "past the end", "no node listens", "another cluster"],
)
def test_stream_is_rejected_when_it_starts(
    frames: Frames, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    delivered = Delivered(frames.stream(**options), tmp_path)

    with pytest.raises(StreamingQueryException) as refusal:
        delivered.run()

    assert message in str(refusal.value)
    assert "UnboundLocalError" not in str(refusal.value)
    assert delivered.batches == {}
