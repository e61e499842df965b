"""The core: one event in, a list of effects out. It has no clock, random numbers, disk or network of its own."""

from __future__ import annotations

from typing import assert_never

from raft.core.appends import on_appends
from raft.core.checks import unknown_partition_refusal
from raft.core.commits import maybe_advance_high_watermark
from raft.core.config import CoreConfig, Draw
from raft.core.damage import LogDamage
from raft.core.effects import Effect, HaltCause
from raft.core.elections import on_begin_quorum_epoch, on_end_quorum_epoch, on_vote_request
from raft.core.events import (
    AppendRequested,
    AppendsRequested,
    DamageReported,
    DeleteBeforeSnapshotRequested,
    DiskMeasured,
    DiskWaiting,
    Event,
    LogFlushed,
    ProducerInitRequested,
    ReadIndexRequested,
    RepairEnded,
    RequestAbandoned,
    RequestFailed,
    RequestReceived,
    ResignRequested,
    ResponseReceived,
    ShutdownRequested,
    SnapshotChecked,
    SnapshotDue,
    SnapshotMade,
    Started,
    StorageEvent,
    TimePassed,
    TransactionEndRequested,
)
from raft.core.fetches import on_client_fetch, on_fetch, wake_fetches
from raft.core.invariants import check_invariants
from raft.core.log_view import LogView
from raft.core.messages import (
    BeginQuorumEpochRequest,
    ClientFetchRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    UnknownPartitionRequest,
    VoteRequest,
)
from raft.core.moves import become_resigned, settle_election
from raft.core.outgoing_requests import send_requests
from raft.core.read_index import on_read_index
from raft.core.repairs import on_damage_reported, on_repair_ended
from raft.core.responses import on_failure, on_response
from raft.core.roles import Follower, Leader, Role, Unattached
from raft.core.snapshot_load import on_snapshot_checked
from raft.core.snapshots import on_deletion_requested, on_fetch_snapshot, on_snapshot_due, on_snapshot_made
from raft.core.startup import foreign_state, lost_state, starting_role
from raft.core.state import State
from raft.core.timers import check_quorum, finish_shutdown, handle_deadlines, next_deadline_ms
from raft.core.transactions import on_producer_init, on_transaction_end
from raft.core.waiting_requests import WaitingCounts
from raft.errors import LocalProtocolError
from raft.transactions import ProducerState, ProducerStateImage, TransactionTable
from raft.types import ElectionState, Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch
from raft.writers import WriterTable

_ClientRequest = (
    AppendRequested | AppendsRequested | ProducerInitRequested | TransactionEndRequested | ReadIndexRequested
)


class RaftCore:
    """One node of the quorum protocol.

    Args:
        config: the node's place in the quorum.
        stored: the election state on disk; None on the very first start.
        log: the log as recovered, all of it on disk.
        producers: its writers and transactions, built from the headers of that whole log; None for an empty log.
        known_committed: an offset of that log below which it is known to be committed. It does not count as the high
            watermark, which is unknown at first, but nothing below it is ever truncated.
        newest_snapshot: the newest whole snapshot on disk; None for none.
        draw: the only source of random numbers.

    The first event is `Started`. Times are milliseconds of one monotonic clock. After an event has led to `Halt` or
    `ShutdownFinished`, further events do nothing.
    """

    def __init__(
        self,
        config: CoreConfig,
        *,
        stored: ElectionState | None,
        log: LogView,
        producers: ProducerState | None = None,
        known_committed: Offset = Offset(0),
        newest_snapshot: OffsetAndEpoch | None = None,
        draw: Draw,
    ) -> None:
        before_start = Unattached(epoch=Epoch(0), election_deadline_ms=None)
        self._state = State(
            config,
            role=before_start,
            stored=stored,
            log=log,
            producers=producers or ProducerState(),
            known_committed=known_committed,
            newest_snapshot=newest_snapshot,
            draw=draw,
        )
        self._is_started = False

    def handle(self, event: Event, now_ms: int) -> list[Effect]:
        """Handle one event and return what has to happen, in this order.

        Args:
            event: what happened.
            now_ms: when.

        Raises:
            LocalProtocolError: (on `ResignRequested`) this node does not lead that epoch, nor a later one.
            AssertionError: an invariant is broken; the node must stop.
        """
        state = self._state
        if state.is_stopped:
            return []
        assert isinstance(event, Started) is not self._is_started, "Started comes first, and once"
        role_before, moves_before = state.role, state.moves
        check_quorum(state, now_ms)
        self._dispatch(event, now_ms)
        if not state.is_stopped:
            handle_deadlines(state, now_ms)
        if not state.is_stopped:
            send_requests(state, now_ms)
            finish_shutdown(state, now_ms)
        if not state.is_stopped:
            check_invariants(state, role_before=role_before, moves_before=moves_before)
        effects, state.effects = state.effects, []
        return effects

    def _dispatch(self, event: Event, now_ms: int) -> None:
        state = self._state
        match event:
            case Started():
                self._start(now_ms)
            case TimePassed():
                pass
            case RequestReceived():
                self._on_request(event, now_ms)
            case RequestAbandoned():
                state.parked.take(event.request_id)
                state.reads.take(event.request_id)
            case ResponseReceived():
                on_response(state, event.number, event.response, now_ms)
            case RequestFailed():
                on_failure(state, event.number, event.failure, now_ms)
            case ResignRequested():
                self._resign(event.epoch, now_ms)
            case ShutdownRequested():
                state.shutdown_deadline_ms = now_ms + event.timeout_ms
            case (
                AppendRequested()
                | AppendsRequested()
                | ProducerInitRequested()
                | TransactionEndRequested()
                | ReadIndexRequested()
            ):
                self._on_client_request(event, now_ms)
            case _:
                self._on_storage_event(event, now_ms)

    def _on_storage_event(self, event: StorageEvent, now_ms: int) -> None:
        state = self._state
        match event:
            case LogFlushed():
                self._on_flushed(event, now_ms)
            case DiskMeasured():
                state.disk_room.measured(event.room_bytes, event.appended_bytes)
            case DiskWaiting(written_end=written_end):
                state.disk_room.written_end = written_end
                if written_end is None:
                    wake_fetches(state, now_ms, high_watermark_moved=False)
            case DamageReported():
                on_damage_reported(state, event)
            case RepairEnded():
                on_repair_ended(state, event, now_ms)
            case SnapshotDue():
                on_snapshot_due(state, self.producers_image())
            case SnapshotMade():
                on_snapshot_made(state, event.snapshot)
            case SnapshotChecked():
                on_snapshot_checked(state, event, now_ms)
            case DeleteBeforeSnapshotRequested():
                on_deletion_requested(state, event)
            case _:
                assert_never(event)

    def _on_client_request(self, event: _ClientRequest, now_ms: int) -> None:
        state = self._state
        match event:
            case AppendRequested():
                on_appends(state, (event,), now_ms)
            case AppendsRequested():
                on_appends(state, event.appends, now_ms)
            case ProducerInitRequested():
                on_producer_init(state, event, now_ms)
            case TransactionEndRequested():
                on_transaction_end(state, event, now_ms)
            case ReadIndexRequested():
                on_read_index(state, event, now_ms)
            case _:
                assert_never(event)

    def _start(self, now_ms: int) -> None:
        state = self._state
        self._is_started = True
        lost = lost_state(state.config, state.stored, state.log)
        if lost:
            state.halt(HaltCause.ELECTION_STATE_LOST, lost)
            return
        problem = foreign_state(state.config, state.stored, state.log)
        if problem:
            state.halt(HaltCause.NOT_A_VOTER, problem)
            return
        role, reason = starting_role(state.config, state.stored, state.log, draw=state.draw, now_ms=now_ms)
        state.start_as(role, reason)
        settle_election(state, now_ms)

    def _resign(self, epoch: Epoch, now_ms: int) -> None:
        state = self._state
        if epoch < 0 or epoch > state.epoch or (epoch == state.epoch and not isinstance(state.role, Leader)):
            raise LocalProtocolError(f"cannot resign from epoch {epoch}: this node does not lead it")
        if epoch == state.epoch:
            become_resigned(state, now_ms=now_ms, reason="request to resign")

    def _on_request(self, event: RequestReceived, now_ms: int) -> None:
        state, request = self._state, event.request
        match request:
            case VoteRequest():
                on_vote_request(state, event.request_id, request, now_ms)
            case BeginQuorumEpochRequest():
                on_begin_quorum_epoch(state, event.request_id, request, now_ms)
            case EndQuorumEpochRequest():
                on_end_quorum_epoch(state, event.request_id, request, now_ms)
            case FetchRequest():
                on_fetch(state, event.request_id, request, now_ms)
            case FetchSnapshotRequest():
                on_fetch_snapshot(state, event.request_id, request, now_ms)
            case ClientFetchRequest():
                on_client_fetch(state, event.request_id, request, now_ms)
            case UnknownPartitionRequest():
                state.respond(event.request_id, unknown_partition_refusal(state, request))
            case _:
                assert_never(request)

    def _on_flushed(self, event: LogFlushed, now_ms: int) -> None:
        state = self._state
        if not state.flushes.done(event.number, event.end_offset) or not isinstance(state.role, Leader):
            return
        if maybe_advance_high_watermark(state):
            wake_fetches(state, now_ms, high_watermark_moved=True)

    # What others may read, but not change

    @property
    def deadline_ms(self) -> int | None:
        """When to call `handle` with `TimePassed` if nothing else happens before; None for never."""
        return None if self._state.is_stopped else next_deadline_ms(self._state)

    @property
    def node_id(self) -> NodeId:
        """This node."""
        return self._state.config.node_id

    @property
    def is_voter(self) -> bool:
        """Whether this node is one of the voters."""
        return self._state.config.is_voter

    @property
    def role(self) -> Role:
        """The present role."""
        return self._state.role

    @property
    def expects_readers(self) -> bool:
        """Whether clients are expected to read the log here: not from a voter that follows (LOG-23)."""
        state = self._state
        return not (isinstance(state.role, Follower) and state.config.is_voter)

    @property
    def epoch(self) -> Epoch:
        """The present epoch."""
        return self._state.epoch

    @property
    def leader_id(self) -> NodeId | None:
        """The leader of the present epoch, if known."""
        return self._state.leader_id

    @property
    def leader_endpoints(self) -> tuple[Endpoint, ...]:
        """Where that leader listens, if known."""
        return self._state.leader_endpoints

    @property
    def high_watermark(self) -> Offset | None:
        """Everything below is committed; None while unknown."""
        return self._state.high_watermark

    @property
    def last_stable_offset(self) -> Offset | None:
        """Below it, everything is committed and no transaction is open; None while the high watermark is unknown."""
        return self._state.last_stable_offset

    @property
    def transactions(self) -> TransactionTable:
        """The transactions of the log, uncommitted ones too."""
        return self._state.transactions

    def readable_bytes(self, *, read_committed: bool) -> int:
        """Return how many bytes a client could read of the batches that were appended since the start.

        Args:
            read_committed: see `ClientFetchRequest`.
        """
        state = self._state
        return state.stable_bytes.total if read_committed else state.committed_bytes.total

    def expects_response(self, number: int) -> bool:
        """Return whether this node still waits for the response to its request of this number (GEN-7)."""
        return self._state.requests.is_expected(number)

    @property
    def waiting(self) -> WaitingCounts:
        """How many requests wait for records, for their commit, or for the confirmation of the leader."""
        state = self._state
        return WaitingCounts(fetches=len(state.parked), appends=len(state.appends), reads=len(state.reads))

    @property
    def writers(self) -> WriterTable:
        """The writers of the log, uncommitted ones too."""
        return self._state.writers

    @property
    def appended_bytes(self) -> int:
        """Size of all batches that were appended since the start."""
        return self._state.disk_room.appended_bytes

    @property
    def is_disk_full(self) -> bool:
        """Whether no more records are appended until the disk has room."""
        return self._state.disk_room.is_full

    @property
    def damage(self) -> LogDamage:
        """What is damaged of the log, to be read only."""
        return self._state.damage

    @property
    def durable_end(self) -> Offset:
        """Everything below is on this node's disk."""
        return self._state.flushes.durable_end

    @property
    def durable_high_watermark(self) -> Offset:
        """Everything below is known to be committed and on this node's disk.

        The core's own durable end counts. While the disk carries out a truncation, it still holds the records that are
        to be removed, at offsets at which other records may be committed.
        """
        return min(self._state.known_committed, self.durable_end)

    @property
    def truncated_records(self) -> int:
        """How many records truncations have removed since the start."""
        return self._state.truncated_records

    def producers_image(self) -> ProducerStateImage:
        """Return the writers and transactions at the present log end, for a producer snapshot."""
        return self._state.producers.image(self._state.log.end_offset)

    def committed_producers(self) -> ProducerStateImage:
        """Return the writers and transactions at the highest offset that is known to be committed.

        The batches after are undone in the tables, so this comes at the end: the core handles no event afterwards.
        """
        end_offset = min(self._state.known_committed, self._state.log.end_offset)
        self._state.producers.truncated(end_offset)
        return self._state.producers.image(end_offset)

    @property
    def log(self) -> LogView:
        """The log's ends and epochs."""
        return self._state.log
