"""A producer with a transactional id, request by request."""

from __future__ import annotations

from raft.errors import ErrorCode
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.produce import ProduceResponse, ProduceResponsePartition
from raft.wire.messages.transactions import EndTxnRequest, EndTxnResponse
from tests.node.harness.requests import produce_request, produced
from tests.node.harness.wire import Wire


class TransactionalProducer:
    """Has a producer id and an epoch from its start on."""

    def __init__(self, wire: Wire, name: str, *, timeout_ms: int = 60_000) -> None:
        self._wire = wire
        self.name = name
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout_ms)
        response = wire.ask(request, 4, InitProducerIdResponse)
        assert response.error_code == ErrorCode.NONE, response
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        self._sequence = 0

    def send(self, *values: bytes) -> ProduceResponsePartition:
        """Append a batch of the transaction."""
        batch = build_batch(
            [Record(value=value, timestamp_ms=1_000) for value in values],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self._sequence,
            is_transactional=True,
        )
        self._sequence += len(values)
        return produced(self._wire.ask(produce_request(batch, transactional_id=self.name), 11, ProduceResponse))

    def end(self, *, commit: bool, version: int = 4) -> int:
        """Commit or abort; return the error."""
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        return self._wire.ask(request, version, EndTxnResponse).error_code
