"""Counts the coverage marks of damaged logs that nodes repair."""

from __future__ import annotations

from raft.core.effects import Effect, RepairLog, ReportFault, RoleChanged, SendResponse
from raft.core.events import DamageReported, RepairEnded
from raft.core.messages import ClientFetchRequest, FetchRequest, FetchResponse
from raft.core.roles import Leader, Prospective, Resigned
from raft.errors import ErrorCode
from tests.simulation.invariants.observer import CoreRequest, Observer
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark, Marks
from tests.simulation.step import Step


class DamageMarkObserver(Observer):
    """Counts what nodes do whose log is damaged."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def event_handled(self, step: Step) -> None:
        event = step.event
        if isinstance(event, DamageReported):
            self._marks.count(Mark.DAMAGE_FOUND, bool(event.ranges))
            self._marks.count(Mark.LEADER_FOUND_DAMAGE, bool(event.ranges) and isinstance(step.role_before, Leader))
        self._marks.count(Mark.DAMAGE_REPAIRED, isinstance(event, RepairEnded) and event.is_repaired)
        for effect in step.effects:
            self._marks.count(Mark.DAMAGED_LEADER_RESIGNED, _is_handover(effect))
            self._marks.count(Mark.REPAIR_ORDERED, isinstance(effect, RepairLog))
            self._marks.count(
                Mark.DAMAGE_WITHOUT_SOURCE, isinstance(effect, ReportFault) and "begins later" in effect.message
            )
            if step.machine.process is not None and step.machine.core.damage.exists:
                self._marks.count(Mark.ROUND_LEFT_FOR_DAMAGE, _is_round(effect))

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if isinstance(order.response, FetchResponse) and order.response.error == ErrorCode.STORAGE_ERROR:
            self._marks.count(Mark.DAMAGED_READ_REFUSED, isinstance(request, ClientFetchRequest))
            self._marks.count(Mark.DAMAGED_FETCH_REFUSED, isinstance(request, FetchRequest))


def _is_handover(effect: Effect) -> bool:
    return isinstance(effect, RoleChanged) and isinstance(effect.new, Resigned) and "is damaged" in effect.reason


def _is_round(effect: Effect) -> bool:
    return isinstance(effect, RoleChanged) and isinstance(effect.new, Prospective)
