"""The partition of a read: what Spark hands to one task, of a batch or of a micro-batch."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.datasource import InputPartition

from datasource.hosts import Host, for_task
from datasource.options import ReadOptions
from datasource.read_plan import LogRange
from datasource.view_range import ViewRange


class RangePartition(InputPartition):
    """The part of the log that one task reads, or the keys of which it reads the newest rows.

    Args:
        log_range: the part.

    Attributes:
        planned_on: the host on which it was planned, from which the quorum was reached.
    """

    def __init__(self, log_range: LogRange | ViewRange) -> None:
        super().__init__(log_range)
        self.log_range = log_range
        self.planned_on = Host.of_this_process()

    def options_for_this_host(self, options: ReadOptions) -> ReadOptions:
        """Return the options for a task in this process; see `datasource.hosts`.

        Args:
            options: of the read.
        """
        return replace(options, client=for_task(options.client, self.planned_on))
