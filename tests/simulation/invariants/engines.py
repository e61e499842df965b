"""Invariants of the engine: it keeps the requests that wait, and finds the records that the core orders to read."""

from __future__ import annotations

from raft.core.effects import ReadRange, SendResponse
from raft.types import Offset
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.machine import Machine
from tests.simulation.step import Step


class EngineAndCoreHoldSameRequests(Invariant):
    """Core and engine agree on how many requests have no response yet."""

    rules = ("FETCH-12",)

    def event_handled(self, step: Step) -> None:
        process = step.machine.process
        # The two may differ while events or effects wait.
        if process is None or step.effects or process.engine.has_events:
            return
        held, awaited = process.core.waiting_requests, process.engine.waiting_requests
        self.require(held == awaited, "%s: the core holds %s requests, the engine %s", step.machine, held, awaited)


class TimerIsNotLate(Invariant):
    """While an engine waits, its timer fires at the core's deadline or before it."""

    rules = ("TIMER-1",)

    def engine_waits(self, machine: Machine) -> None:
        process = machine.process
        if process is None:
            return
        deadline_ms, due_ms = process.core.deadline_ms, process.engine.timer_due_ms
        is_late = deadline_ms is not None and (due_ms is None or due_ms > deadline_ms)
        self.require(not is_late, "%s: the timer fires at %s, the deadline is %s", machine, due_ms, deadline_ms)


class ReadsFindRecords(Invariant):
    """When the core orders a read, there are records to read; a read is done after the appends that came before it.

    A node whose appends wait for room reads what is written.
    """

    rules = ("FETCH-10",)

    def log_read(self, machine: Machine, read: ReadRange, end_offset: Offset) -> None:
        is_done = end_offset >= read.end_offset
        is_limited = machine.process is not None and machine.process.has_waited_for_room
        self.require(
            is_done or is_limited, "%s reads for %s before an append: its log ends at %s", machine, read, end_offset
        )

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        # A snapshot has gaps, and some of its records may not be stable on this node yet.
        if machine.process is not None and machine.process.has_waited_for_room:
            return
        is_in_log = order.read is not None and order.read.start_offset >= machine.core.log.start_offset
        self.require(bool(records) or not is_in_log, "%s reads no records for %s", machine, order.read)


class PageCacheIsForReaders(Invariant):
    """While an engine waits, its log is kept in the page cache if readers are expected, and only then."""

    rules = ("LOG-23",)

    def engine_waits(self, machine: Machine) -> None:
        process = machine.process
        if process is None:
            return
        expected, kept = process.core.expects_readers, machine.files.is_kept_in_page_cache
        self.require(kept == expected, "%s: in the page cache: %s, readers expected: %s", machine, kept, expected)
