"""A producer of librdkafka with a transactional id, which commits, aborts, or leaves a transaction open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from confluent_kafka import KafkaError, KafkaException, Producer

from tests.harness.clients.librdkafka import COMMON
from tests.harness.quorum import LONGEST_TRANSACTION_MS
from tests.node.harness.properties import TOPIC
from tests.workload.history import History, Transaction, now_ns
from tests.workload.worker import Worker

_CALL_S = 5.0
_MOST_VALUES = 8

_ABORT = 0.25
"""How often a transaction is aborted."""

_LEAVE_OPEN = 0.08
"""How often the producer ends in a transaction; the next one with its id aborts it, or the leader after the timeout."""

_LONGEST_ABSENCE_S = 1.5


class TransactionalProducer(Worker):
    """Does one transaction after the other, under one transactional id.

    Args:
        name: see `Worker`; also its transactional id.
        history: see `Worker`.
        access: how it connects.
        dice: decides how transactions end, and how long it waits.
        longest_pause_s: the longest wait between two transactions.
    """

    def __init__(
        self, name: str, history: History, access: Mapping[str, object], dice: Random, *, longest_pause_s: float
    ) -> None:
        super().__init__(name, history)
        self._settings = COMMON | {
            **access,
            "transactional.id": name,
            "transaction.timeout.ms": LONGEST_TRANSACTION_MS,
            "message.timeout.ms": LONGEST_TRANSACTION_MS,
            "request.timeout.ms": 1500,
            "linger.ms": 2,
        }
        self._dice = dice
        self._longest_pause_s = longest_pause_s
        self._value_count = 0
        self._left: Transaction | None = None

    def _run(self) -> None:
        while not self._is_stopping.is_set():
            self._be_one_instance()
        self._note_left()

    def _be_one_instance(self) -> None:
        """Be one producer until it leaves a transaction open, gets a fatal error, or it is time to stop."""
        producer = Producer(self._settings)
        self._note_left()
        try:
            if not self._insist(lambda: producer.init_transactions(_CALL_S)):
                return
            is_well = True
            while is_well and not self._is_stopping.is_set():
                is_well = self._transact(producer)
                self._is_stopping.wait(self._dice.uniform(0, self._longest_pause_s))
        finally:
            producer.purge()

    def _note_left(self) -> None:
        """Note the transaction that was left open, because the next producer with its id may end it from now on."""
        if self._left is not None:
            self._history.transacted(_with_end(self._left, requested_ns=now_ns()))
            self._left = None

    def _transact(self, producer: Producer) -> bool:
        """Do one transaction; return whether the producer can go on."""
        transaction = self._next_transaction()
        if not self._insist(lambda: self._produce(producer, transaction)):
            # The producer was fenced: its last transaction took longer than its timeout.
            self._left = transaction
            return False
        fate = 1.0 if self._is_stopping.is_set() else self._dice.random()
        if fate < _LEAVE_OPEN:
            producer.flush(_CALL_S)
            self._left = transaction
            self._is_stopping.wait(self._dice.uniform(0, _LONGEST_ABSENCE_S))
            return False
        requested_ns = now_ns()
        wants_commit = fate >= _LEAVE_OPEN + _ABORT
        acknowledged_ns = None
        if wants_commit:
            is_committed = self._insist(lambda: producer.commit_transaction(_CALL_S))
            acknowledged_ns = now_ns() if is_committed else None
            is_well = is_committed or self._insist(lambda: producer.abort_transaction(_CALL_S))
        else:
            is_well = self._insist(lambda: producer.abort_transaction(_CALL_S))
            acknowledged_ns = now_ns() if is_well else None
        self._history.transacted(
            _with_end(transaction, requested_ns, wants_commit=wants_commit, acknowledged_ns=acknowledged_ns)
        )
        return is_well

    def _next_transaction(self) -> Transaction:
        first = self._value_count
        self._value_count += self._dice.randint(1, _MOST_VALUES)
        values = tuple(f"{self.name}-{number}".encode() for number in range(first, self._value_count))
        return Transaction(
            client=self.name,
            values=values,
            task_sizes=(len(values),),
            begun_ns=now_ns(),
            wants_commit=False,
            timeout_ms=LONGEST_TRANSACTION_MS,
        )

    def _produce(self, producer: Producer, transaction: Transaction) -> None:
        producer.begin_transaction()
        for value in transaction.values:
            producer.produce(TOPIC, value=value, partition=0)

    def _insist(self, call: Callable[[], object]) -> bool:
        """Call until it succeeds; return False if it cannot.

        Raises:
            KafkaException: an error that no fault explains.
        """
        while True:
            try:
                call()
            except KafkaException as error:
                cause = error.args[0]
                assert isinstance(cause, KafkaError), "librdkafka says why"
                if cause.retriable():
                    continue
                if cause.fatal() or cause.txn_requires_abort():
                    return False
                raise
            else:
                return True


def _with_end(
    transaction: Transaction,
    requested_ns: int,
    *,
    wants_commit: bool = False,
    acknowledged_ns: int | None = None,
) -> Transaction:
    return Transaction(
        client=transaction.client,
        values=transaction.values,
        task_sizes=transaction.task_sizes,
        begun_ns=transaction.begun_ns,
        wants_commit=wants_commit,
        end_requested_ns=requested_ns,
        acknowledged_ns=acknowledged_ns,
        timeout_ms=transaction.timeout_ms,
    )
