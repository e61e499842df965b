"""Other threads read the state of a node on its event loop, and do not wait for ever."""

from __future__ import annotations

import pytest

from raft.errors import StorageError
from raft.metrics.loop_reader import LoopReader, LoopSilentError
from raft.runtime.disk import Disk
from raft.runtime.scheduler import Action
from raft.storage.directory import ReplicaDirectory
from tests.runtime.one_voter import OneVoter


def at_once(action: Action) -> None:
    action()


def never(_action: Action) -> None:
    """Stands for an event loop that does not turn."""


def of(voter: OneVoter) -> LoopReader:
    """A reader whose event loop runs at once, with the disk."""

    def post(action: Action) -> None:
        action()
        voter.wait(0)

    return LoopReader(post, timeout_s=10)


def test_reader_returns_what_the_loop_finds() -> None:
    assert LoopReader(at_once, timeout_s=10).read(lambda: 7) == 7


def test_reader_raises_what_the_loop_raises() -> None:
    with pytest.raises(ZeroDivisionError):
        LoopReader(at_once, timeout_s=10).read(lambda: 1 / 0)


def test_reader_does_not_wait_for_a_loop_that_does_not_turn() -> None:
    with pytest.raises(LoopSilentError, match=r"^the event loop did not respond within 0\.01 s$"):
        LoopReader(never, timeout_s=0.01).read(lambda: 7)


def test_reader_returns_what_the_disk_finds() -> None:
    voter = OneVoter()

    found = of(voter).read_disk(voter.disk, lambda directory: len(directory.log.segment_bases))

    assert found == 1


def test_error_of_a_look_at_the_disk_does_not_stop_the_node() -> None:
    voter = OneVoter()

    def fail(_directory: ReplicaDirectory) -> None:
        raise StorageError("the disk has an error")

    with pytest.raises(StorageError, match="the disk has an error"):
        of(voter).read_disk(voter.disk, fail)

    voter.append("key")
    assert not voter.errors


def test_reader_does_not_wait_for_a_disk_that_does_nothing() -> None:
    voter = OneVoter()
    disk: Disk = voter.disk

    with pytest.raises(LoopSilentError, match=r"^the disk did not respond within 0\.01 s$"):
        LoopReader(at_once, timeout_s=0.01).read_disk(disk, lambda _: 7)
