"""Modes of Spark's streams besides micro-batches: which work with a Python source, and how Spark refuses others."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.errors.exceptions.captured import IllegalArgumentException, UnsupportedOperationException
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.frames import SERVERS, Frames, numbered
from tests.spark.streams import run_to_end, wait_until

pytestmark = pytest.mark.spark

ASYNC = {"asyncProgressTrackingEnabled": "true"}


def start(stream: DataFrame, sink: str, checkpoint: Path, *, trigger: dict[str, Any], **options: str) -> StreamingQuery:
    return (
        stream.writeStream.format(sink)
        .options(checkpointLocation=str(checkpoint), **options)
        .outputMode("update" if "realTime" in trigger else "append")
        .trigger(**trigger)
        .start()
    )


def test_real_time_mode_is_refused_by_spark_for_every_python_source(frames: Frames, tmp_path: Path) -> None:
    query = start(frames.stream(), "console", tmp_path, trigger={"realTime": "5 minutes"})

    with pytest.raises(StreamingQueryException, match=r"STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED.*Python"):
        run_to_end(query)


def test_continuous_mode_is_refused_by_spark_for_every_python_source(frames: Frames, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperationException, match="kraft does not support continuous processing"):
        start(frames.stream(), "console", tmp_path, trigger={"continuous": "1 second"})


@pytest.mark.parametrize(
    ("trigger", "options", "message"),
    [
        pytest.param(
            {"processingTime": "0 seconds"}, ASYNC, "Sink kraft does not support async progress tracking", id="async"
        ),
        pytest.param(
            {"realTime": "5 minutes"}, {}, "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.*PythonTable", id="real-time mode"
        ),
    ],
)
def test_modes_are_refused_by_spark_for_every_python_sink(
    frames: Frames, tmp_path: Path, trigger: dict[str, Any], options: dict[str, str], message: str
) -> None:
    stream = frames.spark.readStream.format("rate").load().selectExpr("cast(value as string) as value")

    with pytest.raises(IllegalArgumentException, match=message):
        start(stream, "kraft", tmp_path, trigger=trigger, **{SERVERS: frames.servers}, **options)


class IntoFile:
    """Appends each row to a file, from a task."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def process(self, row: Row) -> None:
        with self._path.open("a") as file:
            file.write(f"{row.value}\n")

    def has(self, values: Collection[str]) -> bool:
        return set(values) <= set(self.values())

    def values(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []


def test_source_works_with_async_progress_tracking_and_no_row_is_lost_by_restarts(
    frames: Frames, tmp_path: Path
) -> None:
    """Spark stores progress late, so rows may be read again after a restart, with any source."""
    sink = IntoFile(tmp_path / "rows")
    stream = frames.stream(startingOffsets=frames.end()).selectExpr("cast(value as string) as value")
    writer = (
        stream.writeStream.foreach(sink)
        .options(checkpointLocation=str(tmp_path / "checkpoint"), **ASYNC)
        # Progress is stored rarely, so that a restart finds batches without it.
        .option("asyncProgressTrackingCheckpointIntervalMs", "600000")
    )
    written: list[str] = []

    for restart in range(3):
        query = writer.start()
        try:
            for batch in range(2):
                values = numbered(f"restart-{restart}-{batch}", 3)
                frames.write(frames.values(values).coalesce(1))
                written += values
                wait_until(partial(sink.has, values), f"the rows of restart {restart}", query)
        finally:
            query.stop()

    found = sink.values()
    assert sorted(set(found)) == sorted(written)
    assert list(dict.fromkeys(found)) == written, "in the order of the log"
