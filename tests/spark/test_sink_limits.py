"""Writes that are larger than one record batch: appended in parts, whole or not at all; only a row can be too large."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from tests.spark.frames import Frames, numbered
from tests.spark.quorums import local_quorum
from tests.spark.streams import Input, into_log, run_to_end

pytestmark = pytest.mark.spark

REMEDY = "raise both kraft.max.request.size here and message.max.bytes on the nodes"


@pytest.mark.kafka_suite(42)
@pytest.mark.rule("TXN-6")
@pytest.mark.parametrize("partitions", [1, 3])
def test_write_of_many_batches_keeps_the_order_of_each_partition(frames: Frames, partitions: int) -> None:
    start = frames.end()
    count = 30_000
    rows = frames.spark.range(0, count, 1, partitions).selectExpr("concat(id, ' ', repeat('x', 100)) value")

    frames.write(rows, **{"kraft.max.request.size": 400_000})

    ids = [int(str(value).split()[0]) for value in frames.log_values(start)]
    assert sorted(ids) == list(range(count)), "each row once"
    size = count // partitions
    for first in range(0, count, size):
        of_partition = [each for each in ids if first <= each < first + size]
        assert of_partition == sorted(of_partition)


def test_row_above_the_limit_of_the_client_is_refused_and_nothing_is_written(frames: Frames) -> None:
    end = frames.end()
    rows = frames.values([*numbered("row", 10), "x" * 200_000])

    with pytest.raises(PySparkException) as refusal:
        frames.write(rows, **{"kraft.max.request.size": 5_000})

    assert REMEDY in str(refusal.value)
    assert frames.log_values(end) == [], "nothing is visible"


def test_query_whose_row_the_nodes_refuse_continues_when_their_limit_is_raised(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Input(tmp_path / "input")
    source.add(["small"])
    large = [value * 4000 for value in numbered("large", 3)]
    source.add(large)

    def writing(quorum: LocalQuorum) -> None:
        stream = source.stream(spark).coalesce(1)
        run_to_end(into_log(stream, quorum.bootstrap_servers, tmp_path / "checkpoint").start())

    with local_quorum(spark, tmp_path / "quorum", voters=1, settings={"message.max.bytes": "20000"}) as quorum:
        with pytest.raises(StreamingQueryException) as refusal:
            writing(quorum)
        assert REMEDY in str(refusal.value)
        assert Frames.of(spark, quorum).log_values() == ["small"]

    with local_quorum(spark, tmp_path / "quorum", voters=1, settings={"message.max.bytes": "40000"}) as quorum:
        writing(quorum)
        values = Frames.of(spark, quorum).log_values()
    assert values == ["small", *large]
