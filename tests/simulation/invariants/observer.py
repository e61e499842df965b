"""The interface of observers, with one method for each kind of event in the simulated system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn

from raft.client.results import BatchPlan, FoundOffset
from raft.codec import Message
from raft.core.effects import Effect, ReadRange, SendRequest, SendResponse
from raft.core.events import AppendRequested, Event, ProducerInitRequested, ReadIndexRequested, TransactionEndRequested
from raft.core.messages import AppendResponse, ClientFetchRequest, IncomingRequest
from raft.runtime.drop_cause import DropCause
from raft.types import Batch, Epoch, Offset, OffsetAndEpoch
from raft.writers import WriteId
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.log_model import Entry, LogModel
from tests.simulation.step import Step

if TYPE_CHECKING:
    from tests.simulation.clients.transactional_producer import Transaction
    from tests.simulation.inbound import Inbound, Turn, Wait
    from tests.simulation.machine import Machine
    from tests.simulation.security.guarded_request import GuardedRequest

CoreRequest = (
    IncomingRequest
    | ClientFetchRequest
    | AppendRequested
    | ProducerInitRequested
    | TransactionEndRequested
    | ReadIndexRequested
)
"""A request as a core receives it."""


class Observer:
    """Receives the events of a run, and changes nothing. Subclasses override the methods that they need."""

    def node_started(self, machine: Machine) -> None:
        """Called when a node has recovered its directory, before its first event."""

    def disk_was_changed(self, machine: Machine) -> None:
        """Called when the disk of a stopped machine was replaced or altered: the node may have lost what it stored."""

    def event_handled(self, step: Step) -> None:
        """Called when a core has handled an event, before its effects are carried out. The four below follow it."""

    def role_changed(self, step: Step) -> None:
        """Called when a core has handled an event that changed its role, or a field of it."""

    def log_truncated(self, step: Step) -> None:
        """Called when a core has handled an event that truncates its log."""

    def log_appended(self, step: Step) -> None:
        """Called when a core has handled an event that appends to its log, perhaps after a truncation."""

    def high_watermark_moved(self, step: Step) -> None:
        """Called when a core has handled an event that moved its high watermark."""

    def election_state_stored(self, machine: Machine) -> None:
        """Called when a new election state is durable."""

    def file_append_begun(self, machine: Machine, entries: Sequence[Entry]) -> None:
        """Called before batches are written to the log's file."""

    def log_flushed(self, machine: Machine) -> None:
        """Called when a flush of the log is done."""

    def checkpoints_written(self, machine: Machine) -> None:
        """Called when the checkpoints of a log are durable."""

    def log_read(self, machine: Machine, read: ReadRange, end_offset: Offset) -> None:
        """Called when a disk has read records for a client, with the end of the log on this disk."""

    def snapshot_made(self, machine: Machine, snapshot: OffsetAndEpoch) -> None:
        """Called when a snapshot of a node's log is on its disk."""

    def snapshot_installed(self, machine: Machine, snapshot: OffsetAndEpoch) -> None:
        """Called when a snapshot has replaced the log on a disk."""

    def log_cut(self, machine: Machine, start: OffsetAndEpoch) -> None:
        """Called when the log on a disk was cut."""

    def engine_waits(self, machine: Machine) -> None:
        """Called when an engine has done all that it had to do, and waits for an event or for its timer."""

    def effect_begun(self, machine: Machine, effect: Effect) -> None:
        """Called before an engine carries out an effect."""

    def request_sent(self, machine: Machine, order: SendRequest) -> None:
        """Called when a node sends a request."""

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        """Called when a core's response is handed to the request handler, with the records that were read for it."""

    def request_received(self, machine: Machine, guarded: GuardedRequest) -> None:
        """Called before a secured node begins to handle a request, or a message of SASL."""

    def event_submitted(self, machine: Machine, guarded: GuardedRequest, event: Event) -> None:
        """Called when an event reaches the core's engine while a secured node begins to handle a request."""

    def request_passed(self, machine: Machine, guarded: GuardedRequest) -> None:
        """Called when a secured node has begun to handle a request, or has refused it."""

    def response_given(self, machine: Machine, guarded: GuardedRequest, response: Message | None) -> None:
        """Called when a secured node responds to a request; None if the client expects no response."""

    def connection_ended(self, machine: Machine, guarded: GuardedRequest, cause: DropCause) -> None:
        """Called when a secured node closes a connection because of a request."""

    def request_waited(self, machine: Machine, wait: Wait) -> None:
        """Called before a node begins a request that had to wait for the turn of its connection."""

    def request_begun(self, machine: Machine, inbound: Inbound) -> None:
        """Called before a request begins on a connection, at a node with quotas."""

    def turn_ended(self, machine: Machine, turn: Turn) -> None:
        """Called after a turn of a connection, at a node with quotas."""

    def client_throttled(self, machine: Machine, inbound: Inbound, throttle_ms: int) -> None:
        """Called when a response says that its client is throttled."""

    def turns_ended(self, machine: Machine, connections: Sequence[Inbound]) -> None:
        """Called when an event loop has nothing to do, while requests wait, with the connections of those that could
        begin.
        """

    def write_requested(self, client: str, batch: Batch) -> None:
        """Called when a client requests a write for the first time."""

    def write_settled(self, client: str, batch: Batch, response: AppendResponse) -> None:
        """Called when a client has received the final outcome of a write."""

    def multipart_requested(self, client: str, write: WriteId, tasks: Sequence[tuple[bytes, ...]]) -> None:
        """Called when a client begins a write that it may append in parts, with the rows of each task."""

    def transaction_begun(self, client: str, transaction: Transaction) -> None:
        """Called when a producer begins a transaction, whose fields change with its later requests."""

    def transaction_ended(self, client: str, transaction: Transaction) -> None:
        """Called when a producer has received the response that its transaction has ended as requested."""

    def batch_planned(self, reader: str, start_offset: Offset, plan: BatchPlan) -> None:
        """Called when a client has received the plan of a batch that starts at an offset."""

    def offset_requested(self, reader: str, timestamp: int) -> None:
        """Called when a client begins to ask for the offset of a timestamp."""

    def offset_found(self, reader: str, timestamp: int, found: FoundOffset | None) -> None:
        """Called when a client has received the offset of a timestamp."""

    def session_stepped(self, client: str, epoch: Epoch) -> None:
        """Called after each step of a client's session, with the highest leader epoch that the session knows."""

    def rows_planned(
        self, reader: str, start_offset: Offset, end_offset: Offset, stable: Offset, max_records: int
    ) -> None:
        """Called when a client has received the plan of a batch with at most `max_records` data records."""

    def records_seen(self, reader: str, start_offset: Offset, end_offset: Offset, seen: Sequence[Batch]) -> None:
        """Called when a client that reads committed transactions has left out what is aborted, up to an offset."""

    def response_seen(
        self, reader: str, start_offset: Offset, seen: Sequence[Batch], end_offset: Offset, compacted_end: Offset | None
    ) -> None:
        """Called like `records_seen` for one response, which named the end of compacted records; None if it did not."""

    def records_read(self, reader: str, log: LogModel) -> None:
        """Called when a client has read more records; `log` holds all that it has read."""


class Invariant(Observer):
    """A statement about the system that must hold after every event.

    Attributes:
        rules: the ids of the rules that demand it.
    """

    rules: ClassVar[tuple[str, ...]]

    def fail(self, detail: str) -> NoReturn:
        """Report that the invariant is broken.

        Raises:
            BrokenInvariantError: always.
        """
        raise BrokenInvariantError(type(self).__name__, self.rules, detail)

    def require(self, holds: bool, detail: str, *details: object) -> None:
        """Report that the invariant is broken, unless a condition holds.

        Args:
            holds: the condition.
            detail: what was seen, with "%s" for each of `details`; formatted only if the condition is false.
            details: the values.

        Raises:
            BrokenInvariantError: the condition is false.
        """
        if not holds:
            self.fail(detail % details)
