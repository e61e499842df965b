"""The partition of a read: what Spark hands to one task, of a batch or of a micro-batch."""

from __future__ import annotations

from pyspark.sql.datasource import InputPartition

from datasource.planning import LogRange


class RangePartition(InputPartition):
    """The part of the log that one task reads.

    Args:
        log_range: the part.
    """

    def __init__(self, log_range: LogRange) -> None:
        super().__init__(log_range)
        self.log_range = log_range
