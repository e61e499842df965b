"""Streaming queries of the tests: the rows of each micro-batch, and the files of the checkpoint."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.hang import HANG_S
from tests.node.harness.waiting import eventually
from tests.spark.frames import SERVERS

_LOOK_S = 0.05


class Delivered:
    """A sink that keeps the values of each micro-batch; a replayed batch replaces its first run.

    Args:
        stream: a stream with a column `value`.
        checkpoint: where the query keeps its state.
        before_batch: called with the number of each micro-batch, which is planned and not read yet.
        on_batch: called with the number of each micro-batch, after its rows are kept.
    """

    def __init__(
        self,
        stream: DataFrame,
        checkpoint: Path,
        *,
        before_batch: Callable[[int], None] | None = None,
        on_batch: Callable[[int], None] | None = None,
    ) -> None:
        self.batches: dict[int, list[str | None]] = {}
        self._before_batch = before_batch
        self._on_batch = on_batch
        self._writer = (
            stream.selectExpr("offset", "cast(value as string) value")
            .writeStream.foreachBatch(self._keep)
            .option("checkpointLocation", str(checkpoint))
        )

    @property
    def values(self) -> list[str | None]:
        """All values in the order of batches and offsets."""
        return [value for number in sorted(self.batches) for value in self.batches[number]]

    def start(self) -> StreamingQuery:
        """Start a query that runs until it is stopped."""
        return self._writer.start()

    def run(self, **trigger: Any) -> StreamingQuery:
        """Run a query to its end; by default that is the end of the log when the query starts. Returns the query."""
        query = self._writer.trigger(**(trigger or {"availableNow": True})).start()
        run_to_end(query)
        return query

    def _keep(self, rows: DataFrame, number: int) -> None:
        if self._before_batch is not None:
            self._before_batch(number)
        self.batches[number] = [value for _, value in sorted(tuple(row) for row in rows.collect())]
        if self._on_batch is not None:
            self._on_batch(number)


def run_to_end(query: StreamingQuery) -> None:
    """Wait until a query ends by itself; raise its error if it failed."""
    try:
        assert query.awaitTermination(HANG_S), f"the query still runs after {HANG_S} s: {query.lastProgress}"
    finally:
        query.stop()


def wait_until(is_so: Callable[[], bool], what: str, *queries: StreamingQuery) -> None:
    """Wait until a condition is true; raise the error of a query that fails before that."""

    def look() -> bool:
        if is_so():
            return True
        for query in queries:
            if (error := query.exception()) is not None:
                raise error
        return False

    eventually(look, what, within_s=HANG_S, every_s=_LOOK_S)


class Input:
    """A folder of files, each of them one micro-batch of a stream.

    Args:
        folder: created if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._count = 0
        self._began_s = int(time.time()) - 3600

    def add(self, values: Iterable[str]) -> None:
        """Add a file of values atomically."""
        partial = self._folder.with_suffix(".partial")
        partial.write_text("".join(f"{value}\n" for value in values))
        self._count += 1
        # Spark reads the oldest file first, so each file is a second newer than the one before.
        os.utime(partial, times=(self._began_s + self._count,) * 2)
        partial.rename(self._folder / f"{self._count:03}.txt")

    def stream(self, spark: SparkSession) -> DataFrame:
        """Return the files as a stream with a column `value`."""
        return spark.readStream.option("maxFilesPerTrigger", 1).text(str(self._folder))


def into_log(stream: DataFrame, servers: str, checkpoint: Path, **options: Any) -> DataStreamWriter:
    """Return a writer of a stream to a quorum, which is not started; by default it ends at the end of the input."""
    return (
        stream.writeStream.format("kraft")
        .options(**{SERVERS: servers, "checkpointLocation": str(checkpoint), **options})
        .trigger(availableNow=True)
    )


class Checkpoint:
    """The files of a checkpoint of Spark."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def committed(self) -> list[int]:
        """Numbers of the micro-batches that are committed."""
        return _numbers(self.path / "commits")

    @property
    def planned(self) -> list[int]:
        """Numbers of the micro-batches that are planned."""
        return _numbers(self.path / "offsets")

    def offset(self, number: int) -> str:
        """Return the JSON of the source's offset at the end of a micro-batch, without version and metadata."""
        return (self.path / "offsets" / str(number)).read_text().splitlines()[2]

    def write_offset(self, number: int, text: str) -> None:
        """Replace this JSON."""
        path = self.path / "offsets" / str(number)
        lines = [*path.read_text().splitlines()[:2], text]
        _forget(path)
        path.write_text("\n".join(lines))

    def forget_commit(self, number: int) -> None:
        """Remove the commit of a micro-batch, as if the driver had died before it was written."""
        _forget(self.path / "commits" / str(number))


def _numbers(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())


def _forget(path: Path) -> None:
    path.unlink()
    # Hadoop would compare the new content with the checksum of the old one.
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
