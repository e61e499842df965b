"""Logs what is damaged of a node's log, once for each part (LOG-29)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from raft.runtime.fault_log import FaultLog
from raft.storage.damage import DamageReport

_logger = logging.getLogger(__name__)


class DamageLog:
    """Keeps the newest report of the disk.

    Args:
        now_ms: returns the time of a monotonic clock, in milliseconds.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.newest = DamageReport()
        self._faults = FaultLog(_logger, now_ms, level=logging.ERROR)

    def report(self, report: DamageReport) -> None:
        """Take a report, and log the parts that are new in it."""
        for part in report.parts:
            if part not in self.newest.parts:
                self._faults.report(
                    "the log is damaged, although it was flushed: %s; damaged are %s bytes of %s at %s; while this "
                    "node follows a leader, it replaces damaged batches by the leader's; see 'A damaged log' in "
                    "docs/operations.md",
                    part.reason,
                    part.size_bytes,
                    part.kind.value,
                    part.range,
                )
        self.newest = report
