"""Lists of transactions take a limited part of a node's memory and time (rule TXN-9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.errors import ErrorCode
from raft.runtime import list_pace
from raft.wire.messages.describe_transactions import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeProducersTopic,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import TOPIC, voters_properties
from tests.node.harness.requests import fetch_request, produce_request, produced
from tests.node.harness.transactional_producer import TransactionalProducer
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

REFUSED = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REQUEST_TIMED_OUT]


def _errors_of_lists(wire: Wire) -> list[int]:
    listing = ListTransactionsRequest(state_filters=(), producer_id_filters=())
    described = DescribeProducersRequest(topics=(DescribeProducersTopic(name=TOPIC, partition_indexes=(0,)),))
    return [
        wire.ask(listing, 0, ListTransactionsResponse).error_code,
        wire.ask(described, 0, DescribeProducersResponse).topics[0].partitions[0].error_code,
    ]


@pytest.mark.rule("TXN-9")
@pytest.mark.parametrize("max_bytes", [1, 1_100_000], ids=["a batch that is larger than allowed", "a batch that fits"])
def test_transactions_are_not_listed_while_unread_responses_take_the_memory(tmp_path: Path, max_bytes: int) -> None:
    configurations = voters_properties(
        tmp_path, voters=1, queued__max__request__bytes="1100000", message__max__bytes="1100000"
    )
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.wire(1) as wire:
            start = produced(wire.ask(produce_request(batch_of(bytes(1_099_000))), 9, ProduceResponse)).base_offset
            for number in range(5):
                TransactionalProducer(wire, f"{number}").send(b"a")
            with Wire(nodes.endpoint(1), receive_buffer_bytes=4096) as deaf:
                for _ in range(20):
                    deaf.send(fetch_request(start, max_bytes=max_bytes), 12)
                eventually(lambda: _errors_of_lists(wire) == REFUSED, "a response is not read")
            eventually(lambda: set(_errors_of_lists(wire)) == {ErrorCode.NONE}, "the memory is free again")


@pytest.mark.rule("TXN-9")
def test_transactions_are_not_listed_again_before_a_long_list_is_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with NodesInProcess(voters_properties(tmp_path, voters=1)) as nodes:
        nodes.start().wait_for_leader()
        with nodes.wire(1) as wire:
            TransactionalProducer(wire, "orders").send(b"a")
            before = _errors_of_lists(wire)
            monkeypatch.setattr(list_pace, "ENTRIES_PER_S", 0.001)
            first = wire.ask(
                ListTransactionsRequest(state_filters=(), producer_id_filters=()), 0, ListTransactionsResponse
            )
            again = _errors_of_lists(wire)

    assert before == [ErrorCode.NONE, ErrorCode.NONE]
    assert first.error_code == ErrorCode.NONE
    assert again == REFUSED
