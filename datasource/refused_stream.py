"""Rejects an unsupported stream when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow


class RefusedStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Stands in for a stream reader, and says at its first call why there is none.

    Were that said when the reader is to be made, Spark's runner would trip over the reader that is missing, and end
    with an UnboundLocalError of its own.

    Args:
        reason: the error to raise.
    """

    def __init__(self, reason: Exception) -> None:
        self._reason = reason

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Say why."""
        self._refuse()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Say why."""
        self._refuse()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Say why."""
        self._refuse()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002, N802 - Spark's name
        """Say why."""
        self._refuse()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:  # noqa: ARG002
        """Say why."""
        self._refuse()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Say why."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise self._reason
