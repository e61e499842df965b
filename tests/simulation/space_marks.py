"""Counts the coverage marks of full disks."""

from __future__ import annotations

from raft.core.effects import SendResponse
from raft.core.events import LogCutRequested, ResponseReceived
from raft.core.messages import AppendResponse, FetchResponse
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
        if not step.machine.core.is_disk_full:
            return
        match step.event:
            case ResponseReceived(response=FetchResponse(batches=batches)):
                self._marks.count(Mark.RECORDS_DROPPED_BY_FULL_DISK, bool(batches) and not step.appended)
            case LogCutRequested():
                self._marks.count(Mark.ROOM_MADE_BY_SNAPSHOT)
            case _:
                pass
