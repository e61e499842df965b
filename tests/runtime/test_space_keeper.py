"""A node measures its disk each second, and appends no records while only the reserve is free (rule LOG-24)."""

from __future__ import annotations

import pytest

from raft.errors import ErrorCode
from raft.runtime.space_keeper import SpaceKeeper
from tests.runtime.one_voter import OneVoter

RESERVE_BYTES = 100_000


def keeper_of(node: OneVoter) -> SpaceKeeper:
    """Begin to measure."""
    keeper = SpaceKeeper(node.core, node.engine.submit, node.disk, node.scheduler, RESERVE_BYTES)
    keeper.start()
    node.wait(0)
    return keeper


@pytest.mark.rule("LOG-24")
def test_records_are_refused_from_the_start_if_the_disk_is_full() -> None:
    node = OneVoter()
    node.files.fill(RESERVE_BYTES // 2)

    keeper_of(node)

    assert node.append("a") == ErrorCode.STORAGE_ERROR
    assert node.core.is_disk_full


@pytest.mark.rule("LOG-24")
def test_disk_that_fills_up_and_is_cleared_stops_no_node(caplog: pytest.LogCaptureFixture) -> None:
    node = OneVoter()
    keeper_of(node)
    assert node.append("a") == ErrorCode.NONE
    node.files.fill(RESERVE_BYTES - 1)
    node.wait(1_000)

    assert [node.append("a"), node.append("b")] == [ErrorCode.STORAGE_ERROR] * 2

    node.wait(5_000)
    node.files.fill(None)
    node.wait(1_000)
    assert node.append("a") == ErrorCode.NONE
    full, room = [record.message for record in caplog.records if "bytes free" in record.message]
    assert full == (
        "node 1: the disk has 99999 bytes free, expected more than raft.reserve.bytes=100000: "
        "no records are appended until there is room"
    )
    assert "records are appended again" in room


@pytest.mark.rule("LOG-24")
def test_records_between_two_measurements_leave_the_reserve_free() -> None:
    node = OneVoter()
    node.files.fill(RESERVE_BYTES + 5_000)
    keeper_of(node)

    results = [node.append("a", value=bytes(1_000)) for _ in range(10)]

    assert results == [ErrorCode.NONE] * 4 + [ErrorCode.STORAGE_ERROR] * 6
    assert node.files.free_bytes() >= RESERVE_BYTES - 1_000, "but for what is not records"


def test_disk_is_low_before_it_is_full() -> None:
    node = OneVoter()
    keeper = keeper_of(node)
    was_low = keeper.is_low

    node.files.fill(2 * RESERVE_BYTES - 1)
    node.wait(1_000)

    assert (was_low, keeper.is_low) == (False, True)
    assert not node.core.is_disk_full


def test_stopped_keeper_measures_no_more() -> None:
    node = OneVoter()
    keeper = keeper_of(node)

    keeper.stop()
    node.files.fill(0)
    node.wait(5_000)

    assert node.append("a") == ErrorCode.NONE
