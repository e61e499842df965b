"""Transactions of producers, and what operators ask about them, on real connections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from raft.errors import ErrorCode
from raft.records.batches import read_batches
from raft.types import ControlType
from raft.wire.apis import ADD_PARTITIONS_TO_TXN, END_TXN, INIT_PRODUCER_ID, WRITE_TXN_MARKERS
from raft.wire.messages.describe_transactions import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeProducersTopic,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from raft.wire.messages.fetch import FetchResponse, FetchResponsePartition
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP, ListOffsetsResponse
from raft.wire.messages.offset_for_leader_epoch import BatchPlan, BatchPlanRequest, OffsetForLeaderEpochResponse
from raft.wire.messages.produce import ProduceResponse
from raft.wire.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from raft.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.node.harness.batches import batch_of, values_in
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import TOPIC, voters_properties
from tests.node.harness.requests import (
    epoch_end,
    epoch_end_request,
    fetch_request,
    fetched,
    list_offsets_request,
    listed,
    produce_request,
    produced,
)
from tests.node.harness.transactional_producer import TransactionalProducer
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

READ_COMMITTED = 1


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[NodesInProcess]:
    """A quorum of one node with small segments."""
    with NodesInProcess(voters_properties(tmp_path, voters=1)) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


def read(
    wire: Wire, offset: int = 0, *, isolation: int = READ_COMMITTED, max_wait_ms: int = 0
) -> FetchResponsePartition:
    request = replace(fetch_request(offset, max_wait_ms=max_wait_ms), isolation_level=isolation)
    return fetched(wire.ask(request, 12, FetchResponse))


def latest(wire: Wire, *, isolation: int) -> int:
    request = replace(list_offsets_request(LATEST_TIMESTAMP), isolation_level=isolation)
    return listed(wire.ask(request, 7, ListOffsetsResponse)).offset


@pytest.mark.rule("TXN-1", "TXN-10", "CLIENT-5")
def test_readers_of_committed_records_see_nothing_of_an_open_transaction_and_are_told_of_an_aborted_one(
    leader: NodesInProcess,
) -> None:
    with leader.wire(1) as wire:
        producer = TransactionalProducer(wire, "orders")
        start = producer.send(b"a", b"b").base_offset
        open_ends = latest(wire, isolation=READ_COMMITTED), latest(wire, isolation=0)
        uncommitted, committed = read(wire, start, isolation=0), read(wire, start)
        assert producer.end(commit=False) == ErrorCode.NONE
        aborted = read(wire, start)
        later = producer.send(b"c").base_offset
        assert producer.end(commit=True) == ErrorCode.NONE
        after = read(wire, later)
        closed_ends = latest(wire, isolation=READ_COMMITTED), latest(wire, isolation=0)

    assert open_ends == (start, start + 2)
    assert values_in(uncommitted.records) == [b"a", b"b"]
    assert (committed.records, committed.last_stable_offset, committed.high_watermark) == (b"", start, start + 2)
    assert [(each.producer_id, each.first_offset) for each in aborted.aborted_transactions or ()] == [
        (producer.producer_id, start)
    ]
    assert [batch.header.control_types for batch in read_batches(aborted.records or b"")] == [
        (),
        (ControlType.ABORT,),
    ]
    assert (values_in(after.records), after.aborted_transactions) == ([b"c"], ())
    assert closed_ends == (later + 2, later + 2)


@pytest.mark.rule("TXN-1")
def test_reader_of_committed_records_gets_them_when_the_transaction_ends(leader: NodesInProcess) -> None:
    with leader.wire(1) as wire, leader.wire(1) as reader:
        producer = TransactionalProducer(wire, "orders")
        start = producer.send(b"a").base_offset
        reader.send(replace(fetch_request(start, max_wait_ms=20_000), isolation_level=READ_COMMITTED), 12)
        produced(wire.ask(produce_request(batch_of(b"another")), 11, ProduceResponse))
        assert reader.is_silent(for_s=0.2)
        producer.end(commit=True)
        partition = fetched(reader.receive(FetchResponse))

    assert values_in(partition.records) == [b"a", b"another"]


@pytest.mark.rule("TXN-10")
def test_aborted_transactions_are_found_after_a_restart(leader: NodesInProcess) -> None:
    with leader.wire(1) as wire:
        producer = TransactionalProducer(wire, "orders")
        start = producer.send(b"a").base_offset
        producer.end(commit=False)
        open_one = TransactionalProducer(wire, "stocks")
        second = open_one.send(b"b").base_offset
    leader.stop(1)

    leader.start(1).wait_for_leader()

    with leader.wire(1) as wire:
        partition = read(wire, start)
        assert [each.first_offset for each in partition.aborted_transactions or ()] == [start]
        assert partition.last_stable_offset == second
        described = wire.ask(
            DescribeTransactionsRequest(transactional_ids=("stocks",)), 0, DescribeTransactionsResponse
        )
    assert described.transaction_states[0].transaction_state == "Ongoing"


@pytest.mark.rule("TXN-3")
@pytest.mark.parametrize("version", [*INIT_PRODUCER_ID.versions])
@pytest.mark.parametrize("name", ["", "x" * 1001, "kraft-write:5"])
def test_transactional_id_that_no_producer_can_have_is_refused(alone: NodesInProcess, version: int, name: str) -> None:
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000)
    with alone.wire(1) as wire:
        response = wire.ask(request, version, InitProducerIdResponse)

    assert (response.error_code, response.producer_id, response.producer_epoch) == (ErrorCode.INVALID_REQUEST, -1, -1)


@pytest.mark.rule("TXN-3")
@pytest.mark.parametrize("version", [*INIT_PRODUCER_ID.versions])
def test_producer_of_a_transactional_id_has_the_next_epoch_each_time(alone: NodesInProcess, version: int) -> None:
    request = InitProducerIdRequest(transactional_id=f"version {version}", transaction_timeout_ms=1000)
    with alone.wire(1) as wire:
        first, second = (wire.ask(request, version, InitProducerIdResponse) for _ in range(2))

    assert (first.error_code, first.producer_epoch) == (ErrorCode.NONE, 0)
    assert (second.producer_id, second.producer_epoch) == (first.producer_id, 1)


@pytest.mark.rule("TXN-3", "TXN-4")
def test_fenced_producer_gets_the_error_that_its_version_knows(alone: NodesInProcess) -> None:
    with alone.wire(1) as wire:
        zombie = TransactionalProducer(wire, "fenced")
        zombie.send(b"a")
        TransactionalProducer(wire, "fenced")
        errors = [zombie.end(commit=True, version=version) for version in END_TXN.versions]
        late = zombie.send(b"b")
        request = InitProducerIdRequest(
            transactional_id="fenced",
            transaction_timeout_ms=1000,
            producer_id=zombie.producer_id,
            producer_epoch=zombie.epoch,
        )
        inits = [wire.ask(request, version, InitProducerIdResponse).error_code for version in (3, 4)]

    assert errors == [ErrorCode.INVALID_PRODUCER_EPOCH] * 2 + [ErrorCode.PRODUCER_FENCED] * 4
    assert late.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert inits == [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED]


@pytest.mark.rule("TXN-3", "TXN-4", "TXN-9")
def test_follower_is_not_the_coordinator(three: NodesInProcess) -> None:
    follower = next(node_id for node_id in (1, 2, 3) if node_id != three.wait_for_leader())
    with three.wire(follower) as wire:
        init = wire.ask(
            InitProducerIdRequest(transactional_id="orders", transaction_timeout_ms=1000), 4, InitProducerIdResponse
        )
        added = wire.ask(_adds("orders", 5, 0), 3, AddPartitionsToTxnResponse)
        listing = wire.ask(
            ListTransactionsRequest(state_filters=(), producer_id_filters=()), 0, ListTransactionsResponse
        )
        described = wire.ask(
            DescribeTransactionsRequest(transactional_ids=("orders",)), 0, DescribeTransactionsResponse
        )
        producers = wire.ask(_all_producers(), 0, DescribeProducersResponse)

    assert init.error_code == ErrorCode.NOT_COORDINATOR
    assert _added(added) == [ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert (listing.error_code, listing.transaction_states) == (ErrorCode.NONE, ())
    assert described.transaction_states[0].error_code == ErrorCode.NOT_COORDINATOR
    assert producers.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def _adds(name: str, producer_id: int, epoch: int) -> AddPartitionsToTxnRequest:
    topics = (
        AddPartitionsToTxnTopic(name=TOPIC, partitions=(0,)),
        AddPartitionsToTxnTopic(name="other", partitions=(0,)),
    )
    return AddPartitionsToTxnRequest(
        transactional_id=name, producer_id=producer_id, producer_epoch=epoch, topics=topics
    )


def _added(response: AddPartitionsToTxnResponse) -> list[int]:
    return [
        partition.partition_error_code
        for topic in response.results_by_topic
        for partition in topic.results_by_partition
    ]


def _all_producers() -> DescribeProducersRequest:
    return DescribeProducersRequest(topics=(DescribeProducersTopic(name=TOPIC, partition_indexes=(0, 1)),))


@pytest.mark.rule("TXN-4")
@pytest.mark.parametrize("version", [*ADD_PARTITIONS_TO_TXN.versions])
def test_partitions_are_added_for_the_present_producer_only(alone: NodesInProcess, version: int) -> None:
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    with alone.wire(1) as wire:
        producer = TransactionalProducer(wire, f"adds {version}")
        answers = [
            _added(wire.ask(_adds(producer.name, producer_id, epoch), version, AddPartitionsToTxnResponse))
            for producer_id, epoch in ((producer.producer_id, 0), (producer.producer_id, 1), (5, 0))
        ]

    assert [ours for ours, _ in answers] == [ErrorCode.NONE, fenced, ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert {others for _, others in answers} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.rule("TXN-9", "TXN-4")
@pytest.mark.parametrize("version", [*WRITE_TXN_MARKERS.versions])
def test_operator_finds_an_open_transaction_and_aborts_it(leader: NodesInProcess, version: int) -> None:
    with leader.wire(1) as wire:
        producer = TransactionalProducer(wire, "orders")
        start = producer.send(b"a").base_offset
        idle = TransactionalProducer(wire, "idle")
        listing = wire.ask(
            ListTransactionsRequest(state_filters=("Ongoing", "Odd"), producer_id_filters=()),
            1,
            ListTransactionsResponse,
        )
        described = wire.ask(
            DescribeTransactionsRequest(transactional_ids=("orders", "idle", "unknown")),
            0,
            DescribeTransactionsResponse,
        )
        producers = wire.ask(_all_producers(), 0, DescribeProducersResponse)
        topics = (
            WritableTxnMarkerTopic(name=TOPIC, partition_indexes=(0,)),
            WritableTxnMarkerTopic(name="other", partition_indexes=(0,)),
        )
        markers = tuple(
            WritableTxnMarker(
                producer_id=each,
                producer_epoch=0,
                transaction_result=result,
                topics=topics,
                coordinator_epoch=0,
            )
            for each, result in ((producer.producer_id, False), (77, False), (producer.producer_id, True))
        )
        written = wire.ask(WriteTxnMarkersRequest(markers=markers), version, WriteTxnMarkersResponse)
        nothing = wire.ask(WriteTxnMarkersRequest(markers=()), version, WriteTxnMarkersResponse)
        committed = producer.end(commit=True)
        aborted = read(wire, start)

    assert listing.unknown_state_filters == ("Odd",)
    assert [(each.transactional_id, each.producer_id) for each in listing.transaction_states] == [
        ("orders", producer.producer_id)
    ]
    states = [(each.error_code, each.transaction_state, each.producer_id) for each in described.transaction_states]
    assert states == [
        (ErrorCode.NONE, "Ongoing", producer.producer_id),
        (ErrorCode.NONE, "Empty", idle.producer_id),
        (ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, "", -1),
    ]
    assert described.transaction_states[0].transaction_start_time_ms == 1_000
    assert described.transaction_states[0].topics[0].partitions == (0,)
    ours, other = producers.topics[0].partitions
    assert [(each.producer_id, each.current_txn_start_offset) for each in ours.active_producers] == [
        (producer.producer_id, start)
    ]
    assert other.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    errors = [[topic.partitions[0].error_code for topic in marker.topics] for marker in written.markers]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert errors == [[ErrorCode.NONE, unknown], [ErrorCode.NONE, unknown], [ErrorCode.INVALID_TXN_STATE, unknown]]
    assert nothing.markers == ()
    assert committed == ErrorCode.PRODUCER_FENCED
    assert [each.first_offset for each in aborted.aborted_transactions or ()] == [start]


@pytest.mark.rule("TXN-9")
def test_listed_transactions_can_be_chosen_by_producer_and_duration(leader: NodesInProcess) -> None:
    with leader.wire(1) as wire:
        first, second = (TransactionalProducer(wire, name) for name in ("a", "b"))
        second.send(b"long ago")
        by_producer = wire.ask(
            ListTransactionsRequest(state_filters=(), producer_id_filters=(first.producer_id,)),
            0,
            ListTransactionsResponse,
        )
        by_duration = wire.ask(
            ListTransactionsRequest(state_filters=(), producer_id_filters=(), duration_filter=60_000),
            1,
            ListTransactionsResponse,
        )

    assert [each.transactional_id for each in by_producer.transaction_states] == ["a"]
    assert [each.transactional_id for each in by_duration.transaction_states] == ["b"]


@pytest.mark.rule("TXN-9")
def test_topic_that_is_named_several_times_is_described_once(leader: NodesInProcess) -> None:
    again = DescribeProducersTopic(name=TOPIC, partition_indexes=(0, 0))
    with leader.wire(1) as wire:
        TransactionalProducer(wire, "orders").send(b"a")
        described = wire.ask(DescribeProducersRequest(topics=(again,) * 500), 0, DescribeProducersResponse)

    ((partition,),) = (topic.partitions for topic in described.topics)
    assert len(partition.active_producers) == 1


@pytest.mark.rule("TXN-8")
def test_transaction_that_times_out_does_not_hold_readers_any_longer(leader: NodesInProcess) -> None:
    with leader.wire(1) as wire:
        producer = TransactionalProducer(wire, "orders", timeout_ms=1)
        start = producer.send(b"a").base_offset
        eventually(lambda: latest(wire, isolation=READ_COMMITTED) > start, "the transaction is aborted")
        assert producer.end(commit=True) == ErrorCode.PRODUCER_FENCED


@pytest.mark.rule("CLIENT-15", "TXN-10")
def test_planned_batch_counts_neither_markers_nor_aborted_records(leader: NodesInProcess) -> None:
    def plan(wire: Wire, start: int, most: int) -> BatchPlan:
        asked = epoch_end_request(1, plan=BatchPlanRequest(start_offset=start, max_records=most))
        return epoch_end(wire.ask(asked, 4, OffsetForLeaderEpochResponse)).batch_plan

    with leader.wire(1) as wire:
        producer = TransactionalProducer(wire, "orders")
        start = producer.send(b"aborted", b"aborted").base_offset
        producer.end(commit=False)
        producer.send(b"a", b"b", b"c")
        producer.end(commit=True)
        ends = [plan(wire, start, most).end.offset - start for most in (1, 3, 4)]

    assert ends == [4, 7, 7]


@pytest.mark.rule("TXN-5")
def test_strict_quorum_refuses_transactions(strict_about_records: NodesInProcess) -> None:
    request = InitProducerIdRequest(transactional_id="orders", transaction_timeout_ms=1000)
    with strict_about_records.wire(1) as wire:
        response = wire.ask(request, 4, InitProducerIdResponse)

    assert response.error_code == ErrorCode.INVALID_REQUEST
