"""Streams and batches that write: their progress, large rows, and rows that do not fit.

After Spark's KafkaSinkSuite.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException

from tests.spark.frames import Frames, numbered
from tests.spark.streams import Input, into_log, run_to_end

pytestmark = pytest.mark.spark

LARGE_BYTES = 15_000


@pytest.mark.kafka_suite(41)
def test_progress_counts_the_rows_that_were_written(frames: Frames, tmp_path: Path) -> None:
    start, source = frames.end(), Input(tmp_path / "input")
    source.add(numbered("row", 3))
    source.add(numbered("row", 2, start=3))

    query = into_log(source.stream(frames.spark), frames.servers, tmp_path / "checkpoint").start()
    run_to_end(query)

    assert [progress["sink"]["numOutputRows"] for progress in query.recentProgress] == [3, 2]
    assert frames.log_values(start) == numbered("row", 5)


@pytest.mark.kafka_suite(42)
def test_rows_of_almost_the_size_of_a_request_are_written_in_their_order(lone_frames: Frames) -> None:
    rows = 300
    large = lone_frames.spark.range(0, rows, 1, 1).selectExpr(f"lpad(id, {LARGE_BYTES}, '.') value")

    lone_frames.write(large, **{"kraft.max.request.size": 16_384})

    written = lone_frames.read().orderBy("offset").selectExpr("cast(value as string) value").collect()
    assert [row.value for row in written] == [str(number).rjust(LARGE_BYTES, ".") for number in range(rows)]


@pytest.mark.kafka_suite(39)
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["value key"], "column value is missing; columns are key"),
        (["cast(length(value) as int) value"], "column value has type int; expected binary or string"),
        (["length(value) key", "value"], "column key has type int; expected binary or string"),
        (["'t' topic", "value"], "column topic has no place in a record; expected value, key or headers"),
        (["value", "value partition"], "column partition has no place in a record"),
    ],
    ids=["no value", "type of the value", "type of the key", "topic", "partition"],
)
def test_query_whose_columns_do_not_fit_fails_before_it_writes(
    frames: Frames, tmp_path: Path, columns: list[str], message: str
) -> None:
    end, source = frames.end(), Input(tmp_path / "input")
    source.add(numbered("row", 5))
    stream = source.stream(frames.spark).selectExpr(*columns)

    with pytest.raises(StreamingQueryException) as refusal:
        run_to_end(into_log(stream, frames.servers, tmp_path / "checkpoint").start())

    assert message in str(refusal.value)
    assert frames.end() == end


@pytest.mark.kafka_suite(43)
@pytest.mark.parametrize(
    ("schema", "row", "column"),
    [("topic string, value string", (None, "1"), "topic"), ("value string, partition int", ("1", 2), "partition")],
    ids=["null topic", "partition"],
)
def test_batch_with_a_column_that_chooses_a_place_is_refused(
    frames: Frames, schema: str, row: tuple[Any, ...], column: str
) -> None:
    end = frames.end()

    with pytest.raises(PySparkException) as refusal:
        frames.write(frames.rows([row], schema))

    assert f"column {column} has no place in a record; expected value, key or headers" in str(refusal.value)
    assert frames.end() == end
