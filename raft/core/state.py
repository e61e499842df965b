"""The state of a node, in one place; the modules beside this one hold the rules that change it."""

from __future__ import annotations

from raft.core.committed_bytes import CommittedBytes
from raft.core.config import CoreConfig, Draw
from raft.core.damage import LogDamage
from raft.core.disk_room import DiskRoom
from raft.core.effects import (
    AppendBatches,
    ControlBatch,
    Effect,
    FlushLog,
    Halt,
    HaltCause,
    ReadRange,
    ReportFault,
    RoleChanged,
    SendResponse,
    StoreElectionState,
    TruncateLog,
)
from raft.core.flushes import FlushLedger
from raft.core.log_view import LogView
from raft.core.messages import AppendResponse, ClientResponse, FetchResponse, ReadIndexResponse, Response
from raft.core.refusals import Refusals
from raft.core.request_manager import RequestManager
from raft.core.roles import Follower, Leader, Prospective, Role, election_state, known_leader
from raft.core.transitions import check_move, check_update
from raft.core.waiting_requests import ParkedFetch, PendingAppend, PendingRead, WaitingRequests
from raft.errors import ErrorCode
from raft.transactions import (
    AbortedTransaction,
    ProducerState,
    SnapshotSummary,
    TransactionalProducer,
    TransactionTable,
)
from raft.types import (
    Batch,
    BatchHeader,
    ElectionState,
    Endpoint,
    Epoch,
    LeaderAndEpoch,
    NodeId,
    Offset,
    OffsetAndEpoch,
)
from raft.writers import WriterTable


class State:
    """The mutable state of one node, and the ways in which it changes.

    Whatever a change requires outside the core is added to `effects`, in the order in which it has to happen.

    Args:
        config: the node's place in the quorum.
        role: the role until the start.
        stored: the election state on disk; None when there is none yet.
        log: the log on disk.
        producers: the writers and the transactions of that log.
        known_committed: an offset below which it is known to be committed.
        newest_snapshot: the newest snapshot on disk; None for none.
        draw: random numbers.
    """

    def __init__(
        self,
        config: CoreConfig,
        *,
        role: Role,
        stored: ElectionState | None,
        log: LogView,
        producers: ProducerState,
        known_committed: Offset = Offset(0),
        newest_snapshot: OffsetAndEpoch | None = None,
        draw: Draw,
    ) -> None:
        self.config = config
        self.role: Role = role
        self.moves = 0
        """How many moves the node has made, its start included."""
        self.stored = stored
        self.log = log
        self.flushes = FlushLedger(log.end_offset)
        self.committed_bytes = CommittedBytes()
        self.stable_bytes = CommittedBytes()
        """Like `committed_bytes`, but below the last stable offset."""
        self.disk_room = DiskRoom()
        self.damage = LogDamage()
        self.producers = producers
        self.draw = draw
        self.high_watermark: Offset | None = None
        self.known_committed = max(known_committed, newest_snapshot.offset if newest_snapshot else log.start_offset)
        """The highest high watermark ever known here. It outlives roles and restarts; no truncation goes below it. A
        snapshot holds committed records only."""
        self.truncated_records = 0
        """How many records truncations have removed since the start."""
        self.newest_snapshot = newest_snapshot
        """The newest whole snapshot on disk: replicas that are too far behind load it."""
        self.snapshots_in_check = 0
        """How many downloads are being checked; after a change of leader there may be a new one behind an old one."""
        self.requests = RequestManager(
            request_timeout_ms=config.request_timeout_ms, retry_backoff_ms=config.retry_backoff_ms
        )
        self.known_nodes = frozenset((*config.voters.ids, *(node_id for node_id, _ in config.bootstrap_nodes())))
        """The nodes that the configuration names; a follower may also know a leader from messages."""
        self.parked: WaitingRequests[ParkedFetch] = WaitingRequests()
        self.appends: WaitingRequests[PendingAppend] = WaitingRequests()
        self.reads: WaitingRequests[PendingRead] = WaitingRequests()
        self.shutdown_deadline_ms: int | None = None
        self.refusals = Refusals(config)
        self.fetched_from = log.end_offset
        """The offset of the last fetch."""
        self.unreachable: set[NodeId] = set()
        """Nodes whose address refused the last connection: no process listens there."""
        self.failover_epoch: Epoch | None = None
        """The last epoch in which refused connections have led to pre-votes."""
        self.rounds_aside = 0
        """How many rounds of pre-votes this node has left to others since it was led (LOG-28, LOG-30)."""
        self.is_stopped = False
        self.effects: list[Effect] = []

    @property
    def writers(self) -> WriterTable:
        """The writers of the log."""
        return self.producers.writers

    @property
    def transactions(self) -> TransactionTable:
        """The transactions of the log."""
        return self.producers.transactions

    # What is known of the leader

    @property
    def epoch(self) -> Epoch:
        """The node's epoch; it never goes down (ROLE-4)."""
        return self.role.epoch

    @property
    def leader_id(self) -> NodeId | None:
        """The leader of the epoch, if known. A resigned leader still names itself: the epoch has no other."""
        return known_leader(self.role)

    @property
    def leader_endpoints(self) -> tuple[Endpoint, ...]:
        """Where that leader listens, if known: as a message named it, else from the voter set (GEN-11)."""
        match self.role:
            case Follower(leader_endpoints=endpoints) | Prospective(leader_endpoints=endpoints) if endpoints:
                return endpoints
            case _:
                leader_id = self.leader_id
                return () if leader_id is None else self.config.voters.endpoints(leader_id)

    @property
    def leader(self) -> LeaderAndEpoch:
        """The epoch and its leader, as every response names them."""
        return LeaderAndEpoch(epoch=self.epoch, leader_id=self.leader_id, endpoints=self.leader_endpoints)

    @property
    def last_stable_offset(self) -> Offset | None:
        """Below it, everything is committed and no transaction is open; None while the high watermark is unknown."""
        return None if self.high_watermark is None else self.transactions.last_stable_offset(self.high_watermark)

    @property
    def is_shutting_down(self) -> bool:
        """Whether a shutdown was requested."""
        return self.shutdown_deadline_ms is not None

    def fresh_election_deadline_ms(self, now_ms: int) -> int:
        """Return a new election deadline: the timeout is drawn evenly from [T, 2T) (TIMER-3)."""
        timeout_ms = self.config.election_timeout_ms
        return now_ms + (timeout_ms + self.draw(timeout_ms) if timeout_ms else 0)

    # The role, which nothing else assigns

    def start_as(self, role: Role, reason: str) -> None:
        """Enter the first role after a start, which the table of moves does not restrict."""
        self._enter(role, reason)

    def move_to(self, role: Role, reason: str) -> None:
        """Make a legal move to another role. It is on disk before any later effect is carried out (ROLE-11).

        Raises:
            AssertionError: see `check_move`.
        """
        old = self.role
        check_move(old, role)
        self._enter(role, reason)
        self.requests.reset_all()
        self.damage.role_changed()
        if isinstance(old, Leader):
            self.fail_appends()
            self.fail_reads()
        self.fail_parked()

    def update_role(self, role: Role) -> None:
        """Replace details of the present role, such as a deadline or a tally. There is nothing to store or to announce.

        Raises:
            AssertionError: see `check_update`.
        """
        check_update(self.role, role)
        self.role = role

    def _enter(self, role: Role, reason: str) -> None:
        old, self.role = self.role, role
        self.moves += 1
        self.store_election_state()
        self.emit(RoleChanged(old=old, new=role, reason=reason))

    def store_election_state(self) -> None:
        """Order the election state of the role to disk, unless it is there already."""
        state = election_state(self.role)
        if state != self.stored:
            self.stored = state
            self.emit(StoreElectionState(state=state))

    # Effects

    def emit(self, effect: Effect) -> None:
        """Add an effect; effects are carried out in this order."""
        self.effects.append(effect)

    def respond(self, request_id: int, response: Response | ClientResponse, read: ReadRange | None = None) -> None:
        """Respond to a request."""
        self.emit(SendResponse(request_id=request_id, response=response, read=read))

    def report(self, message: str) -> None:
        """Report a fault; the node goes on."""
        self.emit(ReportFault(message=message))

    def halt(self, cause: HaltCause, reason: str) -> None:
        """Stop this node, because it could violate a guarantee of the quorum."""
        self.is_stopped = True
        self.emit(Halt(cause=cause, reason=reason))

    def fetch_response(
        self,
        *,
        error: int = ErrorCode.NONE,
        diverging: OffsetAndEpoch | None = None,
        snapshot: OffsetAndEpoch | None = None,
        is_for_client: bool = False,
    ) -> FetchResponse:
        """Make the response to a fetch; each names the leader, the epoch and the high watermark (FETCH-10)."""
        return FetchResponse(
            error=error,
            leader=self.leader,
            high_watermark=self.high_watermark,
            last_stable_offset=self.last_stable_offset,
            log_start_offset=self.log.readable_from if is_for_client else self.log.start_offset,
            diverging=diverging,
            snapshot=snapshot,
        )

    def respond_to_append(
        self,
        request_id: int,
        error: int,
        base_offset: Offset | None = None,
        message: str | None = None,
        producer: TransactionalProducer | None = None,
    ) -> None:
        """Respond to an append."""
        response = AppendResponse(
            error=error, message=message, base_offset=base_offset, producer=producer, leader=self.leader
        )
        self.respond(request_id, response)

    def respond_to_read(self, read: PendingRead, error: int) -> None:
        """Respond to a read, or to the append whose response had to wait for it."""
        if read.then is None:
            self.respond(read.request_id, ReadIndexResponse(error=error))
        else:
            self.respond_to_append(read.request_id, error)

    def fail_appends(self) -> None:
        """Fail the waiting appends: another leader decides whether they are committed (ROLE-14)."""
        for append in self.appends.take_all():
            self.respond_to_append(append.request_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def fail_reads(self) -> None:
        """Fail the waiting reads: this node does not lead any more, or must not say so."""
        for read in self.reads.take_all():
            self.respond_to_read(read, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def fail_parked(self) -> None:
        """Fail the parked fetches, which belong to the role before (FETCH-12)."""
        for parked in self.parked.take_all():
            self.respond(parked.request_id, self.fetch_response(error=ErrorCode.NOT_LEADER_OR_FOLLOWER))

    # Changing the log

    def append(self, batches: tuple[Batch, ...]) -> None:
        """Append batches whose headers carry their final offsets and epochs, and order them to disk."""
        aborted = [self.count_in(batch.header) for batch in batches]
        self.order_append(batches, tuple(each for each in aborted if each is not None))

    def count_in(self, header: BatchHeader) -> AbortedTransaction | None:
        """Count a batch at the end of the log; `order_append` must follow. Return the transaction that it aborts."""
        self.log.append(header)
        self.committed_bytes.append(header)
        self.stable_bytes.append(header)
        self.disk_room.append(header)
        return self.producers.appended(header)

    def order_append(
        self, batches: tuple[Batch | ControlBatch, ...], aborted: tuple[AbortedTransaction, ...] = ()
    ) -> None:
        """Order batches that were counted to be written and flushed."""
        self.emit(AppendBatches(batches=batches, aborted=aborted))
        self.order_flush()

    def truncate(self, end_offset: Offset) -> None:
        """Truncate the log, and everything that was derived from the records that are removed."""
        self.truncated_records += self.log.end_offset - end_offset
        self.log.truncate(end_offset)
        self.committed_bytes.truncate(end_offset)
        self.stable_bytes.truncate(end_offset)
        self.producers.truncated(end_offset)
        self.flushes.truncate(end_offset)
        self.damage.truncate(end_offset)
        self.emit(TruncateLog(end_offset=end_offset))
        if self.flushes.durable_end < end_offset:
            self.order_flush()

    def restart_log(self, contents: SnapshotSummary) -> None:
        """Count the log as empty, beginning with a snapshot, which was ordered to be installed."""
        self.log.restart_at(contents)
        self.newest_snapshot = contents.end
        self.committed_bytes.truncate(contents.end.offset)
        self.stable_bytes.truncate(contents.end.offset)
        self.producers.restore(contents.producers)
        self.flushes.truncate(Offset(0))
        self.damage.clear()
        self.order_flush()

    def order_flush(self) -> None:
        """Order everything that is in the log to disk."""
        end_offset = self.log.end_offset
        self.emit(FlushLog(number=self.flushes.order(), end_offset=end_offset))
