"""Where a new query starts, and that a restart continues it, whatever its options say by then.

After Spark's KafkaMicroBatchSourceSuite.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from tests.spark.frames import Frames, numbered
from tests.spark.lone_log import LoneLog
from tests.spark.streams import Delivered

pytestmark = pytest.mark.spark

MINUTE_MS = 60_000
STRATEGY = "startingOffsetsByTimestampStrategy"


@pytest.fixture
def log_frames(lone_log: LoneLog) -> Frames:
    return lone_log.frames()


@pytest.mark.kafka_suite(1, 7)
@pytest.mark.parametrize(
    ("start", "seen"),
    [("earLiEst", numbered("before", 3)), ("laTest", []), ("2", numbered("before", 2, start=1))],
    ids=["earliest", "latest", "offset"],
)
def test_query_reads_each_row_from_its_start_on_once_over_restarts(
    lone_log: LoneLog, log_frames: Frames, tmp_path: Path, start: str, seen: list[str]
) -> None:
    lone_log.append(numbered("before", 3))
    both = [
        Delivered(log_frames.stream(STARTINGOFFSETS=start, failondataloss=fails), tmp_path / f"checkpoint-{fails}")
        for fails in (True, False)
    ]
    expected = [*seen]

    def append(values: list[str]) -> None:
        lone_log.append(values)
        expected.extend(values)

    queries = [delivered.start() for delivered in both]
    try:
        for query in queries:
            query.processAllAvailable()
        assert [delivered.values for delivered in both] == [expected, expected], "what was there before"
        append(numbered("running", 3))
        for query in queries:
            query.processAllAvailable()
    finally:
        for query in queries:
            query.stop()
    append(numbered("stopped", 2))
    for delivered in both:
        delivered.run()

    assert [delivered.values for delivered in both] == [expected, expected]


@pytest.fixture
def timed(lone_log: LoneLog) -> tuple[int, list[str]]:
    """Two rows of a time, and two rows of a later time; return the later time and its rows.

    Both times are in the future, because the control record of the leader has the present time.
    """
    first_ms = int(time.time() * 1000) + 60 * MINUTE_MS
    lone_log.append(numbered("first", 2), timestamp_ms=first_ms)
    lone_log.append(numbered("second", 2), timestamp_ms=first_ms + MINUTE_MS)
    return first_ms + MINUTE_MS, numbered("second", 2)


@pytest.mark.kafka_suite(2, 4)
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_query_starts_at_the_first_row_of_a_time_even_beside_a_starting_offset(
    lone_log: LoneLog,
    log_frames: Frames,
    timed: tuple[int, list[str]],
    tmp_path: Path,
    fail_on_data_loss: bool,
) -> None:
    time_ms, expected = timed
    stream = log_frames.stream(startingTimestamp=time_ms, startingOffsets="earliest", failOnDataLoss=fail_on_data_loss)
    delivered = Delivered(stream, tmp_path / "checkpoint")

    delivered.run()
    assert delivered.values == expected
    lone_log.append(["later, of an earlier time"], timestamp_ms=0)
    delivered.run()

    assert delivered.values == [*expected, "later, of an earlier time"]


@pytest.mark.kafka_suite(3)
@pytest.mark.parametrize("strategy", [{}, {STRATEGY: "error"}], ids=["default", "error"])
def test_query_fails_when_no_row_has_its_starting_time(
    log_frames: Frames, timed: tuple[int, list[str]], tmp_path: Path, strategy: dict[str, Any]
) -> None:
    stream = log_frames.stream(startingTimestamp=timed[0] + 1, **strategy)

    with pytest.raises(StreamingQueryException, match="no record has this timestamp or a later one"):
        Delivered(stream, tmp_path / "checkpoint").run()


@pytest.mark.kafka_suite(3)
def test_query_waits_for_new_rows_when_no_row_has_its_starting_time_and_the_option_says_so(
    lone_log: LoneLog, log_frames: Frames, timed: tuple[int, list[str]], tmp_path: Path
) -> None:
    stream = log_frames.stream(startingTimestamp=timed[0] + 1, **{STRATEGY: "latest"})
    delivered = Delivered(stream, tmp_path / "checkpoint")

    delivered.run()
    assert delivered.values == []
    lone_log.append(numbered("new", 3), timestamp_ms=timed[0])
    delivered.run()

    assert delivered.values == numbered("new", 3)


@pytest.mark.kafka_suite(8)
def test_query_that_is_stopped_before_its_first_row_starts_there_again(
    lone_log: LoneLog, log_frames: Frames, tmp_path: Path
) -> None:
    lone_log.append(["before the query"])
    delivered = Delivered(log_frames.stream(), tmp_path / "checkpoint")
    for _ in range(2):
        query = delivered.start()
        query.processAllAvailable()
        query.stop()
    lone_log.append(["after the query was stopped"])

    delivered.run()

    assert delivered.values == ["after the query was stopped"]


@pytest.mark.kafka_suite(24)
def test_source_without_new_rows_keeps_its_place_while_another_one_is_read(
    lone_log: LoneLog, log_frames: Frames, frames: Frames, tmp_path: Path
) -> None:
    start = frames.end()
    lone_log.append(numbered("idle", 10))
    frames.write(frames.values(numbered("busy", 15)).coalesce(1))
    idle = log_frames.stream(startingOffsets="earliest", maxOffsetsPerTrigger=5)
    delivered = Delivered(
        idle.union(frames.stream(startingOffsets=start, maxOffsetsPerTrigger=5)), tmp_path / "checkpoint"
    )

    delivered.run()
    frames.write(frames.values(numbered("busy", 10, start=15)).coalesce(1))
    delivered.run()

    assert [sorted(str(value) for value in delivered.batches[number]) for number in sorted(delivered.batches)] == [
        numbered("busy", 5) + numbered("idle", 5),
        numbered("busy", 5, start=5) + numbered("idle", 5, start=5),
        *(numbered("busy", 5, start=at) for at in (10, 15, 20)),
    ]
