"""One life of a node: feeds its core and carries out the effects, as `raft.node.engine` does, in virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, assert_never

from raft.core import RaftCore
from raft.core.coalescing import take_next
from raft.core.effects import (
    AppendBatches,
    AppendLeaderChange,
    Disconnect,
    Effect,
    FlushLog,
    Halt,
    InstallSnapshot,
    Reply,
    ReportFault,
    RoleChanged,
    Send,
    ShutdownFinished,
    StoreElectionState,
    StoreSnapshotPiece,
    TruncateLog,
)
from raft.core.events import AppendRequested, Event, LogFlushed, RequestAbandoned, RequestReceived, Started, TimePassed
from raft.core.messages import ClientFetchRequest, Request
from raft.records.control import leader_change_batch
from raft.records.header import read_header
from raft.types import Batch, NodeId
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.clock import Clock
from tests.simulation.disk_threads import DiskThreads
from tests.simulation.log_twin import Entry, LogTwin
from tests.simulation.step import Question, Respond, Step, reign_in

if TYPE_CHECKING:
    from tests.simulation.machine import Machine
    from tests.simulation.surroundings import Surroundings

_WALL_CLOCK_MS = 1_700_000_000_000


class Outbox(Protocol):
    """How requests reach other nodes; what becomes of them comes back as events."""

    def send(self, sender: Process, order: Send) -> None:
        """Send a request."""
        ...

    def disconnect(self, sender: Process, node_id: NodeId) -> None:
        """Drop the connections to a node."""
        ...


class Process:
    """Runs one core from its start to its end.

    Args:
        machine: that it runs on.
        core: not started yet.
        log: what its log holds at the start.
        clock: by which the core lives.
        surroundings: the rest of the world.

    Attributes:
        log: what the core believes to be in its log: it runs ahead of what is written.
        is_over: whether this life has ended.
    """

    def __init__(
        self,
        machine: Machine,
        core: RaftCore,
        log: LogTwin,
        *,
        clock: Clock,
        surroundings: Surroundings,
    ) -> None:
        self.machine = machine
        self.core = core
        self.log = log
        self.is_over = False
        self._clock = clock
        self._timeline = surroundings.timeline
        self._timer_grain_ms = surroundings.plan.timeouts.timer_grain_ms
        self._watch = surroundings.watch
        self._outbox = surroundings.outbox
        self._events: deque[Event] = deque()
        self._effects: deque[Effect] = deque()
        self._questions: dict[int, Question] = {}
        self._next_request_id = 0
        self._is_advancing = False
        self._is_storing = False
        self._stalled_until_ms = 0
        self._timer_ms: int | None = None
        self._is_fatal: Callable[[Effect], bool] | None = None

    def start(self, disk: DiskThreads) -> None:
        """Begin with the first event."""
        self._disk = disk
        self.submit(Started())

    @property
    def is_at_rest(self) -> bool:
        """Whether it would handle an event at once."""
        return not (self._events or self._effects or self._is_storing or self._is_stalled)

    # What the world does to it

    def submit(self, event: Event) -> None:
        """Let something happen to the node."""
        if not self.is_over:
            self._events.append(event)
            self._advance()

    def receive(self, request: Request | ClientFetchRequest, respond: Respond) -> int:
        """Hand it a request; return the number by which the node knows it."""
        request_id = self._expect_reply(Question(request, respond))
        self.submit(RequestReceived(request_id=request_id, request=request))
        return request_id

    def abandon(self, request_id: int) -> None:
        """Tell it that nobody waits for an answer any more."""
        if self._questions.pop(request_id, None) is not None:
            self.submit(RequestAbandoned(request_id=request_id))

    def append(self, batch: Batch, timeout_ms: int, respond: Respond) -> None:
        """Hand it what a client wants appended."""
        event = AppendRequested(request_id=self._next_request_id, batch=batch, timeout_ms=timeout_ms)
        self._expect_reply(Question(event, respond))
        self.submit(event)

    def flushed(self, order: FlushLog) -> None:
        """Tell it that a flush is done."""
        self.submit(LogFlushed(number=order.number, end_offset=order.end_offset))

    def snapshot_producers(self) -> None:
        """Have its table of writers written down as it is now."""
        if not self.is_over:
            self._disk.write_producer_snapshot(self.core.writers_image())

    def stall(self, until_ms: int) -> None:
        """Let it stand still; what happens meanwhile waits."""
        self._stalled_until_ms = until_ms
        self._timeline.at(until_ms, self._advance)

    def wake(self) -> None:
        """End a stall before its time."""
        self._stalled_until_ms = 0
        self._advance()

    def jump_ahead(self, jump_ms: int) -> None:
        """Let its clock jump."""
        self._clock.jump(jump_ms)
        self._advance()

    def plan_kill(self, instead_of: Callable[[Effect], bool] | None) -> None:
        """Kill it instead of the first effect for which this is true; None takes that back."""
        self._is_fatal = instead_of

    def halt(self) -> None:
        """It is gone, from one moment to the next."""
        self.is_over = True
        self._disk.halt()

    # As in the engine

    @property
    def _is_stalled(self) -> bool:
        return self._timeline.now_ms < self._stalled_until_ms

    def _expect_reply(self, question: Question) -> int:
        request_id = self._next_request_id
        self._next_request_id += 1
        self._questions[request_id] = question
        return request_id

    def _advance(self) -> None:
        if self._is_advancing:
            return
        self._is_advancing = True
        while not (self.is_over or self._is_storing or self._is_stalled):
            if self._effects:
                self._carry_out(self._effects.popleft())
            elif self._events:
                self._handle(take_next(self._events))
            else:
                self._set_timer()
                break
        self._is_advancing = False

    def _handle(self, event: Event) -> None:
        core = self.core
        role_before, high_watermark_before = core.role, core.high_watermark
        now_ms = self._clock.now_ms
        effects = core.handle(event, now_ms)
        self._disk.note_committed(core.durable_high_watermark)
        cut_off, appended = self._follow_log(effects)
        self._effects.extend(effects)
        step = Step(
            machine=self.machine,
            now_ms=now_ms,
            event=event,
            effects=effects,
            role_before=role_before,
            role_after=core.role,
            reign=reign_in(role_before, effects),
            high_watermark_before=high_watermark_before,
            high_watermark=core.high_watermark,
            log=self.log,
            cut_off=cut_off,
            appended=appended,
        )
        self._watch.handled(step)

    def _follow_log(self, effects: list[Effect]) -> tuple[list[Entry], list[Entry]]:
        cut_off: list[Entry] = []
        appended: list[Entry] = []
        for effect in effects:
            match effect:
                case TruncateLog(end_offset=end_offset):
                    assert not appended, "a core that cuts what it has just appended is not foreseen here"
                    cut_off += self.log.truncate(end_offset)
                case AppendBatches(batches=batches):
                    appended += [self.log.append(batch) for batch in batches]
                case AppendLeaderChange():
                    appended.append(self.log.append(_leader_change(effect)))
                case _:
                    pass
        return cut_off, appended

    def _set_timer(self) -> None:
        deadline_ms = self.core.deadline_ms
        if deadline_ms is None:
            return
        due_ms = self._clock.true_ms(deadline_ms)
        due_ms += -due_ms % self._timer_grain_ms
        if self._timer_ms is None or due_ms < self._timer_ms:
            self._timer_ms = due_ms
            self._timeline.at(due_ms, lambda: self._on_timer(due_ms))

    def _on_timer(self, due_ms: int) -> None:
        if self.is_over or due_ms != self._timer_ms:
            return
        # Most deadlines have moved on by the time they were set for; then this only looks when to come back.
        self._timer_ms = None
        deadline_ms = self.core.deadline_ms
        if deadline_ms is not None and deadline_ms <= self._clock.now_ms:
            self.submit(TimePassed())
        else:
            self._set_timer()

    def _carry_out(self, effect: Effect) -> None:
        if self._is_fatal is not None and self._is_fatal(effect):
            self.machine.kill_instead_of(effect)
            return
        assert not isinstance(effect, StoreSnapshotPiece | InstallSnapshot), "nobody here has snapshots to give"
        match effect:
            case StoreElectionState():
                self._is_storing = True
                self._disk.store(effect.state, self._stored)
            case AppendBatches():
                self._disk.append(effect.batches)
            case AppendLeaderChange():
                self._disk.append((_leader_change(effect),))
            case TruncateLog():
                self._disk.truncate(effect.end_offset)
            case FlushLog():
                self._disk.order_flush(effect)
            case Send():
                self._watch.sent(self.machine, effect)
                self._outbox.send(self, effect)
            case Disconnect():
                self._outbox.disconnect(self, effect.node_id)
            case Reply():
                self._reply(effect)
            case RoleChanged() | ReportFault():
                pass  # the world hears of them when they are ordered
            case ShutdownFinished():
                self.machine.leave(effect)
            case Halt():
                raise BrokenInvariantError("NoNodeHalts", ("GEN-12", "DIVERGE-7"), f"{self.machine}: {effect.reason}")
            case _:
                assert_never(effect)

    def _stored(self) -> None:
        self._is_storing = False
        self.machine.note_stored()
        self._watch.stored(self.machine)
        self._advance()

    def _reply(self, reply: Reply) -> None:
        question = self._questions.pop(reply.request_id, None)
        if question is None:
            return
        if reply.read is None:
            self._answer(question, reply, b"")
        else:
            self._disk.read(reply.read, lambda records: self._answer(question, reply, records))

    def _answer(self, question: Question, reply: Reply, records: bytes) -> None:
        self._watch.replied(self.machine, question.asked, reply, records)
        question.respond(reply.response, records)


def _leader_change(effect: AppendLeaderChange) -> Batch:
    """The batch that opens an epoch; it says the same each time it is made."""
    payload = leader_change_batch(
        base_offset=effect.base_offset,
        epoch=effect.epoch,
        leader_id=effect.leader_id,
        voters=effect.voters,
        granting_voters=effect.granting_voters,
        timestamp_ms=_WALL_CLOCK_MS + effect.epoch,
    )
    return Batch(header=read_header(payload), payload=payload)
