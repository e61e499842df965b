"""A producer of Kafka with a transactional id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from raft.codec import Message
from raft.errors import ErrorCode
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from raft.wire.messages.transactions import EndTxnRequest, EndTxnResponse
from tests.simulation.clients.caller import Caller
from tests.simulation.clients.writer import Write, Writer, WriterWorld, key_of
from tests.simulation.starting import TOPIC

_PRODUCE_VERSION = 11
_INIT_VERSION = 4
_END_VERSION = 5
_BACKOFF_MS = (10, 80)
_ABORT_PERCENT = 30
_SUCCESSOR_PERCENT = 12
"""How often another instance begins in the middle of a transaction; the one before may still send its next request."""

_ZOMBIE_PERCENT = 50
_RETRIABLE = frozenset(
    (
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
    )
)
_MAX_BATCHES = 3
_MAX_ROWS = 2


@dataclass(eq=False)
class Transaction:
    """One transaction of an instance, as it was requested.

    Fields:
        producer_id, producer_epoch: of the instance.
        values: of the records that were requested.
        acknowledged: how many of them.
        wants_commit: whether a commit was requested; None while neither commit nor abort was.
    """

    producer_id: int
    producer_epoch: int
    values: list[bytes] = field(default_factory=list)
    acknowledged: int = 0
    wants_commit: bool | None = None


@dataclass(eq=False)
class _Instance:
    """An epoch of the producer, which has another one after each transaction, because requests may come late."""

    producer_id: int = -1
    epoch: int = -1
    sequence: int = 0
    attempts: int = 0


class TransactionalProducer(Writer):
    """Writes one transaction after the other, and commits or aborts it. Each request is sent again until accepted.

    Args:
        name: the name of the producer, which is its transactional id.
        caller: its connections to the quorum.
        world: the parts of the world that it uses.
    """

    def __init__(self, name: str, caller: Caller, world: WriterWorld) -> None:
        super().__init__(name, world)
        self._caller = caller
        self._instance = _Instance()
        self._transaction: Transaction | None = None
        self._number = 0
        self._is_running = False

    @property
    def has_unsettled(self) -> bool:
        """Whether a transaction has not ended yet."""
        return self._is_running

    def _make_more(self) -> None:
        if self._is_running:
            return
        self._is_running = True
        if self._instance.epoch < 0:
            self._begin_instance()
        else:
            self._begin_transaction()

    def _begin_instance(self) -> None:
        instance = self._instance = _Instance()
        self._transaction = None

        def on_response(response: Message) -> bool:
            assert isinstance(response, InitProducerIdResponse), "the response to InitProducerId"
            if response.error_code != ErrorCode.NONE:
                return False
            instance.producer_id, instance.epoch = response.producer_id, response.producer_epoch
            self._begin_transaction()
            return True

        timeout_ms = self._plan.transaction_timeout_ms
        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=timeout_ms)
        self._ask(instance, request, _INIT_VERSION, on_response)

    def _begin_transaction(self) -> None:
        instance = self._instance
        self._transaction = Transaction(instance.producer_id, instance.epoch)
        self._watch.transaction_begun(self.name, self._transaction)
        self._send_batch(1 + self._dice.draw(_MAX_BATCHES))

    def _send_batch(self, left: int) -> None:
        instance, transaction = self._instance, self._transaction
        assert transaction is not None, "a batch belongs to a transaction"
        self._number += 1
        values = [f"{self.name}/{self._number}/{row}".encode() for row in range(1 + self._dice.draw(_MAX_ROWS))]
        transaction.values += values
        request = self._produce(instance, values)
        instance.sequence += len(values)

        def on_response(response: Message) -> bool:
            assert isinstance(response, ProduceResponse), "the response to Produce"
            ((partition,),) = (topic.partition_responses for topic in response.responses)
            if partition.error_code == ErrorCode.NONE:
                transaction.acknowledged += len(values)
                self._after_batch(left - 1)
                return True
            return self._is_over(partition.error_code)

        self._ask(instance, request, _PRODUCE_VERSION, on_response)

    def _produce(self, instance: _Instance, values: list[bytes]) -> ProduceRequest:
        records = build_batch(
            [
                Record(key=key_of(value, self._plan.keys), value=value, timestamp_ms=self._wall_clock_ms)
                for value in values
            ],
            producer_id=instance.producer_id,
            producer_epoch=instance.epoch,
            base_sequence=instance.sequence,
            is_transactional=True,
        )
        partitions = (ProduceRequestPartition(index=0, records=records),)
        return ProduceRequest(
            transactional_id=self.name,
            acks=-1,
            timeout_ms=self._dice.between(self._plan.timeout_ms),
            topic_data=(ProduceRequestTopic(name=TOPIC, partition_data=partitions),),
        )

    def _after_batch(self, left: int) -> None:
        if self._dice.chance(_SUCCESSOR_PERCENT):
            zombie, transaction = self._instance, self._transaction
            self._begin_instance()
            if self._dice.chance(_ZOMBIE_PERCENT):
                assert transaction is not None, "a batch belongs to a transaction"
                transaction.wants_commit = True
                request = self._end(zombie, commit=True)
                self._caller.send(request, _END_VERSION, lambda response: self._on_zombie(transaction, response))
        elif left:
            self._send_batch(left)
        else:
            self._end_transaction()

    def _on_zombie(self, transaction: Transaction, response: Message) -> None:
        assert isinstance(response, EndTxnResponse), "the response to EndTxn"
        if response.error_code == ErrorCode.NONE:
            self._watch.transaction_ended(self.name, transaction)

    def _end_transaction(self) -> None:
        instance, transaction = self._instance, self._transaction
        assert transaction is not None, "there is one to end"
        transaction.wants_commit = not self._dice.chance(_ABORT_PERCENT)

        def on_response(response: Message) -> bool:
            assert isinstance(response, EndTxnResponse), "the response to EndTxn"
            if response.error_code == ErrorCode.NONE:
                self._watch.transaction_ended(self.name, transaction)
                self._instance = _Instance(response.producer_id, response.producer_epoch)
                self._is_running = False
                return True
            return self._is_over(response.error_code)

        self._ask(instance, self._end(instance, commit=transaction.wants_commit), _END_VERSION, on_response)

    def _end(self, instance: _Instance, *, commit: bool) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=self.name,
            producer_id=instance.producer_id,
            producer_epoch=instance.epoch,
            committed=commit,
        )

    def _is_over(self, error: int) -> bool:
        """Whether an error is final: then the next instance begins."""
        if error in _RETRIABLE:
            return False
        self._begin_instance()
        return True

    def _ask(self, instance: _Instance, request: Message, version: int, on_response: Callable[[Message], bool]) -> None:
        """Send a request, and again to other nodes until `on_response` accepts a response."""
        instance.attempts += 1
        attempt = instance.attempts

        def is_present() -> bool:
            return instance is self._instance and attempt == instance.attempts

        def on_any(response: Message) -> None:
            if not is_present():
                return
            self._caller.keep_node()
            if not on_response(response) and is_present():
                self._caller.set_leader(None)
                self._timeline.after(self._dice.between(_BACKOFF_MS), again)

        def again() -> None:
            if is_present():
                self._ask(instance, request, version, on_response)

        def on_silence() -> None:
            if is_present():
                self._caller.set_leader(None)
                again()

        self._caller.send(request, version, on_any)
        self._timeline.after(self._plan.patience_ms, on_silence)

    def _send(self, write: Write) -> None:
        raise NotImplementedError("its batches belong to transactions")
