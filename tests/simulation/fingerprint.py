"""The trace of a run as one number. If two runs of one seed differ in it, some random number is not from the seed."""

from __future__ import annotations

from zlib import crc32

from raft.core.effects import SendRequest, SendResponse
from tests.simulation.invariants.observer import CoreRequest, Observer
from tests.simulation.machine import Machine
from tests.simulation.security.guarded_request import GuardedRequest
from tests.simulation.step import Step
from tests.simulation.timeline import Timeline


class Fingerprint(Observer):
    """A checksum over all events, requests and responses of the nodes, with their times."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.value = 0

    def event_handled(self, step: Step) -> None:
        self._add(
            f"{step.machine.node_id} {type(step.event).__name__} {type(step.role_after).__name__} "
            f"{step.role_after.epoch} {step.log.chain} {step.high_watermark} {len(step.effects)}"
        )

    def request_sent(self, machine: Machine, order: SendRequest) -> None:
        self._add(f"{machine.node_id} {order.number} {order.node_id} {type(order.request).__name__}")

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        self._add(f"{machine.node_id} {order.request_id} {type(order.response).__name__} {len(records)}")

    def request_received(self, machine: Machine, guarded: GuardedRequest) -> None:
        self._add(f"{machine.node_id} {guarded} {guarded.expected.kind.name}")

    def _add(self, text: str) -> None:
        self.value = crc32(f"{self._timeline.now_ms} {text}".encode(), self.value)
