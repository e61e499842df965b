"""Passes events to the core, and carries out its effects in order. Nothing else changes the state of the core.

    event -> core.handle -> effects -> disk, network, waiting requests -> event

The disk does its jobs in the order of the engine's calls, so the engine does not wait for it: a read returns what was
appended before it. The engine waits for one effect only, `StoreElectionState`: a vote or an announcement that follows
it must not be sent before the state is durable.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from raft.core import RaftCore
from raft.core.effects import (
    AppendBatches,
    AppendLeaderChange,
    CheckSnapshot,
    ControlBatch,
    DeleteBeforeSnapshot,
    Disconnect,
    Effect,
    FlushLog,
    Halt,
    InstallSnapshot,
    RepairLog,
    ReportFault,
    RoleChanged,
    SendRequest,
    SendResponse,
    ShutdownFinished,
    StoreElectionState,
    TruncateLog,
)
from raft.core.event_queue import take_next
from raft.core.events import (
    AppendRequested,
    DamageReported,
    DiskWaiting,
    Event,
    LogFlushed,
    RepairEnded,
    RequestAbandoned,
    SnapshotChecked,
    Started,
    TimePassed,
)
from raft.errors import DiskFullError, NodeHaltedError
from raft.records.batches import read_batches
from raft.records.control import leader_change_batch, leaders_control_batch
from raft.records.header import read_header
from raft.runtime.advice import explain
from raft.runtime.damage_log import DamageLog
from raft.runtime.disk import Disk, DiskEffect, DiskListener
from raft.runtime.fault_log import FaultLog
from raft.runtime.meter import NO_METER, Meter
from raft.runtime.network import Network
from raft.runtime.scheduler import Scheduler, Timer
from raft.storage.damage import DamageReport
from raft.transactions import SnapshotSummary
from raft.types import Batch, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)

Step = TypeVar("Step", Event, Effect)
OnResponse = Callable[[SendResponse], None]
"""Takes the response to a request. If the response needs records, the callback orders the read at once."""

_OF_HELD_CONNECTIONS = (AppendRequested, RequestAbandoned)
"""Events that come outside of the turns of clients: of an append that another thread has checked, and of a connection
that has ended. They stay behind the events that are held, because earlier requests of their connection may be among
them."""


class Engine:
    """Runs one core.

    Args:
        core: the core; not started yet.
        disk: the disk of the replica.
        network: sends requests to other nodes, and submits responses and failures to this engine.
        scheduler: runs the engine.
        ended: called once when the node has to stop: with None after a shutdown, with the error otherwise.
        meter: measures what happens.
    """

    def __init__(
        self,
        core: RaftCore,
        disk: Disk,
        network: Network,
        scheduler: Scheduler,
        *,
        ended: Callable[[Exception | None], None],
        meter: Meter = NO_METER,
    ) -> None:
        self.core = core
        self._disk = disk
        self._network = network
        self._scheduler = scheduler
        self._ended = ended
        self._meter = meter
        self._events: deque[Event] = deque()
        self._held: list[Event] = []
        self._is_holding = False
        self._effects: deque[Effect] = deque()
        self._waiting: dict[int, OnResponse] = {}
        self._next_request_id = 0
        self._is_storing = False
        self._is_scheduled = False
        self._is_ended = False
        self._timer: Timer | None = None
        self._timer_due_ms = 0
        self._faults = FaultLog(_logger, scheduler.now_ms)
        self._damage_log = DamageLog(scheduler.now_ms)

    @property
    def damage(self) -> DamageReport:
        """What is damaged of the log, and what was repaired."""
        return self._damage_log.newest

    def start(self) -> None:
        """Start the disk, and submit the first event."""
        self._disk.start(
            DiskListener(
                flushed=self._flushed,
                rolled=self._snapshot_producers,
                room=self._on_room,
                damaged=self._on_damage,
                failed=self._failed,
            )
        )
        self.submit(Started())

    def stop(self) -> None:
        """Stop the disk after the jobs that were ordered. The requests that wait get no response."""
        self._is_ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._disk.stop()

    def submit(self, event: Event) -> None:
        """Pass an event to the core soon. Events that are submitted before that are handled in the same turn."""
        if self._is_holding or (self._held and isinstance(event, _OF_HELD_CONNECTIONS)):
            self._held.append(event)
            return
        self._events.append(event)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._scheduler.soon(self.advance)

    def hold(self, is_holding: bool) -> None:
        """Decide whether events that are submitted from now on wait for `settle`."""
        self._is_holding = is_holding

    def settle(self) -> None:
        """Handle the events that were submitted, those that wait included, now and not soon."""
        self._events.extend(self._held)
        self._held.clear()
        self.advance()

    def expect_response(self, on_response: OnResponse) -> int:
        """Return the id of a request that will be submitted; `on_response` is called with its response."""
        request_id = self._next_request_id
        self._next_request_id += 1
        self._waiting[request_id] = on_response
        return request_id

    def abandon(self, request_id: int) -> None:
        """Drop a request whose sender has disconnected."""
        if self._waiting.pop(request_id, None) is not None:
            self.submit(RequestAbandoned(request_id=request_id))

    def advance(self) -> None:
        """Handle the events that were submitted, now and not soon."""
        self._is_scheduled = False
        while not self._is_storing and not self._is_ended:
            if self._effects:
                self._do(self.carry_out, self._effects.popleft())
            elif self._events:
                self._do(self._handle, take_next(self._events))
            else:
                self._set_timer()
                return

    def _do(self, step: Callable[[Step], None], subject: Step) -> None:
        try:
            step(subject)
        except Exception as error:
            # The state of this node may be wrong now, so it must stop; the rest of the quorum continues.
            what = "an invariant broke" if isinstance(error, AssertionError) else "an unexpected error"
            _logger.exception("node %s stops: %s on %s", self.core.node_id, what, type(subject).__name__)
            self._end(error)

    def _handle(self, event: Event) -> None:
        effects = self.core.handle(event, self._scheduler.now_ms())
        self._meter.handled(event, effects, self.core)
        self._effects.extend(effects)
        self._disk.note_committed(self.core.durable_high_watermark)

    def _set_timer(self) -> None:
        deadline_ms = self.core.deadline_ms
        if deadline_ms is None:
            return
        if self._timer is not None:
            # Most deadlines move to a later time with every fetch. A timer that fires early is set again.
            if self._timer_due_ms <= deadline_ms:
                return
            self._timer.cancel()
        self._timer_due_ms = deadline_ms
        self._timer = self._scheduler.at(deadline_ms, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        deadline_ms = self.core.deadline_ms
        if deadline_ms is not None and deadline_ms <= self._scheduler.now_ms():
            self.submit(TimePassed())
        else:
            self._set_timer()

    def carry_out(self, effect: Effect) -> None:
        """Carry out one effect of the core. The engine calls it for each, in their order."""
        match effect:
            case StoreElectionState():
                self._is_storing = True
                self._disk.do(effect, self._stored)
            case SendRequest():
                self._network.send(effect)
            case Disconnect():
                self._network.disconnect(effect.node_id)
            case SendResponse():
                self._respond(effect)
            case RoleChanged():
                self._log_role_change(effect)
                self._disk.keep_in_page_cache(self.core.expects_readers)
            case ReportFault():
                self._faults.report("node %s: %s", self.core.node_id, effect.message)
            case ShutdownFinished():
                self._log_shutdown(effect)
                self._end(None)
            case Halt():
                why = explain(effect)
                _logger.error("node %s stops: %s", self.core.node_id, why)
                self._end(NodeHaltedError(why))
            case _:
                self._change_log(effect)

    def _change_log(self, effect: DiskEffect | AppendLeaderChange) -> None:
        done: Callable[[Any], None] | None = None
        match effect:
            case AppendBatches():
                effect = AppendBatches(batches=tuple(map(self._with_bytes, effect.batches)), aborted=effect.aborted)
            case AppendLeaderChange():
                effect = AppendBatches(batches=tuple(read_batches(self._leader_change(effect))))
            case TruncateLog():
                _logger.warning(
                    "node %s truncates its log at offset %s: leader %s does not have what follows; everything "
                    "below offset %s is known to be committed",
                    self.core.node_id,
                    effect.end_offset,
                    self.core.leader_id,
                    self.core.durable_high_watermark,
                )
            case InstallSnapshot(contents=contents):
                _logger.info("node %s replaces its log with the snapshot at %s", self.core.node_id, contents.end)
            case DeleteBeforeSnapshot(start=start):
                _logger.info("node %s: the log begins at %s now", self.core.node_id, start)
            case RepairLog():
                done = self._repaired
            case CheckSnapshot():
                done = partial(self._checked, effect.snapshot)
            case _:
                pass
        self._disk.do(effect, done)

    def _leader_change(self, effect: AppendLeaderChange) -> bytes:
        return leader_change_batch(
            base_offset=effect.base_offset,
            epoch=effect.epoch,
            leader_id=effect.leader_id,
            voters=effect.voters,
            granting_voters=effect.granting_voters,
            timestamp_ms=self._scheduler.wall_clock_ms(),
        )

    def _with_bytes(self, batch: Batch | ControlBatch) -> Batch:
        if isinstance(batch, Batch):
            return batch
        payload = leaders_control_batch(batch.header, timestamp_ms=self._scheduler.wall_clock_ms())
        return Batch(header=read_header(payload), payload=payload)

    def _respond(self, response: SendResponse) -> None:
        on_response = self._waiting.pop(response.request_id, None)
        if on_response is not None:
            on_response(response)

    def _log_shutdown(self, finished: ShutdownFinished) -> None:
        if finished.handed_over:
            _logger.info("node %s: shut down", self.core.node_id)
        else:
            _logger.info("node %s: shut down before another voter became leader", self.core.node_id)

    def _log_role_change(self, change: RoleChanged) -> None:
        _logger.info(
            "node %s epoch %s: %s -> %s: %s",
            self.core.node_id,
            change.new.epoch,
            type(change.old).__name__,
            type(change.new).__name__,
            change.reason,
        )

    def _stored(self, _: None) -> None:
        self._is_storing = False
        self.advance()

    def _repaired(self, is_repaired: bool) -> None:
        self.submit(RepairEnded(is_repaired=is_repaired))

    def _checked(self, snapshot: OffsetAndEpoch, contents: SnapshotSummary | None) -> None:
        self.submit(SnapshotChecked(snapshot=snapshot, contents=contents))

    def _flushed(self, flush: FlushLog) -> None:
        self.submit(LogFlushed(number=flush.number, end_offset=flush.end_offset))

    def _on_room(self, error: DiskFullError | None, written_end: Offset) -> None:
        self.submit(DiskWaiting(written_end=None if error is None else written_end))
        if error is None:
            _logger.warning("node %s: the disk has room for what has waited", self.core.node_id)
        else:
            self._faults.report("node %s: %s; this is repeated until there is room", self.core.node_id, error)

    def _on_damage(self, report: DamageReport) -> None:
        self._damage_log.report(report)
        self.submit(DamageReported(ranges=tuple(part.range for part in report.parts)))

    def _failed(self, error: BaseException) -> None:
        _logger.error("node %s stops: %s", self.core.node_id, error)
        self._end(error if isinstance(error, Exception) else RuntimeError(str(error)))

    def _end(self, error: Exception | None) -> None:
        if not self._is_ended:
            self._is_ended = True
            self._ended(error)

    def _snapshot_producers(self) -> None:
        """Write the writers and transactions as they are now. The log may reach beyond the begin of the new segment."""
        if not self._is_ended:
            self._disk.write_producer_snapshot(self.core.producers_image())
