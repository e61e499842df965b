"""Bugs of full disks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from raft.core import following
from raft.core.disk_room import DiskRoom
from raft.core.state import State
from raft.runtime.space_keeper import SpaceKeeper
from raft.types import Batch
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("LOG-24",), caught_by=("ReserveIsKept",))
def full_disk_is_not_noticed(patch: pytest.MonkeyPatch) -> None:
    """Records are appended however little room there is."""
    patch.setattr(DiskRoom, "holds", lambda *_: True)


@mutation(breaks=("LOG-24",), caught_by=("ReserveIsKept",))
def appends_since_the_measurement_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    """Between two measurements, each batch is compared with all the room that there was."""
    patch.setattr(DiskRoom, "append", lambda *_: None)


@mutation(breaks=("LOG-24",), caught_by=("ReserveIsKept",))
def replica_with_a_full_disk_takes_one_more_response(patch: pytest.MonkeyPatch) -> None:
    """A replica takes all records of a response if there is any room."""
    take = following._take_batches

    def take_all(state: State, batches: Iterable[Batch]) -> bool:
        if not state.disk_room.holds(1):
            return take(state, batches)
        with pytest.MonkeyPatch.context() as context:
            context.setattr(DiskRoom, "holds", lambda *_: True)
            return take(state, batches)

    patch.setattr(following, "_take_batches", take_all)


@mutation(breaks=("LOG-24",), caught_by=("QuorumRecovers", "ReserveIsKept"))
def disk_is_measured_once_only(patch: pytest.MonkeyPatch) -> None:
    """A node whose disk is full at its start appends no records afterwards, although there is room again."""
    measure = SpaceKeeper._measure

    def once(keeper: SpaceKeeper) -> None:
        if keeper.free_bytes is None:
            measure(keeper)

    patch.setattr(SpaceKeeper, "_measure", once)


@mutation(breaks=("LOG-24", "FETCH-17"), caught_by=("QuorumRecovers",))
def follower_with_a_full_disk_fetches_nothing_more(patch: pytest.MonkeyPatch) -> None:
    """A replica that had no room for a batch does not ask for it again."""
    patch.setattr(following, "FULL_DISK_PAUSE_MS", 1 << 40)
