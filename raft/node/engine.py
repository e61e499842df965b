"""The node's one writer: feeds the core, and carries out its effects in their order.

    event -> core.handle -> effects -> disk, peers, waiting requests -> event

What touches the log goes to the disk thread, which keeps the order, so the loop need not wait for it: a read that
follows an append in the list sees what was appended. Only a stored election state is waited for, because what follows
it in the list (a vote, an announcement) must not leave before it is on disk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, assert_never

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
    ReadRange,
    Reply,
    ReportFault,
    RoleChanged,
    Send,
    ShutdownFinished,
    StoreElectionState,
    StoreSnapshotPiece,
    TruncateLog,
)
from raft.core.events import Event, LogFlushed, RequestAbandoned, Started, TimePassed
from raft.errors import NodeHaltedError
from raft.node.advice import explain
from raft.node.checkpoint_pace import CheckpointPace
from raft.node.disk import DiskThread, FlushOrder, FlushThread
from raft.node.faults import FaultLog
from raft.node.piecewise import PiecewiseRead
from raft.records.control import leader_change_batch
from raft.records.split import split_batches
from raft.storage.directory import ReplicaDirectory
from raft.types import Batch, NodeId, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)

_CHECKPOINT_INTERVAL_S = 1.0

Found = TypeVar("Found")
Step = TypeVar("Step", Event, Effect)
_LogEffect = AppendBatches | AppendLeaderChange | TruncateLog | StoreSnapshotPiece | InstallSnapshot | FlushLog
OnReply = Callable[[Reply], None]
"""Takes the answer to a request. What it has to read of the log, it reads by `Engine.read_range`."""


class Network(Protocol):
    """How requests reach other nodes; what becomes of them comes back as events."""

    def send(self, order: Send) -> None:
        """Send a request."""
        ...

    def disconnect(self, node_id: NodeId) -> None:
        """Drop the connections to a node."""
        ...


class Engine:
    """Runs one core on one loop.

    Args:
        core: not started yet.
        directory: open; the engine alone writes to it from now on, and its owner closes it after `stop`.
        network: the way to other nodes.
        ended: told once, why the node has to stop: None after a shutdown, else the error.
    """

    def __init__(
        self,
        core: RaftCore,
        directory: ReplicaDirectory,
        network: Network,
        *,
        ended: Callable[[Exception | None], None],
    ) -> None:
        self.core = core
        self._directory = directory
        self._network = network
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._events: deque[Event] = deque()
        self._effects: deque[Effect] = deque()
        self._waiting: dict[int, OnReply] = {}
        self._next_request_id = 0
        self._is_storing = False
        self._is_scheduled = False
        self._is_ended = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_ms = 0
        self._faults = FaultLog(_logger)
        self._disk = DiskThread(self._post, self._failed)
        self._flush = FlushThread(
            directory.log.flush,
            self._post,
            write_checkpoints=directory.write_checkpoints,
            pace=CheckpointPace(_CHECKPOINT_INTERVAL_S),
            flushed=self._flushed,
            failed=self._failed,
        )

    def start(self) -> None:
        """Begin with the first event."""
        self._disk.start()
        self._flush.start()
        self.submit(Started())

    def stop(self) -> None:
        """Finish what the disk has begun, and end. Requests that still wait get no answer."""
        self._is_ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._disk.stop()
        self._flush.stop()

    def now_ms(self) -> int:
        """The clock by which the core lives."""
        return int(self._loop.time() * 1000)

    def submit(self, event: Event) -> None:
        """Hand the core an event, soon: events that come together are handled together."""
        self._events.append(event)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._advance)

    def expect_reply(self, on_reply: OnReply) -> int:
        """Return the id for a request about to be submitted; its answer will go to `on_reply`."""
        request_id = self._next_request_id
        self._next_request_id += 1
        self._waiting[request_id] = on_reply
        return request_id

    def abandon(self, request_id: int) -> None:
        """Nobody waits for this answer any more."""
        if self._waiting.pop(request_id, None) is not None:
            self.submit(RequestAbandoned(request_id=request_id))

    def read_range(self, read: ReadRange, done: Callable[[bytes], None]) -> None:
        """Read records on the disk thread; `done` gets them on the loop.

        Called as soon as a reply arrives, it reads the log as it was when the core decided on the reply. Called later,
        it can count on committed records only.
        """
        self._disk.do(
            lambda: self._directory.log.read(read.start_offset, max_bytes=read.max_bytes, end_offset=read.end_offset),
            done,
        )

    def read_in_pieces(self, read: ReadRange, look: Callable[[bytes], Found], done: Callable[[Found], None]) -> None:
        """Read committed records for a client on the disk thread, after appends and followers' reads.

        The arguments are those of `PiecewiseRead`.
        """
        PiecewiseRead(self._directory.log, self._disk, read, look, done).read_next()

    def read_log(self, work: Callable[[], Found], done: Callable[[Found], None]) -> None:
        """Look up something committed, on the disk thread after appends and followers' reads; `done` gets it."""
        self._disk.do_later(work, done)

    # The loop's side

    def _advance(self) -> None:
        self._is_scheduled = False
        while not self._is_storing and not self._is_ended:
            if self._effects:
                self._do(self._carry_out, self._effects.popleft())
            elif self._events:
                self._do(self._handle, take_next(self._events))
            else:
                self._set_timer()
                return

    def _do(self, step: Callable[[Step], None], subject: Step) -> None:
        try:
            step(subject)
        except Exception as error:
            # A broken invariant: this node cannot be trusted any more, the rest of the quorum can.
            _logger.exception("node %s stops: an invariant broke on %s", self.core.node_id, type(subject).__name__)
            self._end(error)

    def _handle(self, event: Event) -> None:
        self._effects.extend(self.core.handle(event, self.now_ms()))
        self._directory.note_committed(self.core.durable_high_watermark)

    def _set_timer(self) -> None:
        deadline_ms = self.core.deadline_ms
        if deadline_ms is None:
            return
        if self._timer is not None:
            # Deadlines mostly move away, with every fetch; a timer that is early then only looks again.
            if self._timer_due_ms <= deadline_ms:
                return
            self._timer.cancel()
        self._timer_due_ms = deadline_ms
        # A loop's clock may be a hair short of the time it was asked for; a whole millisecond is not.
        self._timer = self._loop.call_at((deadline_ms + 1) / 1000, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.submit(TimePassed())

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case StoreElectionState():
                self._is_storing = True
                state = effect.state
                self._disk.do(lambda: self._directory.store_election_state(state), self._stored)
            case Send():
                self._network.send(effect)
            case Disconnect():
                self._network.disconnect(effect.node_id)
            case Reply():
                self._reply(effect)
            case RoleChanged():
                self._log_role_change(effect)
            case ReportFault():
                self._faults.report("node %s: %s", self.core.node_id, effect.message)
            case ShutdownFinished():
                _logger.info(
                    "node %s leaves%s",
                    self.core.node_id,
                    "" if effect.handed_over else " before another voter has become leader",
                )
                self._end(None)
            case Halt():
                why = explain(effect)
                _logger.error("node %s stops: %s", self.core.node_id, why)
                self._end(NodeHaltedError(why))
            case _:
                self._change_log(effect)

    def _change_log(self, effect: _LogEffect) -> None:
        match effect:
            case AppendBatches():
                batches = effect.batches
                self._disk.do(lambda: self._append(batches))
            case AppendLeaderChange():
                self._append_leader_change(effect)
            case TruncateLog():
                self._disk.do(lambda: self._truncate(effect.end_offset))
            case StoreSnapshotPiece(snapshot=snapshot, position=position, piece=piece):
                self._disk.do(lambda: self._directory.store_snapshot_piece(snapshot, position, piece))
            case InstallSnapshot(snapshot=snapshot):
                _logger.info("node %s puts the snapshot at %s in the place of its log", self.core.node_id, snapshot)
                self._disk.do(lambda: self._install(snapshot))
            case FlushLog():
                order = FlushOrder(effect.number, effect.end_offset)
                self._disk.do(lambda: self._flush.order(order))
            case _:
                assert_never(effect)

    def _append_leader_change(self, effect: AppendLeaderChange) -> None:
        payload = leader_change_batch(
            base_offset=effect.base_offset,
            epoch=effect.epoch,
            leader_id=effect.leader_id,
            voters=effect.voters,
            granting_voters=effect.granting_voters,
            timestamp_ms=int(time.time() * 1000),
        )
        self._disk.do(lambda: self._append(split_batches(payload)))

    def _reply(self, reply: Reply) -> None:
        on_reply = self._waiting.pop(reply.request_id, None)
        if on_reply is not None:
            on_reply(reply)

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
        self._advance()

    def _flushed(self, order: FlushOrder) -> None:
        self.submit(LogFlushed(number=order.number, end_offset=order.end_offset))

    def _failed(self, error: BaseException) -> None:
        _logger.error("node %s stops: %s", self.core.node_id, error)
        self._end(error if isinstance(error, Exception) else RuntimeError(str(error)))

    def _end(self, error: Exception | None) -> None:
        if not self._is_ended:
            self._is_ended = True
            self._ended(error)

    def _post(self, function: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            # The loop is closed: the process is going down and nobody waits for the news.
            _logger.debug("a result of the disk came after the end")

    def _snapshot_producers(self) -> None:
        """Have the table of writers written down as it is now: the log may be ahead of the segment that was begun."""
        image = self.core.writers_image()
        self._disk.do(lambda: self._directory.write_producer_snapshot(image))

    # The threads' side

    def _append(self, batches: Sequence[Batch]) -> None:
        if self._directory.append(batches):
            self._post(self._snapshot_producers)

    def _truncate(self, end_offset: Offset) -> None:
        with self._flush.at_rest:
            self._directory.truncate(end_offset)

    def _install(self, snapshot: OffsetAndEpoch) -> None:
        with self._flush.at_rest:
            self._directory.install_snapshot(snapshot)
