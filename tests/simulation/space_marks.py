"""Counts the coverage marks of full disks."""

from __future__ import annotations

from raft.core.effects import Effect, RoleChanged, SendResponse
from raft.core.events import DeleteBeforeSnapshotRequested, DiskWaiting, ResponseReceived
from raft.core.messages import AppendResponse, FetchResponse
from raft.core.roles import Prospective, Resigned
from raft.errors import ErrorCode
from tests.simulation.invariants.observer import Observer
from tests.simulation.marks import Mark, Marks
from tests.simulation.step import Step


class SpaceMarkObserver(Observer):
    """Counts what nodes do whose disk has no room for records."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def event_handled(self, step: Step) -> None:
        for effect in step.effects:
            match effect:
                case SendResponse(response=AppendResponse(error=ErrorCode.STORAGE_ERROR)):
                    self._marks.count(Mark.RECORDS_REFUSED_BY_FULL_DISK)
                case _:
                    pass
        if isinstance(step.event, DiskWaiting):
            self._marks.count(Mark.FOUND_ROOM if step.event.written_end is None else Mark.JOB_WAITED_FOR_ROOM)
        if not step.machine.core.is_disk_full:
            return
        self._marks.count(Mark.LEADER_WITHOUT_ROOM_RESIGNED, any(map(_is_handover, step.effects)))
        self._marks.count(Mark.ROUND_LEFT_TO_OTHERS, any(map(_is_left_round, step.effects)))
        match step.event:
            case ResponseReceived(response=FetchResponse(batches=batches)):
                self._marks.count(Mark.RECORDS_DROPPED_BY_FULL_DISK, bool(batches) and not step.appended)
            case DeleteBeforeSnapshotRequested():
                self._marks.count(Mark.ROOM_MADE_BY_SNAPSHOT)
            case _:
                pass


def _is_handover(effect: Effect) -> bool:
    return isinstance(effect, RoleChanged) and isinstance(effect.new, Resigned) and "has room" in effect.reason


def _is_left_round(effect: Effect) -> bool:
    return isinstance(effect, RoleChanged) and isinstance(effect.new, Prospective)
