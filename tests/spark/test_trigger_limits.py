"""A least and a most number of rows of a micro-batch together, and how long a batch waits.

After Spark's KafkaMicroBatchSourceSuite, `minOffsetsPerTrigger` and `compositeReadLimit`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.frames import Frames, numbered
from tests.spark.lone_log import LoneLog
from tests.spark.streams import Delivered, wait_until

pytestmark = pytest.mark.spark

LIMITS = {"minOffsetsPerTrigger": 15, "maxOffsetsPerTrigger": 20}


@pytest.fixture
def frames(lone_log: LoneLog) -> Frames:
    return lone_log.frames()


def sizes(delivered: Delivered) -> list[int]:
    return [len(delivered.batches[number]) for number in sorted(delivered.batches)]


def wait_until_idle(query: StreamingQuery, batches: int) -> None:
    """Wait until the query has done so many batches, and a trigger after them has found that none is due."""
    wait_until(lambda: len(query.recentProgress) >= batches, f"{batches} batches", query)
    wait_until(lambda: query.status["message"] == "Waiting for data to arrive", "the query has nothing to do", query)


@pytest.mark.kafka_suite(13, 14)
def test_batch_of_rows_beyond_the_most_waits_until_they_are_the_least(
    lone_log: LoneLog, frames: Frames, tmp_path: Path
) -> None:
    lone_log.append(numbered("row", 33))
    stream = frames.stream(startingOffsets="earliest", maxTriggerDelay="1 hour", **LIMITS)
    delivered = Delivered(stream, tmp_path / "checkpoint")
    query = delivered.start()
    try:
        wait_until_idle(query, 1)
        assert sizes(delivered) == [20], "the first batch does not wait; thirteen rows are left"
        lone_log.append_together(numbered("row", 19, start=33))
        wait_until(lambda: len(delivered.batches) > 1, "the batch with enough rows", query)
        wait_until_idle(query, 2)
        assert sizes(delivered) == [20, 20], "twelve rows are left"
    finally:
        query.stop()

    # The first batch of a restart does not wait.
    query = delivered.start()
    try:
        wait_until(lambda: len(delivered.batches) > 2, "the batch after the restart", query)
    finally:
        query.stop()
    assert sizes(delivered) == [20, 20, 12]
    assert delivered.values == numbered("row", 52)


@pytest.mark.kafka_suite(13, 14)
def test_batch_with_fewer_rows_than_the_least_is_read_after_the_delay(
    lone_log: LoneLog, frames: Frames, tmp_path: Path
) -> None:
    lone_log.append(numbered("row", 33))
    stream = frames.stream(startingOffsets="earliest", maxTriggerDelay="1s", **LIMITS)
    delivered = Delivered(stream, tmp_path / "checkpoint")
    query = delivered.start()
    try:
        wait_until(lambda: len(delivered.values) >= 33, "the rows after the delay", query)
    finally:
        query.stop()

    assert sizes(delivered) == [20, 13]


@pytest.mark.kafka_suite(11, 13, 14)
def test_once_reads_all_rows_with_any_limits(lone_log: LoneLog, frames: Frames, tmp_path: Path) -> None:
    lone_log.append(numbered("row", 42))
    stream = frames.stream(startingOffsets="earliest", maxTriggerDelay="1 hour", **LIMITS)
    delivered = Delivered(stream, tmp_path / "checkpoint")

    delivered.run(once=True)
    lone_log.append(numbered("row", 11, start=42))
    delivered.run(once=True)

    assert delivered.batches == {0: numbered("row", 42), 1: numbered("row", 11, start=42)}
