"""Records that are lost while they are read: under the tasks of a batch, between two batches, before the first one.

After Spark's KafkaMicroBatchSourceSuite, KafkaRelationSuite and KafkaDontFailOnDataLossSuite.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException, StreamingQueryException

from tests.spark.frames import Frames, numbered
from tests.spark.lone_log import LoneLog
from tests.spark.streams import Delivered, wait_until

pytestmark = pytest.mark.spark

IMPATIENT = {"kraft.default.api.timeout.ms": 1_000}
Loss = Callable[[LoneLog], None]


@pytest.fixture
def frames(lone_log: LoneLog) -> Frames:
    return lone_log.frames()


def recreated(log: LoneLog) -> None:
    log.recreate()
    log.append(numbered("recreated", 2))


def aged_out(log: LoneLog) -> None:
    log.age_out()
    log.append(numbered("later", 2))


LOSSES = pytest.mark.parametrize("lose", [recreated, aged_out])


@pytest.mark.kafka_suite(22)
@LOSSES
def test_query_fails_when_records_are_lost_under_its_tasks(
    lone_log: LoneLog, frames: Frames, tmp_path: Path, lose: Loss
) -> None:
    lone_log.append(numbered("row", 10))
    stream = frames.stream(startingOffsets=1, **IMPATIENT)
    delivered = Delivered(stream, tmp_path / "checkpoint", before_batch=lambda _: lose(lone_log))

    with pytest.raises(StreamingQueryException) as refusal:
        delivered.run()

    assert "DataLossError: cannot read offsets" in str(refusal.value)
    assert "set failOnDataLoss to false to read the other records" in str(refusal.value)
    assert delivered.batches == {}


@pytest.mark.kafka_suite(22)
@LOSSES
def test_query_continues_when_records_are_lost_under_its_tasks_and_data_may_be_lost(
    lone_log: LoneLog, frames: Frames, tmp_path: Path, lose: Loss
) -> None:
    lone_log.append(numbered("row", 10))

    def lose_at_first(number: int) -> None:
        if number == 0:
            lose(lone_log)

    stream = frames.stream(startingOffsets=1, failOnDataLoss=False, **IMPATIENT)
    delivered = Delivered(stream, tmp_path / "checkpoint", before_batch=lose_at_first)
    query = delivered.start()
    try:
        wait_until(lambda: 0 in delivered.batches, "the batch whose records are lost", query)
        # Once a later batch is planned, the query has found the place from which it continues.
        wait_until(lambda: bool(query.recentProgress), "the progress of the first batch", query)
        query.processAllAvailable()
        lone_log.append(["last"])
        wait_until(lambda: "last" in delivered.values, "the row after the loss", query)
    finally:
        query.stop()

    assert query.exception() is None
    assert delivered.values == [*(numbered("recreated", 2) if lose is recreated else numbered("later", 2)), "last"]


@pytest.mark.kafka_suite(16)
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_query_that_ends_with_what_is_available_fails_when_that_is_lost_between_two_batches(
    lone_log: LoneLog, frames: Frames, tmp_path: Path, fail_on_data_loss: bool
) -> None:
    lone_log.append(numbered("row", 15))

    def lose(_number: int) -> None:
        lone_log.recreate()
        lone_log.append(numbered("recreated", 10))

    stream = frames.stream(
        startingOffsets="earliest", maxOffsetsPerTrigger=5, failOnDataLoss=fail_on_data_loss, **IMPATIENT
    )
    delivered = Delivered(stream, tmp_path / "checkpoint", on_batch=lose)

    with pytest.raises(StreamingQueryException) as refusal:
        delivered.run()

    assert "DataLossError: the log ends at 11, but it ended at 16 when this query" in str(refusal.value)
    assert delivered.batches == {0: numbered("row", 5)}


@pytest.fixture
def half_gone(lone_log: LoneLog) -> LoneLog:
    """A log that has had fifty rows, of which the first thirty are aged out. Offset 31 begins its second epoch."""
    lone_log.append(numbered("row", 30))
    lone_log.age_out()
    lone_log.append(numbered("row", 20, start=30))
    return lone_log


@pytest.mark.kafka_suite(23)
def test_start_before_the_log_gives_the_rows_that_are_left_once_if_data_may_be_lost(
    half_gone: LoneLog, frames: Frames, tmp_path: Path
) -> None:
    left = numbered("row", 20, start=30)
    delivered = Delivered(frames.stream(startingOffsets=0, failOnDataLoss=False), tmp_path / "checkpoint")

    delivered.run()
    delivered.run()
    of_a_batch = frames.read(startingOffsets=0, failOnDataLoss=False, minPartitions=3)

    assert delivered.values == left
    values = of_a_batch.selectExpr("cast(value as string) value").collect()
    assert [row.value for row in values] == left


@pytest.mark.kafka_suite(23)
def test_start_before_the_log_is_an_error_of_stream_and_batch_otherwise(
    half_gone: LoneLog, frames: Frames, tmp_path: Path
) -> None:
    message = "DataLossError: startingOffsets=0 is before the start of the log at 31"

    with pytest.raises(StreamingQueryException, match=message):
        Delivered(frames.stream(startingOffsets=0), tmp_path / "checkpoint").run()
    with pytest.raises(PySparkException, match=message):
        frames.read(startingOffsets=0).count()


@pytest.mark.kafka_suite(23)
def test_checkpoint_before_the_log_is_continued_with_the_rows_that_are_left_if_data_may_be_lost(
    lone_log: LoneLog, frames: Frames, tmp_path: Path
) -> None:
    lone_log.append(numbered("row", 5))
    Delivered(frames.stream(startingOffsets="earliest"), tmp_path / "checkpoint").run()
    lone_log.append(numbered("row", 25, start=5))
    lone_log.age_out()
    lone_log.append(numbered("row", 20, start=30))

    with pytest.raises(StreamingQueryException, match="offsets 6 to 31 are gone: the log starts at 31"):
        Delivered(frames.stream(), tmp_path / "checkpoint").run()
    tolerant = Delivered(frames.stream(failOnDataLoss=False), tmp_path / "checkpoint")
    tolerant.run()

    assert tolerant.values == numbered("row", 20, start=30)


@pytest.mark.kafka_suite(23)
def test_no_row_is_read_twice_and_no_later_one_missed_while_records_are_lost_again_and_again(
    lone_log: LoneLog, frames: Frames, tmp_path: Path
) -> None:
    seed = 20
    random, appended = Random(seed), 0
    faults = [fault for fault in ("age out", "recreate", "restart") for _ in range(2)]
    random.shuffle(faults)
    # A restart of the voter must not take longer.
    timeout = {"kraft.default.api.timeout.ms": 5_000}
    stream = frames.stream(startingOffsets="earliest", failOnDataLoss=False, maxOffsetsPerTrigger=7, **timeout)
    delivered = Delivered(stream, tmp_path / "checkpoint")
    query = delivered.start()

    def append(count: int) -> str:
        nonlocal appended
        values = numbered("row", count, start=appended)
        appended += count
        lone_log.append(values)
        return values[0]

    def has_read(value: str) -> bool:
        return value in delivered.values

    try:
        for fault in faults:
            is_followed = bool(random.randrange(2))
            if is_followed:
                # Otherwise these rows may be lost too: a log that has become shorter is read from its end.
                query.processAllAvailable()
            first = append(random.randrange(1, 30))
            if is_followed:
                wait_until(partial(has_read, first), "the first of these rows, of more than one batch perhaps", query)
            match fault:
                case "age out":
                    lone_log.age_out()
                case "recreate":
                    lone_log.recreate()
                case _:
                    lone_log.restart()
            assert query.exception() is None, f"{fault}, seed={seed}"
        query.processAllAvailable()
        append(9)
        last = f"row-{appended - 1:03}"
        wait_until(partial(has_read, last), f"the rows after the losses, seed={seed}", query)
    finally:
        query.stop()

    values = delivered.values
    assert len(set(values)) == len(values), f"seed={seed}"
    assert values[-9:] == numbered("row", 9, start=appended - 9)
    assert values == sorted(values, key=str), "in the order of the log"


@pytest.mark.kafka_suite(37)
def test_earliest_is_the_start_of_the_log_at_each_run_when_one_dataframe_is_read_again(
    lone_log: LoneLog, frames: Frames
) -> None:
    lone_log.append(numbered("row", 10))
    read = frames.read(startingOffsets="earliest", endingOffsets="latest").selectExpr("cast(value as string) value")
    before = [row.value for row in read.collect()]

    lone_log.age_out()
    lone_log.append(numbered("row", 10, start=10))

    assert before == numbered("row", 10)
    assert [row.value for row in read.collect()] == numbered("row", 10, start=10)
