"""The core, the engine and the disk of a node, extended so that they report to the observers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from raft.core import RaftCore
from raft.core.effects import (
    AppendBatches,
    AppendLeaderChange,
    ControlBatch,
    Effect,
    InstallSnapshot,
    ReadRange,
    SendRequest,
    SendResponse,
    TruncateLog,
)
from raft.core.events import (
    AppendRequested,
    AppendsRequested,
    Event,
    ProducerInitRequested,
    ReadIndexRequested,
    RequestReceived,
    TransactionEndRequested,
)
from raft.core.messages import FetchResponse
from raft.errors import CorruptBatchError, DiskFullError, ErrorCode
from raft.records.control import leader_change_batch, leaders_control_batch
from raft.records.header import read_header
from raft.runtime.disk import Disk
from raft.runtime.engine import Engine, OnResponse
from raft.storage.directory import ReplicaDirectory
from raft.storage.log import Log
from raft.types import Batch, Offset
from tests.simulation.broken import ProcessEndedError
from tests.simulation.disk_workers import SimulatedDiskWorkers
from tests.simulation.event_loop import EventLoop
from tests.simulation.interleaved_jobs import InterleavedJobs
from tests.simulation.invariants.observer import CoreRequest
from tests.simulation.log_model import Entry, LogModel
from tests.simulation.step import Step, leadership_in

if TYPE_CHECKING:
    from tests.simulation.committed_log import CommittedLog
    from tests.simulation.invariants.watch import Watch
    from tests.simulation.machine import Machine
    from tests.simulation.security.guarded_request import GuardedRequest
    from tests.simulation.timeline import Timeline

Found = TypeVar("Found")

WALL_CLOCK_MS = 1_700_000_000_000
"""What the wall clocks show when a run begins."""


class WatchedCore(RaftCore):
    """Reports each event that it handles, and keeps a model of its log. Call `attach` before the first event.

    Attributes:
        log_model: the log as the core knows it; it runs ahead of what is written.
        requests: the requests without a response, by their ids.
        expects_also: the numbers of requests to other nodes that a test has sent in its name.
    """

    def attach(
        self,
        machine: Machine,
        log: LogModel,
        committed: CommittedLog,
        loop: EventLoop,
        timeline: Timeline,
        watch: Watch,
    ) -> None:
        """Begin to report.

        Args:
            machine: the machine of the node.
            log: what the log holds at the start.
            committed: what is committed.
            loop: the event loop of its process.
            timeline: the true time.
            watch: receives the events.
        """
        self._machine = machine
        self.log_model = log
        self._committed = committed
        self._loop = loop
        self._timeline = timeline
        self._watch = watch
        self.requests: dict[int, CoreRequest] = {}
        self.expects_also: set[int] = set()

    def expects_response(self, number: int) -> bool:
        """See `RaftCore.expects_response`."""
        return number in self.expects_also or super().expects_response(number)

    @property
    def waiting_requests(self) -> int:
        """How many requests it holds back."""
        return len(self._state.parked) + len(self._state.appends) + len(self._state.reads)

    def handle(self, event: Event, now_ms: int) -> list[Effect]:
        """See `RaftCore.handle`."""
        match event:
            case RequestReceived():
                self.requests[event.request_id] = event.request
            case AppendRequested() | ProducerInitRequested() | TransactionEndRequested() | ReadIndexRequested():
                self.requests[event.request_id] = event
            case AppendsRequested():
                self.requests.update((append.request_id, append) for append in event.appends)
            case _:
                pass
        # The wall clock stops until the next event, so that the model gets the same timestamps as the log.
        self._loop.wall_ms = WALL_CLOCK_MS + self._timeline.now_ms
        role_before, high_watermark_before = self.role, self.high_watermark
        effects = super().handle(event, now_ms)
        truncated, appended = self._follow_log(effects)
        self._watch.event_handled(
            Step(
                machine=self._machine,
                now_ms=now_ms,
                event=event,
                effects=effects,
                role_before=role_before,
                role_after=self.role,
                leadership=leadership_in(role_before, effects),
                high_watermark_before=high_watermark_before,
                high_watermark=self.high_watermark,
                log=self.log_model,
                truncated=truncated,
                appended=appended,
            )
        )
        return effects

    def _follow_log(self, effects: list[Effect]) -> tuple[list[Entry], list[Entry]]:
        truncated: list[Entry] = []
        appended: list[Entry] = []
        for effect in effects:
            match effect:
                case TruncateLog(end_offset=end_offset):
                    assert not appended, "a step that truncates after it has appended is not supported"
                    truncated += self.log_model.truncate(end_offset)
                case AppendBatches(batches=batches):
                    appended += [self.log_model.append(self._with_bytes(batch)) for batch in batches]
                case AppendLeaderChange():
                    appended.append(self.log_model.append(self._leader_change(effect)))
                case InstallSnapshot(contents=contents):
                    removed, added = self._follow_snapshot(contents.end.offset)
                    truncated += removed
                    appended += added
                case _:
                    pass
        return truncated, appended

    def _follow_snapshot(self, end_offset: Offset) -> tuple[list[Entry], list[Entry]]:
        """Replace the model by the committed log up to the end of a snapshot; return what goes, and what comes."""
        committed = self._committed.model
        same = next(
            (entry.header.end_offset for entry in reversed(self.log_model.entries) if committed.holds(entry)),
            Offset(0),
        )
        removed = self.log_model.truncate(same)
        added = committed.between(same, end_offset)
        for entry in added:
            self.log_model.add(entry)
        return removed, added

    def _with_bytes(self, batch: Batch | ControlBatch) -> Batch:
        if isinstance(batch, Batch):
            return batch
        payload = leaders_control_batch(batch.header, timestamp_ms=self._loop.wall_ms)
        return Batch(header=read_header(payload), payload=payload)

    def _leader_change(self, effect: AppendLeaderChange) -> Batch:
        payload = leader_change_batch(
            base_offset=effect.base_offset,
            epoch=effect.epoch,
            leader_id=effect.leader_id,
            voters=effect.voters,
            granting_voters=effect.granting_voters,
            timestamp_ms=self._loop.wall_ms,
        )
        return Batch(header=read_header(payload), payload=payload)


class WatchedEngine(Engine):
    """Reports each effect that it carries out, and each response with the records that are read for it.

    Call `attach` before the start.

    Attributes:
        is_fatal: if it is true for an effect, the process is killed instead of carrying it out; None for no effect.
        guarded: the request that a secured node begins to handle now; None for no request.
    """

    def attach(self, machine: Machine, core: WatchedCore, watch: Watch) -> None:
        """Begin to report.

        Args:
            machine: the machine of the node.
            core: the node's core.
            watch: receives the events.
        """
        self._machine = machine
        self._watched_core = core
        self._watch = watch
        self._unread: dict[int, tuple[CoreRequest, SendResponse]] = {}
        self.is_fatal: Callable[[Effect], bool] | None = None
        self.guarded: GuardedRequest | None = None

    @property
    def has_events(self) -> bool:
        """Whether an event waits to be handled."""
        return bool(self._events or self._held)

    @property
    def held(self) -> int:
        """How many events wait until they are settled."""
        return len(self._held)

    @property
    def waiting_requests(self) -> int:
        """How many requests have no response yet."""
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether it would handle an event at once."""
        return not (self._events or self._effects or self._is_storing)

    @property
    def timer_due_ms(self) -> int | None:
        """When its timer fires; None without one."""
        return None if self._timer is None else self._timer_due_ms

    def advance(self) -> None:
        """See `Engine.advance`."""
        super().advance()
        if self.is_idle and not self._is_ended:
            self._watch.engine_waits(self._machine)

    def carry_out(self, effect: Effect) -> None:
        """See `Engine.carry_out`."""
        if self.is_fatal is not None and self.is_fatal(effect):
            self._machine.kill_instead_of(effect)
            raise ProcessEndedError
        self._watch.effect_begun(self._machine, effect)
        if isinstance(effect, SendRequest):
            self._watch.request_sent(self._machine, effect)
        super().carry_out(effect)

    def submit(self, event: Event) -> None:
        """See `Engine.submit`."""
        if self.guarded is not None:
            self._watch.event_submitted(self._machine, self.guarded, event)
        super().submit(event)

    def expect_response(self, on_response: OnResponse) -> int:
        """See `Engine.expect_response`."""

        def on_watched_response(order: SendResponse) -> None:
            request = self._watched_core.requests.pop(order.request_id)
            if order.read is None:
                self._watch.response_sent(self._machine, request, order, b"")
            else:
                self._unread[id(order.read)] = request, order
            on_response(order)

        return super().expect_response(on_watched_response)

    def has_read(self, read: ReadRange, end_offset: Offset) -> None:
        """Report where the log ended when the disk had read records for a client."""
        self._watch.log_read(self._machine, read, end_offset)

    def was_read(self, read: ReadRange, records: bytes | CorruptBatchError) -> None:
        """Report the response for which these records were read, if there is one; an error if they are damaged."""
        request, order = self._unread.pop(id(read), (None, None))
        if request is None or order is None:
            return
        if isinstance(records, CorruptBatchError):
            assert isinstance(order.response, FetchResponse), "records are read for the response to a fetch"
            order = replace(order, response=replace(order.response, error=ErrorCode.STORAGE_ERROR), read=None)
            records = b""
        self._watch.response_sent(self._machine, request, order, records)


class WatchedDisk(Disk):
    """Passes the records that are read for responses to the engine.

    Attributes:
        has_waited_for_room: whether one of its jobs has waited for room.
    """

    engine: WatchedEngine

    def __init__(
        self,
        directory: ReplicaDirectory,
        workers: SimulatedDiskWorkers,
        *,
        checkpoint_interval_s: float,
        piece_bytes: int,
    ) -> None:
        super().__init__(directory, workers, checkpoint_interval_s=checkpoint_interval_s, piece_bytes=piece_bytes)
        self.has_waited_for_room = False
        self._jobs = InterleavedJobs(post=workers.post, failed=self._failed, wake=workers.job_waits, room=self._room)

    def _room(self, error: DiskFullError | None) -> None:
        self.has_waited_for_room = True
        super()._room(error)

    def read(self, read: ReadRange, done: Callable[[bytes | CorruptBatchError], None]) -> None:
        """See `Disk.read`."""

        def on_read(records: bytes | CorruptBatchError) -> None:
            self.engine.was_read(read, records)
            done(records)

        super().read(read, on_read)

    def read_in_pieces(
        self,
        read: ReadRange,
        parse: Callable[[bytes, Log], Found],
        done: Callable[[Found | CorruptBatchError], None],
    ) -> None:
        """See `Disk.read_in_pieces`."""
        found: list[bytes] = []

        def parse_and_keep(records: bytes, log: Log) -> Found:
            found.append(records)
            self.engine.has_read(read, log.end_offset)
            return parse(records, log)

        def on_read(result: Found | CorruptBatchError) -> None:
            self.engine.was_read(read, result if isinstance(result, CorruptBatchError) else found[0])
            done(result)

        super().read_in_pieces(read, parse_and_keep, on_read)
