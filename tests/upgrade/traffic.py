"""A stream that writes to a quorum and one that reads from it, while nodes are restarted."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from tests.spark.frames import Frames
from tests.spark.streams import Delivered, Input, into_log, wait_until

ROWS_A_FILE = 20
_KEYS = 7


class Traffic:
    """Runs two queries in its block: files to the quorum, and the quorum's rows to a list.

    Args:
        spark: the session.
        servers: the quorum.
        folder: gets files and checkpoints.

    Attributes:
        frames: other reads and writes of the quorum.
        sent: keys and values of all rows, in order.
    """

    def __init__(self, spark: SparkSession, servers: str, folder: Path) -> None:
        self.frames = Frames(spark, servers)
        self.sent: list[tuple[str, str]] = []
        self._source = Input(folder / "input")
        self._delivered = Delivered(self.frames.stream(startingOffsets="earliest"), folder / "read")
        keyed = self._source.stream(spark).selectExpr("split(value, '=')[0] key", "split(value, '=')[1] value")
        self._writer = into_log(keyed, servers, folder / "written").trigger(processingTime="0 seconds")

    def __enter__(self) -> Self:
        self._queries = [self._writer.start(), self._delivered.start()]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for query in self._queries:
            query.stop()

    @property
    def delivered(self) -> list[str | None]:
        """The values that the second query has read, in order."""
        return self._delivered.values

    def send(self, when: str) -> None:
        """Add rows to what the first query writes, and return at once; their values begin with `when`, without "="."""
        rows = [(f"key-{number % _KEYS}", f"{when} {number}") for number in range(ROWS_A_FILE)]
        self._source.add([f"{key}={value}" for key, value in rows])
        self.sent += rows

    def wait(self, when: str) -> None:
        """Wait until the second query has read the last row that was sent; raise the error of a query that failed."""
        last = self.sent[-1][1]
        wait_until(lambda: last in self.delivered, f"the rows {when}", *self._queries)

    def pass_rows(self, when: str) -> None:
        """Send rows, and wait until they are read."""
        self.send(when)
        self.wait(when)
