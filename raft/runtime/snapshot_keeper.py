"""Decides when this node makes a snapshot of its log, and what the snapshots make superfluous (rules SNAPSHOT).

A snapshot ends where a segment begins. When one is due, the core begins a segment at the end of its log. When the last
stable offset has reached this end, the fate of every record before is known, and the snapshot is made from the segments
before, which do not change any more. Then the beginning of the log is removed as the retention demands: the log begins
at the end of a snapshot that is kept.

Source: KIP-630; Kafka KafkaMetadataLog.maybeClean, SnapshotGenerator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from raft.compaction import SnapshotOrder
from raft.config import NodeConfig
from raft.core import RaftCore
from raft.core.events import DeleteBeforeSnapshotRequested, Event, SnapshotDue, SnapshotMade
from raft.epoch_cache import EpochCache
from raft.errors import CorruptBatchError
from raft.runtime.disk import Disk
from raft.runtime.fault_log import FaultLog
from raft.runtime.scheduler import Scheduler
from raft.runtime.space_keeper import SpaceKeeper
from raft.storage.directory import ReplicaDirectory
from raft.types import CleanupPolicy, Epoch, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)

LOOK_MS = 1_000
"""Time between two looks at the log."""


class SnapshotMaker(Protocol):
    """Makes snapshots beside the node: a child process."""

    def make(self, order: SnapshotOrder, done: Callable[[str | None], None]) -> None:
        """Make a snapshot; `done` is called on the scheduler with None, or with what went wrong."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """When snapshots are made and what they replace; see `NodeConfig`."""

    policy: CleanupPolicy
    bytes_between_snapshots: int
    snapshot_interval_ms: int
    min_cleanable_dirty_ratio: float
    retention_bytes: int
    retention_ms: int

    @classmethod
    def of(cls, config: NodeConfig) -> Retention:
        """Return what a node's configuration says."""
        return cls(
            policy=config.cleanup_policy,
            bytes_between_snapshots=config.bytes_between_snapshots,
            snapshot_interval_ms=config.snapshot_interval_ms,
            min_cleanable_dirty_ratio=config.min_cleanable_dirty_ratio,
            retention_bytes=config.retention_bytes,
            retention_ms=config.retention_ms,
        )

    @property
    def keeps_records(self) -> bool:
        """Whether snapshots have the newest record of each key."""
        return self.policy is CleanupPolicy.COMPACT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Snapshot:
    """A snapshot on the disk.

    Fields:
        size_bytes: of its file.
        log_bytes: size of the log after it.
        log_time_ms: log time at its end; -1 for none.
        is_damaged: whether its file is damaged.
    """

    end: OffsetAndEpoch
    size_bytes: int
    log_bytes: int
    log_time_ms: int
    is_damaged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What the directory holds.

    Fields:
        snapshots: in the order of their offsets.
        start_offset, log_bytes: of the log.
        new_bytes: of the log after the newest snapshot.
        order: the snapshot that can be made once its end is stable; None if no segment was begun for one.
    """

    snapshots: Sequence[_Snapshot]
    start_offset: Offset
    log_bytes: int
    new_bytes: int
    order: SnapshotOrder | None


class SnapshotKeeper:
    """Looks at the log now and then.

    Args:
        core: to be read only.
        submit: passes events to the core.
        disk: of the replica.
        scheduler: for time.
        retention: what is wanted.
        space: tells when space has to be freed: then the next snapshot is due, and all that it replaces is removed.
        maker: makes snapshots.
        faults: gets what goes wrong.
    """

    def __init__(
        self,
        core: RaftCore,
        submit: Callable[[Event], None],
        disk: Disk,
        scheduler: Scheduler,
        retention: Retention,
        space: SpaceKeeper,
        maker: SnapshotMaker,
        faults: FaultLog,
    ) -> None:
        self._core = core
        self._submit = submit
        self._disk = disk
        self._scheduler = scheduler
        self._retention = retention
        self._space = space
        self._maker = maker
        self._faults = faults
        self._is_making = False
        self._last_made_ms = scheduler.now_ms()
        self._is_stopped = False

    def start(self) -> None:
        """Begin to look, if the policy removes anything."""
        if self._retention.policy is not CleanupPolicy.NONE:
            self._look_later()

    def stop(self) -> None:
        """Look no more. A snapshot that is being made may go on; nothing uses it."""
        self._is_stopped = True

    def _look_later(self) -> None:
        self._scheduler.at(self._scheduler.now_ms() + LOOK_MS, self._look)

    def _look(self) -> None:
        if not self._is_stopped:
            self._disk.look(lambda directory: _look_at(directory, self._retention), self._on_look)

    def _on_look(self, look: _Look) -> None:
        if self._is_stopped:
            return
        self._look_later()
        self._delete_before_snapshot(look)
        if self._is_making or self._disk.waits_for_room:
            return
        if look.order is not None:
            if self._is_stable(look.order.end.offset):
                self._is_making = True
                order = replace(look.order, is_urgent=self._core.is_disk_full)
                self._maker.make(order, lambda problem: self._on_made(order, problem))
        elif self._is_due(look):
            self._submit(SnapshotDue())

    def _is_stable(self, offset: Offset) -> bool:
        stable = self._core.last_stable_offset
        return stable is not None and min(stable, self._core.durable_high_watermark) >= offset

    def _is_due(self, look: _Look) -> bool:
        if not look.new_bytes:
            return False
        if self._core.is_disk_full:
            return True
        if self._scheduler.now_ms() >= self._last_made_ms + self._retention.snapshot_interval_ms:
            return True
        if look.new_bytes < self._retention.bytes_between_snapshots and not self._space.is_low:
            return False
        # With few new records beside a large state, most of the work would be to copy that.
        kept_bytes = look.snapshots[-1].size_bytes if look.snapshots and self._retention.keeps_records else 0
        return look.new_bytes >= self._retention.min_cleanable_dirty_ratio * (look.new_bytes + kept_bytes)

    def _on_made(self, order: SnapshotOrder, problem: str | None) -> None:
        snapshot = order.end
        self._last_made_ms = self._scheduler.now_ms()
        if self._is_stopped:
            return
        if problem is not None:
            self._is_making = False
            self._faults.report("no snapshot at %s was made: %s", snapshot, problem)
            # Damage may be the reason. The disk notes where it is, so that it is repaired (LOG-29).
            self._disk.check(order.base, order.segments)
            return
        self._disk.look(
            lambda directory: directory.finish_snapshot(snapshot),
            lambda size_bytes: self._on_whole(snapshot, size_bytes),
        )

    def _on_whole(self, snapshot: OffsetAndEpoch, size_bytes: int) -> None:
        # Not before: a look from before would order the same snapshot once more.
        self._is_making = False
        _logger.info("node %s made a snapshot of %s bytes at %s", self._core.node_id, size_bytes, snapshot)
        self._submit(SnapshotMade(snapshot=snapshot))

    def _lost_end(self, look: _Look) -> Offset:
        """Return the end of what this node can never read again, so that its log should begin after (LOG-31)."""
        is_start_damaged = any(each.is_damaged and each.end.offset == look.start_offset for each in look.snapshots)
        start_offset = Offset(look.start_offset + 1) if is_start_damaged else Offset(0)
        return max(start_offset, self._core.damage.sourceless_end)

    def _delete_before_snapshot(self, look: _Look) -> None:
        """Let the log begin at the end of the first snapshot with which it is as small and as new as wanted."""
        wall_ms, retention = self._scheduler.wall_clock_ms(), self._retention
        target: _Snapshot | None = None
        snapshot_bytes = sum(snapshot.size_bytes for snapshot in look.snapshots)
        size_bytes = look.log_bytes + snapshot_bytes
        lost_end = self._lost_end(look)
        for snapshot in look.snapshots:
            if snapshot.end.offset > look.start_offset:
                if snapshot.is_damaged:
                    continue
                is_large = 0 <= retention.retention_bytes < size_bytes or self._space.is_low
                is_old = 0 <= snapshot.log_time_ms < wall_ms - retention.retention_ms and retention.retention_ms >= 0
                is_lost = look.start_offset < lost_end <= snapshot.end.offset
                if not (is_large or is_old or is_lost):
                    break
                lost_end = look.start_offset if is_lost else lost_end
                target, size_bytes = snapshot, snapshot.log_bytes + snapshot_bytes
            snapshot_bytes -= snapshot.size_bytes
        if target is not None:
            self._submit(DeleteBeforeSnapshotRequested(start=target.end, shows_records=retention.keeps_records))


def _look_at(directory: ReplicaDirectory, retention: Retention) -> _Look:
    """Look at a directory; runs as a job of the disk."""
    log, folder = directory.log, directory.snapshots
    directory.remove_needless_damaged_snapshots()
    # A snapshot of Kafka may end within a segment. No such snapshot is where the log begins.
    whole = [snapshot for snapshot in folder.whole() if snapshot.offset in log.segment_bases]
    newest = whole[-1] if whole else None
    return _Look(
        snapshots=[
            _Snapshot(
                end=snapshot,
                size_bytes=folder.size_bytes(snapshot),
                log_bytes=log.size_bytes(snapshot.offset),
                log_time_ms=_log_time_ms(directory, snapshot),
                is_damaged=bool(directory.damage.of_file(folder.path_of(snapshot))),
            )
            for snapshot in whole
        ],
        start_offset=log.start_offset,
        log_bytes=log.size_bytes(),
        new_bytes=log.size_bytes(Offset(0) if newest is None else newest.offset),
        order=_order(directory, newest, keeps_records=retention.keeps_records),
    )


def _log_time_ms(directory: ReplicaDirectory, snapshot: OffsetAndEpoch) -> int:
    """Return the log time at the end of a snapshot; -1 if that is damaged."""
    try:
        return directory.snapshots.log_time_ms(snapshot)
    except CorruptBatchError as error:
        directory.note_damaged_snapshot(snapshot, error)
        return -1


def _order(directory: ReplicaDirectory, newest: OffsetAndEpoch | None, *, keeps_records: bool) -> SnapshotOrder | None:
    log, end_offset = directory.log, directory.rolled_at
    base_offset = Offset(0) if newest is None else newest.offset
    if end_offset is None or end_offset <= base_offset:
        return None
    epochs = EpochCache(log.epochs).truncated(end_offset)
    epoch = epochs.epoch_before(end_offset)
    return SnapshotOrder(
        base=newest,
        end=OffsetAndEpoch(epoch=Epoch(0) if epoch is None else epoch, offset=end_offset),
        segments=tuple(base for base in log.segment_bases if base_offset <= base < end_offset),
        epochs=epochs.entries,
        keeps_records=keeps_records,
    )
