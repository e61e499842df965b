"""Options of Spark's Kafka source and sink, and of Kafka's clients, that do not exist here: refused in words.

After `bad source options`, `unsupported kafka configs`, `bad batch query options` and `exception on config serializer`
of Spark's suites.
"""

from __future__ import annotations

import time
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException

from tests.spark.frames import Frames
from tests.spark.lone_log import LoneLog
from tests.spark.streams import Input, into_log, run_to_end

pytestmark = pytest.mark.spark

ONE_LOG = "a quorum has one topic with one partition, so there is nothing to choose"
BYTES = "keys and values are bytes"
NO_GROUPS = "there are no consumer groups"
START = "startingOffsets is the start of a new query"

REFUSED_BY_READS: list[tuple[dict[str, Any], str]] = [
    ({"subscribe": "t"}, ONE_LOG),
    ({"subscribePattern": ""}, ONE_LOG),
    ({"assign": '{"t": [0]}'}, ONE_LOG),
    ({"endingOffsetsByTimestamp": '{"t": {"0": 1000}}'}, "use startingTimestamp and endingTimestamp"),
    (
        {"minOffsetsPerTrigger": 20, "maxOffsetsPerTrigger": 15},
        "minOffsetsPerTrigger=20 is above maxOffsetsPerTrigger=15",
    ),
    ({"startingOffsets": '{"t": {"0": -1}}'}, "expected earliest, latest or an offset"),
    ({"endingOffsets": "earliest"}, "endingOffsets=earliest: expected latest or an offset of 0 or more"),
]
CONFIGS_OF_READS = [
    *(("kafka.auto.offset.reset", value, START) for value in ("none", "latest")),
    ("kafka.enable.auto.commit", "true", NO_GROUPS),
    ("kafka.interceptor.classes", "a.Class", "records are not passed to interceptors"),
    ("kafka.key.deserializer", "a.Class", BYTES),
    ("kafka.value.deserializer", "a.Class", BYTES),
    ("kafka.group.id", "a group", NO_GROUPS),
    ("kafka.isolation.level", "read_uncommitted", "only committed records are read"),
]
CONFIGS_OF_WRITES = [
    ("kafka.key.serializer", BYTES),
    ("kafka.value.serializer", BYTES),
    ("kafka.partitioner.class", ONE_LOG),
    ("topic", ONE_LOG),
]


@pytest.mark.kafka_suite(5, 38)
def test_option_of_a_read_is_an_error_of_load_for_streams_and_batches(frames: Frames) -> None:
    # Each refusal costs a process, so only the first option is tried with both.
    loads = cycle((frames.stream, frames.read))
    for (options, message), load in zip([REFUSED_BY_READS[0], *REFUSED_BY_READS], loads, strict=False):
        with pytest.raises(AnalysisException) as refusal:
            load(**options)
        assert message in str(refusal.value), (options, load)


@pytest.mark.kafka_suite(6)
def test_config_of_kafkas_consumer_is_an_error_of_load_that_says_why(frames: Frames) -> None:
    loads = cycle((frames.stream, frames.read))
    for (name, value, reason), load in zip(CONFIGS_OF_READS, loads, strict=False):
        with pytest.raises(AnalysisException) as refusal:
            load(**{name: value})
        assert f"option {name} of Kafka does not exist here: {reason}" in str(refusal.value), load


@pytest.mark.kafka_suite(39, 43)
def test_config_of_kafkas_producer_is_an_error_of_save_that_says_why(frames: Frames) -> None:
    end = frames.end()

    for name, reason in CONFIGS_OF_WRITES:
        with pytest.raises(AnalysisException) as refusal:
            frames.write(frames.values(["x"]), **{name: "x"})
        assert f"option {name} of Kafka does not exist here: {reason}" in str(refusal.value)

    assert frames.end() == end


@pytest.mark.kafka_suite(39)
@pytest.mark.parametrize(("name", "reason"), CONFIGS_OF_WRITES[:2])
def test_config_of_kafkas_producer_ends_a_query_before_its_first_batch(
    frames: Frames, tmp_path: Path, name: str, reason: str
) -> None:
    source = Input(tmp_path / "input")
    source.add(["x"])
    stream = source.stream(frames.spark)

    with pytest.raises(StreamingQueryException) as refusal:
        run_to_end(into_log(stream, frames.servers, tmp_path / "checkpoint", **{name: "foo"}).start())

    assert f"option {name} of Kafka does not exist here: {reason}" in str(refusal.value)


@pytest.mark.kafka_suite(38)
def test_start_after_the_end_is_refused_once_both_are_known(lone_log: LoneLog) -> None:
    frames, future_ms = lone_log.frames(), int(time.time() * 1000) + 3_600_000
    lone_log.append(["a"])
    lone_log.append(["b", "c"], timestamp_ms=future_ms)
    refused: list[tuple[dict[str, Any], str]] = [
        (
            {"startingOffsets": 3, "endingTimestamp": future_ms},
            "the read starts at offset 3, expected a start up to its end at 2",
        ),
        ({"startingTimestamp": future_ms, "endingOffsets": 1}, "the read starts at offset 2, expected"),
        ({"startingOffsets": 5}, "startingOffsets=5 is after the end of the log, expected 0 to 4"),
        ({"startingOffsets": 5, "endingOffsets": "latest"}, "startingOffsets=5 is after the end of the log"),
    ]

    for options, message in refused:
        with pytest.raises(PySparkException) as refusal:
            frames.read(**options).count()
        assert message in str(refusal.value), options
