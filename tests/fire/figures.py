"""Figures of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.fire.logged_writes import LoggedWrites
from tests.harness.figures import rows_of_faults, table


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts of a run.

    Fields:
        duration_s: from the start of the driver until all readers have read everything.
        faults: how many of each kind.
        slowest_recovery_s: the longest time from the end of a fault until the query committed a micro-batch.
        driver_runs: how many drivers were started; failed_queries: how many of them ended by themselves.
        micro_batches: how many the query has committed.
        leader_changes: of each quorum.
        repeated_appends: how many writes of the feeder had an unknown outcome and were repeated.
        fed_writes, fed_rows: how many the feeder has appended.
        source, sink: the logs.
        readers: how many rows each reader has read.
        ends: how many reads of the end of each log were answered.
    """

    duration_s: float
    faults: Mapping[str, int]
    slowest_recovery_s: float
    driver_runs: int
    failed_queries: Sequence[str]
    micro_batches: int
    leader_changes: Mapping[str, int]
    repeated_appends: int
    fed_writes: int
    fed_rows: int
    source: LoggedWrites
    sink: LoggedWrites
    readers: Mapping[str, int]
    ends: Mapping[str, int]

    def __str__(self) -> str:
        lines: list[tuple[object, object]] = [
            (f"{self.duration_s / 60:.1f}", "minutes"),
            (sum(self.faults.values()), "faults"),
            *rows_of_faults(self.faults),
            (f"{self.slowest_recovery_s:.1f}", "s until the query had recovered, at most"),
            (self.driver_runs - 1, "restarts of the driver"),
            (len(self.failed_queries), "queries that failed by themselves"),
            (self.micro_batches, "micro-batches"),
            (self.fed_rows, f"rows fed into the source, in {self.fed_writes} writes"),
            (self.repeated_appends, "repeated attempts of the feeder"),
        ]
        for name, log in (("source", self.source), ("sink", self.sink)):
            lines += [
                (self.leader_changes[name], f"leader changes of the {name}"),
                (log.single_batches, f"small writes in the {name}, each one record batch"),
                (log.multipart_writes, f"large writes in the {name}, in parts"),
                (log.aborted_parts, f"aborted parts in the {name}, with {log.aborted_rows} rows"),
                (len(log.rows), f"rows in the {name}"),
            ]
        lines += [(count, f"rows read by {reader}") for reader, count in self.readers.items()]
        lines += [(count, f"reads of the end of the {name}") for name, count in self.ends.items()]
        return "\n".join([table(lines), *(f"failed: {line}" for line in self.failed_queries)])
