"""What of this node's log is damaged, and how its repair goes on (LOG-29 to LOG-31)."""

from __future__ import annotations

from raft.types import Damaged, DamagedRange, Offset

REPAIR_PAUSE_MS = 1_000
"""Time after a repair that was not possible, until the next one is tried."""


class LogDamage:
    """The damage that the runtime has reported last.

    Attributes:
        ranges: in the order of their offsets.
        is_repairing: whether records for a range were ordered to disk, and the result is not known yet.
        sourceless_end: everything damaged below cannot be fetched from the leader, whose log begins later; 0 if the
            leader has everything, as far as is known.
    """

    def __init__(self) -> None:
        self.ranges: tuple[DamagedRange, ...] = ()
        self.is_repairing = False
        self.sourceless_end = Offset(0)
        self._pause_ends_ms: int | None = None
        self._has_fetched_since = True

    @property
    def exists(self) -> bool:
        """Whether anything is damaged."""
        return bool(self.ranges)

    def reported(self, ranges: tuple[DamagedRange, ...]) -> None:
        """Take what is damaged now; see `DamageReported`."""
        if ranges != self.ranges:
            self.ranges = ranges
            self._pause_ends_ms = None
        if not ranges:
            self.sourceless_end = Offset(0)

    def holds(self, offset: Offset, *, log_start: Offset) -> bool:
        """Whether the record at an offset cannot be read.

        Args:
            offset: of the record.
            log_start: where the log begins. Records before are in a snapshot that ends there.
        """
        return any(each.start_offset <= offset < each.end_offset for each in self._read_ranges(log_start))

    def readable_until(self, start_offset: Offset, end_offset: Offset, *, log_start: Offset) -> Offset:
        """Return the end of what can be read from an offset on, which can be read itself.

        Args:
            start_offset: where the read begins.
            end_offset: where it ends at the latest.
            log_start: see `holds`.
        """
        starts = (each.start_offset for each in self._read_ranges(log_start) if each.start_offset > start_offset)
        return min((end_offset, *starts))

    def _read_ranges(self, log_start: Offset) -> list[DamagedRange]:
        """Return the ranges that readers meet: not those of a snapshot whose records the log still has."""
        return [each for each in self.ranges if each.kind is not Damaged.SNAPSHOT or each.end_offset == log_start]

    def has_snapshot(self, end_offset: Offset) -> bool:
        """Whether the snapshot that ends at an offset is damaged."""
        return any(each.kind is Damaged.SNAPSHOT and each.end_offset == end_offset for each in self.ranges)

    def truncate(self, end_offset: Offset) -> None:
        """Forget what a truncation has removed."""
        self.ranges = tuple(each for each in self.ranges if each.start_offset < end_offset)

    def clear(self) -> None:
        """Forget everything: a snapshot has replaced the log."""
        self.ranges = ()
        self.sourceless_end = Offset(0)

    # Repairs

    def to_repair(self, committed_end: Offset, now_ms: int) -> DamagedRange | None:
        """Return the range whose records are to be fetched from the leader now; None if there is none.

        Between two such fetches there is a usual one, so that the node does not fall behind.

        Args:
            committed_end: only what is committed is repaired, because it stays.
            now_ms: the present time.
        """
        if self.is_repairing or not self._has_fetched_since:
            return None
        if self._pause_ends_ms is not None and now_ms < self._pause_ends_ms:
            return None
        return next(
            (
                each
                for each in self.ranges
                if each.kind is Damaged.BATCHES and self.sourceless_end < each.end_offset <= committed_end
            ),
            None,
        )

    def fetched(self) -> None:
        """Note that a usual fetch was sent."""
        self._has_fetched_since = True

    def asked(self) -> None:
        """Note that the records of a range are being fetched."""
        self._has_fetched_since = False

    def pause(self, now_ms: int) -> None:
        """Wait before the next attempt."""
        self._pause_ends_ms = now_ms + REPAIR_PAUSE_MS

    def has_no_source(self, damaged: DamagedRange) -> None:
        """Note that the leader does not have the records of a range any more."""
        self.sourceless_end = max(self.sourceless_end, damaged.end_offset)

    def role_changed(self) -> None:
        """Ask again for everything: another leader may have it."""
        self.sourceless_end = Offset(0)
        self._pause_ends_ms = None
        self._has_fetched_since = True
