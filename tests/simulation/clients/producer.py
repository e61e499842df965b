"""An idempotent producer of Kafka."""

from __future__ import annotations

from raft.codec import Message
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode
from raft.types import Batch, Epoch, LeaderAndEpoch, NodeId, Offset
from raft.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
)
from tests.simulation.clients.caller import Caller
from tests.simulation.clients.writer import Write, Writer, WriterWorld
from tests.simulation.starting import TOPIC

_VERSION = 12
"""The last version with topic names instead of topic ids."""

_PRODUCER_IDS = 1 << 61
_MAX_RECORDS = 3
_BACKOFF_MS = (10, 80)
_SETTLED = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_RESOURCE)


class Producer(Writer):
    """Numbers its records, and may have several batches in flight.

    There are at most `window` batches from the oldest unsettled one to the newest: nodes remember the last five batches
    of a producer, and do not recognise an older one as repeated.

    A lost response, NOT_LEADER_OR_FOLLOWER and REQUEST_TIMED_OUT leave the outcome unknown, so the producer sends the
    same bytes again. It also retries after OUT_OF_ORDER_SEQUENCE_NUMBER: the batch before may still be in flight, or
    the node is a deposed leader that lacks it.

    Args:
        name: the name of the producer.
        caller: its connections to the quorum.
        world: the parts of the world that it uses.
    """

    def __init__(self, name: str, caller: Caller, world: WriterWorld) -> None:
        super().__init__(name, world)
        self._caller = caller
        self._producer_id = self._dice.draw(_PRODUCER_IDS)
        self._next_sequence = 0
        self._made_since_oldest = 0

    def _make_more(self) -> None:
        if not self.has_unsettled:
            self._made_since_oldest = 0
        if self._made_since_oldest < self._plan.window:
            self._made_since_oldest += 1
            self._write(self._make_batch())

    def _make_batch(self) -> Batch:
        sequence = self._next_sequence
        self._next_sequence += 1 + self._dice.draw(_MAX_RECORDS)
        numbers = range(sequence, self._next_sequence)
        return self._batch_of(
            [b"record %d of producer %d" % (number, self._producer_id) for number in numbers],
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=sequence,
        )

    def _send(self, write: Write) -> None:
        if write.is_settled:
            return
        write.attempts += 1
        attempt = write.attempts
        request = ProduceRequest(
            acks=-1,
            timeout_ms=self._dice.between(self._plan.timeout_ms),
            topic_data=(
                ProduceRequestTopic(
                    name=TOPIC, partition_data=(ProduceRequestPartition(index=0, records=write.batch.payload),)
                ),
            ),
        )
        self._caller.send(request, _VERSION, lambda response: self._on_response(write, attempt, response))
        self._timeline.after(self._plan.patience_ms, lambda: self._on_silence(write, attempt))

    def _on_silence(self, write: Write, attempt: int) -> None:
        if attempt == write.attempts and not write.is_settled:
            self._caller.set_leader(None)
            self._send(write)

    def _on_response(self, write: Write, attempt: int, message: Message) -> None:
        assert isinstance(message, ProduceResponse), "the response to Produce"
        ((partition,),) = (topic.partition_responses for topic in message.responses)
        if write.is_settled:
            return
        if partition.error_code in _SETTLED:
            self._settle(write, append_response(partition))
        elif attempt == write.attempts:
            # A node that cannot commit in time may be a deposed leader.
            is_timed_out = partition.error_code == ErrorCode.REQUEST_TIMED_OUT
            self._caller.set_leader(None if is_timed_out else NodeId(partition.current_leader.leader_id))
            self._timeline.after(self._dice.between(_BACKOFF_MS), lambda: self._send_again(write, attempt))

    def _send_again(self, write: Write, attempt: int) -> None:
        if attempt == write.attempts:
            self._send(write)


def append_response(partition: ProduceResponsePartition) -> AppendResponse:
    """Return a response to Produce as a message of the core."""
    leader = partition.current_leader
    return AppendResponse(
        error=partition.error_code,
        base_offset=Offset(partition.base_offset) if partition.base_offset >= 0 else None,
        leader=LeaderAndEpoch(
            epoch=Epoch(max(leader.leader_epoch, 0)),
            leader_id=NodeId(leader.leader_id) if leader.leader_id >= 0 else None,
        ),
    )
