"""When a node makes snapshots of its log, and when it removes what they replace (rules SNAPSHOT-1, SNAPSHOT-3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.errors import ErrorCode
from raft.runtime.fault_log import FaultLog
from raft.runtime.snapshot_keeper import Retention, SnapshotKeeper, _logger
from raft.runtime.space_keeper import SpaceKeeper
from raft.types import CleanupPolicy
from tests.runtime.one_voter import OneVoter, SnapshotsAtOnce

RETENTION = Retention(
    policy=CleanupPolicy.COMPACT,
    bytes_between_snapshots=1_000,
    snapshot_interval_ms=60_000,
    min_cleanable_dirty_ratio=0,
    retention_bytes=1 << 30,
    retention_ms=-1,
)
RESERVE_BYTES = 10_000


class Kept:
    """A leader with a keeper.

    Args:
        retention: what the keeper does.
    """

    def __init__(self, retention: Retention = RETENTION) -> None:
        self.node = OneVoter(serves_snapshot=retention.keeps_records)
        self.maker = SnapshotsAtOnce(self.node.files)
        node = self.node
        self.space = SpaceKeeper(node.core, node.engine.submit, node.disk, node.scheduler, RESERVE_BYTES)
        self.keeper = SnapshotKeeper(
            node.core,
            node.engine.submit,
            node.disk,
            node.scheduler,
            retention,
            self.space,
            self.maker,
            FaultLog(_logger, node.scheduler.now_ms),
        )
        self.space.start()
        self.keeper.start()

    def fill(self, size_bytes: int) -> None:
        """Append so many bytes of one key."""
        assert self.node.append("key", value=bytes(size_bytes)) == ErrorCode.NONE

    @property
    def snapshots(self) -> list[int]:
        """The ends of the snapshots on the disk."""
        return [int(snapshot.offset) for snapshot in self.node.directory.snapshots.whole()]

    @property
    def start_offset(self) -> int:
        return int(self.node.directory.log.start_offset)


@pytest.mark.rule("SNAPSHOT-1")
def test_snapshot_is_made_after_so_many_bytes() -> None:
    kept = Kept()
    kept.fill(900 - 200)
    kept.node.wait(3_000)
    assert kept.snapshots == []

    kept.fill(200)
    kept.node.wait(3_000)

    assert kept.snapshots == [kept.node.core.log.end_offset]
    assert [order.is_urgent for order in kept.maker.orders] == [False]


@pytest.mark.rule("SNAPSHOT-1")
def test_snapshot_is_made_after_so_long_if_there_is_anything_new() -> None:
    kept = Kept()
    kept.fill(1)

    kept.node.wait(59_000)
    assert kept.snapshots == []
    kept.node.wait(4_000)
    assert len(kept.snapshots) == 1

    kept.node.wait(120_000)
    assert len(kept.maker.orders) == 1


@pytest.mark.rule("SNAPSHOT-1")
def test_snapshot_of_a_large_state_waits_for_as_many_new_records() -> None:
    kept = Kept(replace(RETENTION, min_cleanable_dirty_ratio=0.5))
    kept.fill(10_000)
    kept.node.wait(3_000)
    assert len(kept.snapshots) == 1

    kept.fill(5_000)
    kept.node.wait(3_000)
    assert len(kept.snapshots) == 1

    kept.fill(5_500)
    kept.node.wait(3_000)
    assert len(kept.snapshots) == 2


def test_no_snapshot_is_made_without_a_policy() -> None:
    kept = Kept(replace(RETENTION, policy=CleanupPolicy.NONE))
    kept.fill(5_000)

    kept.node.wait(120_000)

    assert (kept.snapshots, kept.maker.orders, kept.start_offset) == ([], [], 0)


@pytest.mark.rule("SNAPSHOT-3")
def test_log_is_cut_when_it_is_larger_than_the_retention() -> None:
    kept = Kept(replace(RETENTION, retention_bytes=12_000))
    for _ in range(3):
        kept.fill(1_500)
        kept.node.wait(3_000)
    assert (len(kept.snapshots), kept.start_offset) == (3, 0)

    kept.fill(1_500)
    kept.node.wait(3_000)

    assert 0 < kept.start_offset == kept.snapshots[0]
    assert len(kept.snapshots) > 1, "no more is removed than has to be"


@pytest.mark.rule("SNAPSHOT-3")
def test_log_is_cut_when_it_is_older_than_the_retention() -> None:
    kept = Kept(replace(RETENTION, retention_ms=30_000))
    kept.fill(1_500)
    kept.node.wait(3_000)
    assert kept.start_offset == 0

    kept.node.wait(35_000)

    assert [kept.start_offset] == kept.snapshots


@pytest.mark.rule("SNAPSHOT-1")
def test_snapshot_that_cannot_be_made_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    kept.maker.problem = "no space left"
    kept.fill(2_000)
    kept.node.wait(3_000)

    assert kept.snapshots == []
    assert "no snapshot at offset" in caplog.text
    assert "no space left" in caplog.text
    kept.maker.problem = None
    kept.node.wait(3_000)
    assert len(kept.snapshots) == 1


@pytest.mark.rule("LOG-24", "SNAPSHOT-3")
def test_full_disk_frees_space_by_a_snapshot_before_it_is_due() -> None:
    kept = Kept(replace(RETENTION, bytes_between_snapshots=1 << 30, min_cleanable_dirty_ratio=0.5))
    for _ in range(4):
        kept.fill(3_000)
    kept.node.files.fill(RESERVE_BYTES)
    kept.node.wait(1_000)
    assert kept.node.append("key") == ErrorCode.STORAGE_ERROR

    kept.node.wait(5_000)

    assert [kept.start_offset] == kept.snapshots
    assert [order.is_urgent for order in kept.maker.orders] == [True]
    assert kept.node.append("key") == ErrorCode.NONE


@pytest.mark.rule("SNAPSHOT-1")
def test_stopped_keeper_makes_no_snapshot() -> None:
    kept = Kept()
    kept.fill(2_000)

    kept.keeper.stop()
    kept.node.wait(10_000)

    assert (kept.snapshots, kept.maker.orders) == ([], [])


def damage_snapshot(kept: Kept, end: int) -> None:
    """Flip a bit of the state of a snapshot, which each look at the directory reads."""
    folder = kept.node.directory.snapshots
    (snapshot,) = [each for each in folder.whole() if each.offset == end]
    kept.node.files.flip_bit(folder.name_of(snapshot), 70)


@pytest.mark.rule("LOG-29", "SNAPSHOT-1")
def test_damaged_snapshot_is_removed_and_made_again_when_the_log_has_its_records() -> None:
    kept = Kept()
    kept.fill(1_000)
    kept.node.wait(3_000)
    (end,) = kept.snapshots

    damage_snapshot(kept, end)
    kept.node.wait(5_000)

    assert kept.snapshots == [kept.node.core.log.end_offset]
    assert len(kept.maker.orders) == 2
    assert kept.maker.orders[1].base is None, "not of the damaged one"
    assert kept.node.engine.damage.parts == ()


@pytest.mark.rule("LOG-29", "SNAPSHOT-1")
def test_damaged_records_of_a_snapshot_are_found_when_the_next_one_is_made_of_it() -> None:
    """Each look at the directory reads the begin of a snapshot only."""
    kept = Kept()
    for number in range(30):
        assert kept.node.append(f"key {number}", value=bytes(100_000)) == ErrorCode.NONE
    kept.node.wait(3_000)
    folder = kept.node.directory.snapshots
    (snapshot,) = folder.whole()
    kept.node.files.flip_bit(folder.name_of(snapshot), folder.size_bytes(snapshot) - 200)

    kept.fill(1_000)
    kept.node.wait(5_000)

    assert kept.snapshots == [kept.node.core.log.end_offset]
    assert [order.base for order in kept.maker.orders] == [None, snapshot, None]
    assert kept.node.engine.damage.parts == ()


@pytest.mark.rule("LOG-29", "LOG-31", "SNAPSHOT-3")
def test_log_begins_behind_a_damaged_snapshot_when_there_is_a_later_one() -> None:
    kept = Kept(replace(RETENTION, retention_bytes=7_000))
    for _ in range(3):
        kept.fill(2_000)
        kept.node.wait(3_000)
    start, later = kept.start_offset, kept.snapshots[-1]
    assert start == kept.snapshots[0] < later

    damage_snapshot(kept, start)
    kept.node.wait(5_000)

    assert kept.start_offset == later
    assert kept.snapshots == [later]
    assert kept.node.engine.damage.parts == ()
