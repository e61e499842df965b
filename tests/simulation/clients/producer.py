"""An idempotent producer, as Kafka's clients are."""

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
"""The last one that names topics, and not their ids."""

_PRODUCER_IDS = 1 << 61
_MOST_RECORDS = 3
_BACKOFF_MS = (10, 80)
_SETTLED = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_RESOURCE)


class Producer(Writer):
    """Numbers its records, and may have several batches under way.

    From the oldest one that is not settled to the newest there are never more than `window`: nodes remember the last
    five batches of a producer, and what they have forgotten they cannot recognise.

    A lost response, NOT_LEADER_OR_FOLLOWER and REQUEST_TIMED_OUT say nothing of the outcome, so the same bytes are sent
    again. OUT_OF_ORDER_SEQUENCE_NUMBER is retried as well: the batch before may still be under way, or a node that led
    before knows too little.

    Args:
        name: of the producer.
        caller: its way to the quorum.
        world: as it sees it.
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
        self._next_sequence += 1 + self._dice.draw(_MOST_RECORDS)
        numbers = range(sequence, self._next_sequence)
        return self._batch_of(
            [b"record %d of producer %d" % (number, self._producer_id) for number in numbers],
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=sequence,
        )

    def _ask(self, write: Write) -> None:
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
        self._caller.ask(request, _VERSION, lambda response: self._on_response(write, attempt, response))
        self._timeline.after(self._plan.patience_ms, lambda: self._on_silence(write, attempt))

    def _on_silence(self, write: Write, attempt: int) -> None:
        if attempt == write.attempts and not write.is_settled:
            self._caller.believe(None)
            self._ask(write)

    def _on_response(self, write: Write, attempt: int, message: Message) -> None:
        assert isinstance(message, ProduceResponse), "the response to Produce"
        ((partition,),) = (topic.partition_responses for topic in message.responses)
        if write.is_settled:
            return
        if partition.error_code in _SETTLED:
            self._settle(write, append_response(partition))
        elif attempt == write.attempts:
            # A node that cannot commit in time may be a leader that the others have left.
            is_timed_out = partition.error_code == ErrorCode.REQUEST_TIMED_OUT
            self._caller.believe(None if is_timed_out else NodeId(partition.current_leader.leader_id))
            self._timeline.after(self._dice.between(_BACKOFF_MS), lambda: self._ask_again(write, attempt))

    def _ask_again(self, write: Write, attempt: int) -> None:
        if attempt == write.attempts:
            self._ask(write)


def append_response(partition: ProduceResponsePartition) -> AppendResponse:
    """Return what a response to Produce says, in the core's words."""
    leader = partition.current_leader
    return AppendResponse(
        error=partition.error_code,
        base_offset=Offset(partition.base_offset) if partition.base_offset >= 0 else None,
        leader=LeaderAndEpoch(
            epoch=Epoch(max(leader.leader_epoch, 0)),
            leader_id=NodeId(leader.leader_id) if leader.leader_id >= 0 else None,
        ),
    )
