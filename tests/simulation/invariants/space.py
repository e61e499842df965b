"""Invariants of full disks."""

from __future__ import annotations

from raft.core.effects import AppendBatches, SendResponse
from raft.core.events import DiskMeasured, DiskWaiting
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.machine import Machine
from tests.simulation.starting import RESERVE_BYTES
from tests.simulation.step import Step

_ROOM_OF_FILLED_DISK_BYTES = 2 * RESERVE_BYTES


class ReserveIsKept(Invariant):
    """Between two measurements of its disk, a node appends no more records than the first had room for.

    It refuses records only while another program has filled the disk, or jobs of the disk wait for room.
    """

    rules = ("LOG-24",)

    def __init__(self) -> None:
        self._room_bytes: dict[Machine, int] = {}
        self._waiting: set[Machine] = set()

    def node_started(self, machine: Machine) -> None:
        self._room_bytes.pop(machine, None)
        self._waiting.discard(machine)

    def event_handled(self, step: Step) -> None:
        machine = step.machine
        match step.event:
            case DiskMeasured(room_bytes=room_bytes):
                self._room_bytes[machine] = room_bytes
            case DiskWaiting(written_end=None):
                self._waiting.discard(machine)
            case DiskWaiting():
                self._waiting.add(machine)
            case _:
                pass
        if machine not in self._room_bytes:
            return
        appended = [
            each.header for effect in step.effects if isinstance(effect, AppendBatches) for each in effect.batches
        ]
        size_bytes = sum(header.size_bytes for header in appended if not header.is_control)
        self._room_bytes[machine] -= size_bytes
        too_many = -self._room_bytes[machine]
        is_kept = not size_bytes or too_many <= 0
        self.require(is_kept, "%s appends %s bytes, %s more than it has room for", machine, size_bytes, too_many)

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if isinstance(order.response, AppendResponse) and order.response.error == ErrorCode.STORAGE_ERROR:
            room_bytes = self._room_bytes.get(machine)
            is_measured = room_bytes is not None and room_bytes <= _ROOM_OF_FILLED_DISK_BYTES
            is_full = is_measured or machine in self._waiting
            self.require(is_full, "%s refuses records, although it has room for %s bytes", machine, room_bytes)
