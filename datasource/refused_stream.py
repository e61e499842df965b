"""Rejects an unsupported stream when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from datasource.short_errors import short_errors


@short_errors(
    "initialOffset", "getDefaultReadLimit", "prepareForTriggerAvailableNow", "latestOffset", "partitions", "read"
)
class RefusedStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream reader that raises an error at its first call.

    If the error came when the reader is created, Spark's runner would use the missing reader, and end with an
    UnboundLocalError of its own.

    Args:
        reason: the error to raise.
    """

    def __init__(self, reason: Exception) -> None:
        self._reason = reason

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Raise the error."""
        self._refuse()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Raise the error."""
        self._refuse()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Raise the error."""
        self._refuse()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002, N802 - Spark's name
        """Raise the error."""
        self._refuse()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:  # noqa: ARG002
        """Raise the error."""
        self._refuse()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Raise the error."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise self._reason
