"""Reads that start some rows before the end of the log, or some time before now."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from tests.node.harness.waiting import eventually
from tests.spark.frames import Frames, numbered
from tests.spark.quorums import local_quorum
from tests.spark.streams import Delivered
from tests.spark.test_read_limits import append

pytestmark = pytest.mark.spark

MINUTE_MS = 60_000


@pytest.mark.parametrize(("rows", "expected"), [(1, 1), (7, 7), (15, 15), (100, 15), (1 << 40, 15)])
def test_rows_before_the_end_are_counted_without_control_records(
    spark: SparkSession, tmp_path: Path, rows: int, expected: int
) -> None:
    for leader in range(3):
        with LocalQuorum.start(tmp_path / "quorum", voters=1) as quorum, quorum.client() as client:
            append(client, *numbered("row", 2, start=5 * leader))
            append(client, *numbered("row", 3, start=5 * leader + 2))
    with local_quorum(spark, tmp_path / "quorum", voters=1) as quorum:
        frames = Frames.of(spark, quorum)
        delivered = Delivered(frames.stream(startingOffsets=-rows), tmp_path / "checkpoint")

        delivered.run()
        of_a_batch = frames.log_values(-rows)

    assert delivered.values == of_a_batch == numbered("row", 15)[-expected:]


def test_start_before_the_end_counts_once_and_a_restart_continues(lone_frames: Frames, tmp_path: Path) -> None:
    with lone_frames.client() as client:
        append(client, *numbered("row", 200))
        delivered = Delivered(lone_frames.stream(startingOffsets=-100), tmp_path / "checkpoint")
        delivered.run()
        append(client, *numbered("row", 150, start=200))

        delivered.run()

    assert delivered.values == numbered("row", 250, start=100)
    assert [len(delivered.batches[number]) for number in sorted(delivered.batches)] == [100, 150]


@pytest.fixture
def old(lone_frames: Frames) -> Frames:
    """A log with a row that is older than a second. The rows that the tests append have times in the future.

    The control record of the leader also has a time. It is the oldest record.
    """
    with lone_frames.client() as client:
        append(client, "old")
        end_s = time.time() + 1.1
        eventually(lambda: time.time() > end_s, "the row is older than a second")
    return lone_frames


def append_new(frames: Frames, *values: str) -> None:
    with frames.client() as client:
        append(client, *values, timestamp_ms=int(time.time() * 1000) + 60 * MINUTE_MS)


def test_start_before_now_is_that_of_the_first_run_and_a_restart_continues(old: Frames, tmp_path: Path) -> None:
    append_new(old, "new")
    delivered = Delivered(old.stream(startingTimestamp="-1 second"), tmp_path / "checkpoint")

    delivered.run()
    assert delivered.values == ["new"]
    with old.client() as client:
        append(client, "appended later with an old time", timestamp_ms=0)
    delivered.run()

    assert delivered.values == ["new", "appended later with an old time"]
    read = old.read(startingTimestamp="-1 second").selectExpr("cast(value as string)").collect()
    assert [row.value for row in read] == delivered.values


@pytest.mark.kafka_suite(3)
def test_start_before_now_waits_for_rows_when_no_row_is_as_new(old: Frames, tmp_path: Path) -> None:
    delivered = Delivered(old.stream(startingTimestamp="-1 second"), tmp_path / "checkpoint")
    delivered.run()
    assert delivered.values == []
    append_new(old, "new")

    delivered.run()

    assert delivered.values == ["new"]


def test_start_before_the_log_is_its_start(old: Frames, tmp_path: Path) -> None:
    delivered = Delivered(old.stream(startingTimestamp="-10 minutes"), tmp_path / "checkpoint")

    delivered.run()

    assert delivered.values == ["old"]
