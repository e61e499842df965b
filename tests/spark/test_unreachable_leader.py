"""Queries without a leader: they can be stopped, and a failed look-up or write changes nothing.

After `cannot stop Kafka stream`, SPARK-41375, SPARK-53560 and `write to non-existing topic` of Spark's suites.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.hang import HANG_S
from tests.spark.frames import numbered
from tests.spark.lone_log import LoneLog
from tests.spark.streams import Checkpoint, Delivered, Input, into_log, run_to_end, wait_until

pytestmark = pytest.mark.spark

PATIENT = {"kraft.default.api.timeout.ms": 3_600_000}
IMPATIENT = {"kraft.default.api.timeout.ms": 3_000}


def stops(query: StreamingQuery) -> bool:
    """Stop a query; return whether that ended."""
    stopping = threading.Thread(target=query.stop, daemon=True)
    stopping.start()
    stopping.join(HANG_S)
    return not stopping.is_alive()


@pytest.mark.kafka_suite(10)
@pytest.mark.parametrize("has_leader", [True, False], ids=["idle", "without a leader"])
def test_query_can_be_stopped(lone_log: LoneLog, tmp_path: Path, has_leader: bool) -> None:
    lone_log.append(numbered("row", 5))
    stream = lone_log.frames().stream(startingOffsets="earliest", **PATIENT)
    delivered = Delivered(stream, tmp_path / "checkpoint")
    query = delivered.start()
    query.processAllAvailable()
    if not has_leader:
        lone_log.stop()
        wait_until(lambda: query.status["message"].startswith("Getting offsets"), "it asks for a leader", query)

    assert stops(query)

    assert query.exception() is None
    assert delivered.values == numbered("row", 5)


@pytest.mark.kafka_suite(20)
def test_look_up_that_fails_changes_no_offset_and_loses_no_row(lone_log: LoneLog, tmp_path: Path) -> None:
    lone_log.append(numbered("row", 3))
    stream = lone_log.frames().stream(startingOffsets="earliest", **IMPATIENT)
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    delivered = Delivered(stream, checkpoint.path)
    query = delivered.start()
    try:
        query.processAllAvailable()
        before = checkpoint.offset(0)

        lone_log.stop()
        with pytest.raises(StreamingQueryException, match="QuorumUn"):
            query.awaitTermination(HANG_S)
    finally:
        query.stop()
    assert (checkpoint.planned, checkpoint.offset(0)) == ([0], before)
    lone_log.restart()
    lone_log.append(numbered("row", 2, start=3))
    delivered.run()

    assert delivered.batches == {0: numbered("row", 3), 1: numbered("row", 2, start=3)}


@pytest.mark.kafka_suite(17)
def test_batch_that_failed_is_replayed_with_the_same_rows_when_its_query_ends_with_what_is_available(
    lone_log: LoneLog, tmp_path: Path
) -> None:
    lone_log.append(numbered("row", 7))
    stream = lone_log.frames().stream(startingOffsets="earliest")
    is_broken = True

    def fail(_number: int) -> None:
        if is_broken:
            raise ValueError("error for row 7")

    delivered = Delivered(stream, tmp_path / "checkpoint", on_batch=fail)
    for attempt in range(2):
        with pytest.raises(StreamingQueryException, match="error for row 7"):
            delivered.run()
        lone_log.append(numbered(f"after-attempt-{attempt}", 2))
    is_broken = False

    delivered.run()

    later = [value for attempt in range(2) for value in numbered(f"after-attempt-{attempt}", 2)]
    assert delivered.batches == {0: numbered("row", 7), 1: later}


@pytest.mark.kafka_suite(40)
def test_query_that_writes_fails_when_no_quorum_is_there(spark: SparkSession, tmp_path: Path) -> None:
    source = Input(tmp_path / "input")
    source.add(numbered("row", 5))

    timeout = {"kraft.default.api.timeout.ms": 3000}
    query = into_log(source.stream(spark), "127.0.0.1:1", tmp_path / "checkpoint", **timeout).start()

    with pytest.raises(StreamingQueryException) as failure:
        run_to_end(query)
    assert "QuorumUnreachableError: no node of the quorum could be connected to in " in str(failure.value)
    assert " s: 127.0.0.1:1: Connection refused" in str(failure.value)
