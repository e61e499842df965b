"""How many rows and bytes the micro-batches of a stream have, which wait for rows, and what the progress says of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from raft.client import Client
from raft.local import LocalQuorum
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Offset
from tests.spark.frames import Frames, numbered
from tests.spark.quorums import local_quorum
from tests.spark.streams import Delivered, wait_until

pytestmark = pytest.mark.spark

ROWS = 7
BATCHES = 10
LEADERS = 5


@pytest.fixture(scope="module")
def led_often(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalQuorum]:
    """A quorum of one voter whose log has 70 rows, each a record batch, and control records of five epochs."""
    folder = tmp_path_factory.mktemp("led-often")
    values = iter(numbered("row", ROWS * BATCHES))
    for _ in range(LEADERS):
        with LocalQuorum.start(folder, voters=1) as quorum, quorum.client() as client:
            for _ in range(ROWS * BATCHES // LEADERS):
                append(client, next(values))
    with local_quorum(spark, folder, voters=1) as quorum:
        yield quorum


def append(client: Client, *values: str, timestamp_ms: int | None = None) -> Offset:
    """Append a record batch."""
    at_ms = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
    records = [Record(value=value.encode(), timestamp_ms=at_ms) for value in values]
    return client.append(build_batch(records)).base_offset


def sizes(delivered: Delivered) -> list[int]:
    """How many rows each micro-batch has that has any."""
    return [len(delivered.batches[number]) for number in sorted(delivered.batches) if delivered.batches[number]]


def of_source(query: StreamingQuery, name: str) -> list[Any]:
    """A field of the progress of the source, for each micro-batch."""
    return [progress["sources"][0][name] for progress in query.recentProgress]


def offsets(query: StreamingQuery, name: str) -> list[int]:
    """The offset in a field of the progress that has one."""
    return [json.loads(text)["offset"] for text in of_source(query, name)]


@pytest.mark.kafka_suite(11, 18)
def test_ten_batches_are_ten_whatever_lies_between_the_rows(
    spark: SparkSession, led_often: LocalQuorum, tmp_path: Path
) -> None:
    frames = Frames.of(spark, led_often)
    delivered = Delivered(frames.stream(startingOffsets="earliest", maxOffsetsPerTrigger=ROWS), tmp_path)

    query = delivered.run()

    assert frames.end() > ROWS * BATCHES + LEADERS, "there are control records"
    assert sizes(delivered) == [ROWS] * BATCHES
    assert [progress["numInputRows"] for progress in query.recentProgress] == [ROWS] * BATCHES
    assert of_source(query, "numInputRows") == [ROWS] * BATCHES
    assert delivered.values == numbered("row", ROWS * BATCHES)


def test_progress_says_where_the_log_ends_while_a_limit_holds_the_batches_back(
    spark: SparkSession, led_often: LocalQuorum, tmp_path: Path
) -> None:
    frames = Frames.of(spark, led_often)
    delivered = Delivered(frames.stream(startingOffsets="earliest", maxOffsetsPerTrigger=3 * ROWS), tmp_path)

    query = delivered.run()

    end = frames.end()
    assert offsets(query, "latestOffset") == [end] * 4
    ends = offsets(query, "endOffset")
    assert ends == sorted(ends)
    assert ends[0] < ends[2] < ends[3] == end
    # The monitor of kraft_spark takes it for a place of the same log.
    assert {json.loads(text)["clusterId"] for text in of_source(query, "latestOffset")} == {led_often.cluster_id}


@pytest.fixture
def of_record_batches(lone_frames: Frames) -> Frames:
    """A log with twelve record batches of a row of 1000 bytes, and one in the middle of 20000 bytes."""
    with lone_frames.client() as client:
        for number in range(12):
            append(client, f"{number:03}".ljust(20_000 if number == 6 else 1_000, "."))
    return lone_frames


@pytest.mark.kafka_suite(14, 15)
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param({"maxBytesPerTrigger": 3_500}, [3, 3, 1, 3, 2], id="bytes"),
        pytest.param({"maxBytesPerTrigger": 1}, [1] * 12, id="fewer than one has"),
        pytest.param({"maxBytesPerTrigger": 1 << 62}, [12], id="more than there are"),
        pytest.param({"maxBytesPerTrigger": 3_500, "maxOffsetsPerTrigger": 2}, [2, 2, 2, 1, 2, 2, 1], id="and rows"),
        pytest.param({"maxBytesPerTrigger": 22_500, "maxOffsetsPerTrigger": 5}, [5, 3, 4], id="or rows"),
        pytest.param({"minOffsetsPerTrigger": 100}, [12], id="fewer rows than wanted"),
        pytest.param({"minOffsetsPerTrigger": 5, "maxOffsetsPerTrigger": 5}, [5, 5, 2], id="exactly so many rows"),
    ],
)
def test_available_rows_are_read_in_batches_within_the_limits(
    of_record_batches: Frames, tmp_path: Path, limits: dict[str, int], expected: list[int]
) -> None:
    delivered = Delivered(of_record_batches.stream(startingOffsets="earliest", **limits), tmp_path / "checkpoint")

    query = delivered.run()

    assert sizes(delivered) == expected
    assert [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]] == expected
    assert [str(value)[:3] for value in delivered.values] == [f"{number:03}" for number in range(12)]


def test_limit_of_bytes_counts_record_batches_that_rows_divide_as_a_whole(lone_frames: Frames, tmp_path: Path) -> None:
    with lone_frames.client() as client:
        for number in range(4):
            append(client, *numbered(f"batch-{number}", 3))
    stream = lone_frames.stream(startingOffsets="earliest", maxOffsetsPerTrigger=2, maxBytesPerTrigger=1 << 20)
    delivered = Delivered(stream, tmp_path / "checkpoint")

    delivered.run()

    assert sizes(delivered) == [2] * 6


@pytest.mark.kafka_suite(13)
def test_batch_waits_until_it_has_enough_rows(lone_frames: Frames, tmp_path: Path) -> None:
    stream = lone_frames.stream(startingOffsets="earliest", minOffsetsPerTrigger=3, maxTriggerDelay="10 minutes")
    delivered = Delivered(stream, tmp_path / "checkpoint")
    with lone_frames.client() as client:
        append(client, "the first batch does not wait")
        query = delivered.start()
        try:
            wait_until(lambda: sizes(delivered) == [1], "the first batch", query)
            for value in ("a", "b", "c"):
                append(client, value)
            wait_until(lambda: len(delivered.values) == 4, "the batch with enough rows", query)
        finally:
            query.stop()

    assert sizes(delivered) == [1, 3]


@pytest.mark.kafka_suite(13)
def test_batch_with_too_few_rows_is_read_after_the_delay(lone_frames: Frames, tmp_path: Path) -> None:
    stream = lone_frames.stream(startingOffsets="earliest", minOffsetsPerTrigger=1_000, maxTriggerDelay="1s")
    delivered = Delivered(stream, tmp_path / "checkpoint")
    with lone_frames.client() as client:
        append(client, "first")
        query = delivered.start()
        try:
            wait_until(lambda: sizes(delivered) == [1], "the first batch", query)
            append(client, "second")
            wait_until(lambda: sizes(delivered) == [1, 1], "the batch after the delay", query)
        finally:
            query.stop()


@pytest.mark.kafka_suite(11)
@pytest.mark.parametrize("limit", ["maxOffsetsPerTrigger", "maxBytesPerTrigger"])
def test_query_with_a_limit_continues_where_it_stopped(lone_frames: Frames, tmp_path: Path, limit: str) -> None:
    stream = lone_frames.stream(startingOffsets="earliest", **{limit: 4})
    with lone_frames.client() as client:
        for number in range(6):
            append(client, f"{number}")
    delivered = Delivered(stream, tmp_path / "checkpoint")
    delivered.run()
    with lone_frames.client() as client:
        for number in range(6, 11):
            append(client, f"{number}")

    delivered.run()

    assert delivered.values == [f"{number}" for number in range(11)]
    assert max(sizes(delivered)) == (4 if limit == "maxOffsetsPerTrigger" else 1)
