"""The sink: every row is written once and in order, also when writes are repeated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from raft.client import WriteKey
from raft.local import LocalQuorum
from raft.records.header_fields import HEADER
from tests.spark.flaky_source import FlakySource
from tests.spark.frames import SERVERS, Frames, numbered
from tests.spark.quorums import behind_proxy, handed_over
from tests.spark.streams import Checkpoint, Input, into_log, run_to_end

pytestmark = pytest.mark.spark


@pytest.mark.kafka_suite(44)
def test_micro_batches_are_written_once_under_their_keys_when_one_is_replayed(
    spark: SparkSession, lone_voter: LocalQuorum, tmp_path: Path
) -> None:
    frames, source, path = (
        Frames.of(spark, lone_voter),
        Input(tmp_path / "input"),
        tmp_path / "checkpoint",
    )
    writing = into_log(source.stream(spark).where("value <> 'dropped'"), frames.servers, path)
    for values in (numbered("first", 3), ["dropped"], numbered("third", 3)):
        source.add(values)
    run_to_end(writing.start())
    assert frames.log() == [*enumerate(numbered("first", 3), 1), *enumerate(numbered("third", 3), 4)]

    Checkpoint(path).forget_commit(2)
    source.add(["after the replay"])
    run_to_end(writing.start())

    assert frames.log(start_offset=4) == [*enumerate([*numbered("third", 3), "after the replay"], 4)]
    query_id = json.loads((path / "metadata").read_text())["id"]
    expected = [(WriteKey(query_id, number).producer_id, 0, number) for number in (0, 2, 3)]
    assert writers_in(frames) == [(-1, -1, -1), *expected], "the LeaderChange batch, and three of the query"


def writers_in(frames: Frames) -> list[tuple[int, int, int]]:
    """Return producer id, epoch and sequence of every batch in a short log."""
    found, position = [], 0
    with frames.client() as client:
        records = client.fetch(client.log_start_offset(), max_bytes=1 << 24).records
    while position < len(records):
        header = HEADER.unpack_from(records, position)
        found.append(header[9:12])
        position += header[1] + 12
    return found


@pytest.mark.kafka_suite(44)
def test_writes_are_done_once_when_their_responses_are_lost(spark: SparkSession, tmp_path: Path) -> None:
    source = Input(tmp_path / "input")
    for number in range(3):
        source.add(numbered(f"batch-{number}", 2))

    with (
        behind_proxy(tmp_path / "quorum", lambda number: number % 2 == 0) as (quorum, proxy),
        handed_over(spark, quorum),
    ):
        frames = Frames.of(spark, quorum)
        # The node advertises the proxy; only the first request goes to the node itself.
        run_to_end(into_log(source.stream(spark), frames.servers, tmp_path / "checkpoint").start())
        frames.write(frames.values(["by a batch"]))

        assert proxy.produced == 8, "four writes, and the first response to each was lost"
        expected = [value for number in range(3) for value in numbered(f"batch-{number}", 2)]
        assert frames.log_values() == [*expected, "by a batch"]


@pytest.mark.kafka_suite(44)
def test_write_in_foreach_batch_is_done_once_for_each_key(frames: Frames, spark: SparkSession, tmp_path: Path) -> None:
    start = frames.end()
    source, path = Input(tmp_path / "input"), tmp_path / "checkpoint"
    app_id = f"copy of {tmp_path}"

    def copy(rows: DataFrame, number: int) -> None:
        # Twice, which an application may do by mistake.
        for _ in range(2):
            frames.write(rows, txnAppId=app_id, txnVersion=number + 7)

    writing = source.stream(spark).writeStream.foreachBatch(copy).option("checkpointLocation", str(path))
    for values in (numbered("copied", 3), ["last"]):
        source.add(values)
    run_to_end(writing.trigger(availableNow=True).start())
    Checkpoint(path).forget_commit(1)
    run_to_end(writing.trigger(availableNow=True).start())

    assert frames.log_values(start) == [*numbered("copied", 3), "last"]
    # A version up to the last one counts as written; a later one, or one of another application, is new.
    frames.write(frames.values(["older"]), txnAppId=app_id, txnVersion=7)
    frames.write(frames.values(["newer"]), txnAppId=app_id, txnVersion=9)
    frames.write(frames.values(["another"]), txnAppId=f"another {app_id}", txnVersion=0)
    assert frames.log_values(start) == [*numbered("copied", 3), "last", "newer", "another"]


@pytest.mark.rule("CLIENT-11")
def test_other_rows_under_a_written_key_fail_the_write_unless_the_option_ignores_them(frames: Frames) -> None:
    start = frames.end()
    key = {"txnAppId": f"used twice, from {start}", "txnVersion": 1}
    frames.write(frames.values(["a", "b"]), **key)
    frames.write(frames.values(["b", "a"]), **key)

    with pytest.raises(AnalysisException) as refusal:
        frames.write(frames.values(["a", "c"]), **key)
    frames.write(frames.values(["a", "d"]), failOnWriteConflict=False, **key)

    assert f"WriteConflictError: the write with txnAppId={key['txnAppId']} and txnVersion=1" in str(refusal.value)
    assert "another txnAppId" in str(refusal.value)
    assert frames.log_values(start) == ["a", "b"]


def test_rows_of_many_tasks_keep_the_order_of_the_tasks(frames: Frames, spark: SparkSession) -> None:
    start = frames.end()
    rows = spark.range(0, 400, numPartitions=20).selectExpr("cast(id as string) value", "cast(id % 7 as string) key")

    frames.write(rows)
    frames.write(spark.range(0).selectExpr("cast(id as string) value"))

    assert frames.log(start) == [*enumerate((str(number) for number in range(400)), start)]
    assert frames.end() == start + 400, "no rows append nothing"


@pytest.mark.kafka_suite(44)
def test_rows_are_written_once_when_tasks_fail_after_their_write(
    frames: Frames, spark: SparkSession, tmp_path: Path
) -> None:
    start = frames.end()
    spark.dataSource.register(FlakySource)
    source = Input(tmp_path / "input")
    source.add(numbered("streamed", 3))

    rows = frames.values(numbered("written", 6)).coalesce(2)
    rows.write.format("flaky_kraft").option(SERVERS, frames.servers).mode("append").save()
    run_to_end(into_log(source.stream(spark), frames.servers, tmp_path / "checkpoint").format("flaky_kraft").start())

    assert frames.log_values(start) == [*numbered("written", 6), *numbered("streamed", 3)]
