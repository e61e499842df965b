"""Passes each event on to the observers that handle it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raft.client.results import BatchPlan, FoundOffset
from raft.codec import Message
from raft.core.effects import Effect, ReadRange, SendRequest, SendResponse
from raft.core.events import Event
from raft.core.messages import AppendResponse
from raft.runtime.drop_cause import DropCause
from raft.types import Batch, Epoch, Offset, OffsetAndEpoch
from raft.writers import WriteId
from tests.simulation.clients.transactional_producer import Transaction
from tests.simulation.inbound import Inbound, Turn, Wait
from tests.simulation.invariants.observer import CoreRequest, Observer
from tests.simulation.log_model import Entry, LogModel
from tests.simulation.machine import Machine
from tests.simulation.security.guarded_request import GuardedRequest
from tests.simulation.step import Step


class Watch(Observer):
    """Calls the observers in the order in which they were added."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []
        self._subscribe()

    def add(self, observers: Sequence[Observer]) -> None:
        """Add observers behind those that are there."""
        self._observers += observers
        self._subscribe()

    def _subscribe(self) -> None:
        """List for each event the observers that override its method: most observers override few of them."""

        def overriding(event: str) -> list[Callable[..., None]]:
            found = (each for each in self._observers if getattr(type(each), event) is not getattr(Observer, event))
            return [getattr(each, event) for each in found]

        self._for_node_started = overriding("node_started")
        self._for_disk_was_changed = overriding("disk_was_changed")
        self._for_event_handled = overriding("event_handled")
        self._for_role_changed = overriding("role_changed")
        self._for_log_truncated = overriding("log_truncated")
        self._for_log_appended = overriding("log_appended")
        self._for_high_watermark_moved = overriding("high_watermark_moved")
        self._for_election_state_stored = overriding("election_state_stored")
        self._for_file_append_begun = overriding("file_append_begun")
        self._for_log_flushed = overriding("log_flushed")
        self._for_checkpoints_written = overriding("checkpoints_written")
        self._for_log_read = overriding("log_read")
        self._for_snapshot_made = overriding("snapshot_made")
        self._for_snapshot_installed = overriding("snapshot_installed")
        self._for_log_cut = overriding("log_cut")
        self._for_engine_waits = overriding("engine_waits")
        self._for_effect_begun = overriding("effect_begun")
        self._for_request_sent = overriding("request_sent")
        self._for_response_sent = overriding("response_sent")
        self._for_request_received = overriding("request_received")
        self._for_event_submitted = overriding("event_submitted")
        self._for_request_passed = overriding("request_passed")
        self._for_response_given = overriding("response_given")
        self._for_connection_ended = overriding("connection_ended")
        self._for_request_waited = overriding("request_waited")
        self._for_request_begun = overriding("request_begun")
        self._for_turn_ended = overriding("turn_ended")
        self._for_client_throttled = overriding("client_throttled")
        self._for_turns_ended = overriding("turns_ended")
        self._for_write_requested = overriding("write_requested")
        self._for_write_settled = overriding("write_settled")
        self._for_multipart_requested = overriding("multipart_requested")
        self._for_transaction_begun = overriding("transaction_begun")
        self._for_transaction_ended = overriding("transaction_ended")
        self._for_rows_planned = overriding("rows_planned")
        self._for_records_seen = overriding("records_seen")
        self._for_response_seen = overriding("response_seen")
        self._for_batch_planned = overriding("batch_planned")
        self._for_offset_requested = overriding("offset_requested")
        self._for_offset_found = overriding("offset_found")
        self._for_session_stepped = overriding("session_stepped")
        self._for_records_read = overriding("records_read")

    def node_started(self, machine: Machine) -> None:
        for call in self._for_node_started:
            call(machine)

    def disk_was_changed(self, machine: Machine) -> None:
        for call in self._for_disk_was_changed:
            call(machine)

    def event_handled(self, step: Step) -> None:
        """Report a step first as a whole, then by what it changed."""
        for call in self._for_event_handled:
            call(step)
        if step.changes_role:
            self.role_changed(step)
        if step.truncated:
            self.log_truncated(step)
        if step.appended:
            self.log_appended(step)
        if step.moves_high_watermark:
            self.high_watermark_moved(step)

    def role_changed(self, step: Step) -> None:
        for call in self._for_role_changed:
            call(step)

    def log_truncated(self, step: Step) -> None:
        for call in self._for_log_truncated:
            call(step)

    def log_appended(self, step: Step) -> None:
        for call in self._for_log_appended:
            call(step)

    def high_watermark_moved(self, step: Step) -> None:
        for call in self._for_high_watermark_moved:
            call(step)

    def election_state_stored(self, machine: Machine) -> None:
        for call in self._for_election_state_stored:
            call(machine)

    def file_append_begun(self, machine: Machine, entries: Sequence[Entry]) -> None:
        for call in self._for_file_append_begun:
            call(machine, entries)

    def log_flushed(self, machine: Machine) -> None:
        for call in self._for_log_flushed:
            call(machine)

    def checkpoints_written(self, machine: Machine) -> None:
        for call in self._for_checkpoints_written:
            call(machine)

    def log_read(self, machine: Machine, read: ReadRange, end_offset: Offset) -> None:
        for call in self._for_log_read:
            call(machine, read, end_offset)

    def snapshot_made(self, machine: Machine, snapshot: OffsetAndEpoch) -> None:
        for call in self._for_snapshot_made:
            call(machine, snapshot)

    def snapshot_installed(self, machine: Machine, snapshot: OffsetAndEpoch) -> None:
        for call in self._for_snapshot_installed:
            call(machine, snapshot)

    def log_cut(self, machine: Machine, start: OffsetAndEpoch) -> None:
        for call in self._for_log_cut:
            call(machine, start)

    def engine_waits(self, machine: Machine) -> None:
        for call in self._for_engine_waits:
            call(machine)

    def effect_begun(self, machine: Machine, effect: Effect) -> None:
        for call in self._for_effect_begun:
            call(machine, effect)

    def request_sent(self, machine: Machine, order: SendRequest) -> None:
        for call in self._for_request_sent:
            call(machine, order)

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        for call in self._for_response_sent:
            call(machine, request, order, records)

    def request_received(self, machine: Machine, guarded: GuardedRequest) -> None:
        for call in self._for_request_received:
            call(machine, guarded)

    def event_submitted(self, machine: Machine, guarded: GuardedRequest, event: Event) -> None:
        for call in self._for_event_submitted:
            call(machine, guarded, event)

    def request_passed(self, machine: Machine, guarded: GuardedRequest) -> None:
        for call in self._for_request_passed:
            call(machine, guarded)

    def response_given(self, machine: Machine, guarded: GuardedRequest, response: Message | None) -> None:
        for call in self._for_response_given:
            call(machine, guarded, response)

    def connection_ended(self, machine: Machine, guarded: GuardedRequest, cause: DropCause) -> None:
        for call in self._for_connection_ended:
            call(machine, guarded, cause)

    def request_waited(self, machine: Machine, wait: Wait) -> None:
        for call in self._for_request_waited:
            call(machine, wait)

    def request_begun(self, machine: Machine, inbound: Inbound) -> None:
        for call in self._for_request_begun:
            call(machine, inbound)

    def turn_ended(self, machine: Machine, turn: Turn) -> None:
        for call in self._for_turn_ended:
            call(machine, turn)

    def client_throttled(self, machine: Machine, inbound: Inbound, throttle_ms: int) -> None:
        for call in self._for_client_throttled:
            call(machine, inbound, throttle_ms)

    def turns_ended(self, machine: Machine, connections: Sequence[Inbound]) -> None:
        for call in self._for_turns_ended:
            call(machine, connections)

    def write_requested(self, client: str, batch: Batch) -> None:
        for call in self._for_write_requested:
            call(client, batch)

    def write_settled(self, client: str, batch: Batch, response: AppendResponse) -> None:
        for call in self._for_write_settled:
            call(client, batch, response)

    def multipart_requested(self, client: str, write: WriteId, tasks: Sequence[tuple[bytes, ...]]) -> None:
        for call in self._for_multipart_requested:
            call(client, write, tasks)

    def transaction_begun(self, client: str, transaction: Transaction) -> None:
        for call in self._for_transaction_begun:
            call(client, transaction)

    def transaction_ended(self, client: str, transaction: Transaction) -> None:
        for call in self._for_transaction_ended:
            call(client, transaction)

    def rows_planned(
        self, reader: str, start_offset: Offset, end_offset: Offset, stable: Offset, max_records: int
    ) -> None:
        for call in self._for_rows_planned:
            call(reader, start_offset, end_offset, stable, max_records)

    def records_seen(self, reader: str, start_offset: Offset, end_offset: Offset, seen: Sequence[Batch]) -> None:
        for call in self._for_records_seen:
            call(reader, start_offset, end_offset, seen)

    def response_seen(
        self, reader: str, start_offset: Offset, seen: Sequence[Batch], end_offset: Offset, compacted_end: Offset | None
    ) -> None:
        for call in self._for_response_seen:
            call(reader, start_offset, seen, end_offset, compacted_end)

    def batch_planned(self, reader: str, start_offset: Offset, plan: BatchPlan) -> None:
        for call in self._for_batch_planned:
            call(reader, start_offset, plan)

    def offset_requested(self, reader: str, timestamp: int) -> None:
        for call in self._for_offset_requested:
            call(reader, timestamp)

    def offset_found(self, reader: str, timestamp: int, found: FoundOffset | None) -> None:
        for call in self._for_offset_found:
            call(reader, timestamp, found)

    def session_stepped(self, client: str, epoch: Epoch) -> None:
        for call in self._for_session_stepped:
            call(client, epoch)

    def records_read(self, reader: str, log: LogModel) -> None:
        for call in self._for_records_read:
            call(reader, log)
