"""Invariants of the engine: nothing that waits is forgotten, and what is to be read is there."""

from __future__ import annotations

from raft.core.effects import SendResponse
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.machine import Machine
from tests.simulation.step import Step


class WaitingRequestsAreKnown(Invariant):
    """The core holds a request exactly as long as somebody waits for its response."""

    rules = ("FETCH-12",)

    def event_handled(self, step: Step) -> None:
        process = step.machine.process
        # While events or effects wait, the two may differ.
        if process is None or step.effects or process.engine.has_events:
            return
        held, awaited = process.core.waiting_requests, process.engine.waiting_requests
        self.require(held == awaited, "%s: the core holds %s requests, %s are waited for", step.machine, held, awaited)


class ReadsFindRecords(Invariant):
    """When the core says that there are records to read, there are."""

    rules = ("FETCH-10",)

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        self.require(bool(records) or order.read is None, "%s finds nothing at %s", machine, order.read)
