"""The request of each call, and the result that its response becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from raft.client import Appended, BatchPlan, Fetched, LogPosition, calls, descriptions
from raft.client.results import FoundOffset, ReplicaDescription
from raft.codec import Message, encode
from raft.errors import DecodeError, ErrorCode, OffsetOutOfRangeError, QuorumUnavailableError, RequestError
from raft.types import ZERO_UUID, Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch
from raft.wire.messages import describe_quorum as quorum
from raft.wire.messages import fetch, produce
from raft.wire.messages import list_offsets as offsets
from raft.wire.messages import offset_for_leader_epoch as epochs
from raft.wire.messages.api_versions import ApiVersionsResponse, SupportedFeature
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.nodes import LeaderIdAndEpoch, Listener
from tests.client.table import CLUSTER_ID, PLACES, TOPIC, TOPIC_ID, Table, leader_alone, node, session

BATCH = b"the bytes of a batch"


def produced(error: int = 0, base_offset: int = 7, *, partitions: int = 1) -> produce.ProduceResponse:
    partition = produce.ProduceResponsePartition(index=0, error_code=error, base_offset=base_offset)
    return produce.ProduceResponse(
        responses=(produce.ProduceResponseTopic(partition_responses=(partition,) * partitions),)
    )


def test_append_asks_the_leader_to_commit_the_batch() -> None:
    table = leader_alone(produced())

    appended = table.run(calls.append(session(), table.deadline(), BATCH))

    assert appended == Appended(base_offset=Offset(7))
    partition = produce.ProduceRequestPartition(index=0, records=BATCH)
    topic = produce.ProduceRequestTopic(name=TOPIC, topic_id=TOPIC_ID, partition_data=(partition,))
    assert table.asked[-1].request == produce.ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=(topic,))


@pytest.mark.rule("CLIENT-6")
def test_append_whose_response_is_lost_is_repeated_with_the_same_bytes() -> None:
    table = leader_alone(
        None, produced(ErrorCode.REQUEST_TIMED_OUT), produced(ErrorCode.NOT_LEADER_OR_FOLLOWER), produced()
    )

    appended = table.run(calls.append(session(), table.deadline(), BATCH))

    assert appended == Appended(base_offset=Offset(7))
    sent = [encode(asked.request, 9) for asked in table.asked if isinstance(asked.request, produce.ProduceRequest)]
    assert len(sent) == 4
    assert len(set(sent)) == 1


def test_append_under_a_key_with_a_newer_write_counts_as_written() -> None:
    table = leader_alone(produced(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, 4))

    appended = table.run(calls.append(session(), table.deadline(), BATCH))

    assert appended == Appended(base_offset=Offset(4), is_superseded=True)


@pytest.mark.parametrize("code", [ErrorCode.INVALID_RECORD, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER])
def test_append_that_is_refused_for_good_fails(code: ErrorCode) -> None:
    table = leader_alone(produced(code))

    with pytest.raises(RequestError) as refused:
        table.run(calls.append(session(), table.deadline(), BATCH))

    assert refused.value.code == code


def fetched(
    error: int = 0,
    *,
    epoch: int = 3,
    high_watermark: int = 9,
    log_start_offset: int = 2,
    records: bytes | None = b"r",
    top_error: int = 0,
    partitions: int = 1,
) -> fetch.FetchResponse:
    partition = fetch.FetchResponsePartition(
        partition_index=0,
        error_code=error,
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        log_start_offset=log_start_offset,
        current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=epoch),
        records=records,
    )
    topic = fetch.FetchResponseTopic(partitions=(partition,) * partitions)
    return fetch.FetchResponse(error_code=top_error, responses=() if top_error else (topic,))


def test_fetch_asks_for_committed_records_in_the_epoch_it_knows() -> None:
    table = leader_alone(fetched())

    got = table.run(calls.fetch_committed(session(), table.deadline(), Offset(5), max_bytes=100, max_wait_ms=200))

    assert got == Fetched(records=b"r", last_stable_offset=Offset(9), log_start_offset=Offset(2))
    asked = table.asked[-1]
    assert asked.timeout_ms == 1_200
    assert isinstance(asked.request, fetch.FetchRequest)
    assert (asked.request.max_wait_ms, asked.request.min_bytes, asked.request.max_bytes) == (200, 1, 100)
    assert asked.request.isolation_level == 1
    (topic,) = asked.request.topics
    (partition,) = topic.partitions
    assert (topic.topic, topic.topic_id) == (TOPIC, TOPIC_ID)
    assert (partition.fetch_offset, partition.current_leader_epoch, partition.partition_max_bytes) == (5, 3, 100)


def test_what_the_leader_does_not_know_is_none() -> None:
    table = leader_alone(fetched(high_watermark=-1, log_start_offset=-1, records=None, epoch=-1))

    got = table.run(calls.fetch_committed(session(), table.deadline(), Offset(5), max_bytes=1, max_wait_ms=0))

    assert got == Fetched(records=b"", last_stable_offset=None, log_start_offset=Offset(0))


def test_fetch_from_an_old_leader_is_repeated() -> None:
    table = leader_alone(fetched(epoch=2, records=b"old"), fetched(records=b"new"))

    got = table.run(calls.fetch_committed(session(), table.deadline(), Offset(5), max_bytes=1, max_wait_ms=0))

    assert got.records == b"new"


@pytest.mark.parametrize(
    "code", [ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH]
)
def test_fetch_that_cannot_be_served_yet_is_repeated(code: ErrorCode) -> None:
    table = leader_alone(fetched(code), fetched())

    got = table.run(calls.fetch_committed(session(), table.deadline(), Offset(5), max_bytes=1, max_wait_ms=0))

    assert got.records == b"r"


def test_offset_out_of_range_comes_with_the_range() -> None:
    table = leader_alone(fetched(ErrorCode.OFFSET_OUT_OF_RANGE))

    with pytest.raises(OffsetOutOfRangeError) as refused:
        table.run(calls.fetch_committed(session(), table.deadline(), Offset(50), max_bytes=1, max_wait_ms=0))

    assert str(refused.value) == "offset 50 is out of range: the log holds 2 to 9"
    assert (refused.value.log_start_offset, refused.value.high_watermark) == (2, 9)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_fetch_that_is_refused_as_a_whole_fails() -> None:
    table = leader_alone(fetched(top_error=ErrorCode.INVALID_REQUEST))

    with pytest.raises(RequestError) as refused:
        table.run(calls.fetch_committed(session(), table.deadline(), Offset(0), max_bytes=1, max_wait_ms=0))

    assert refused.value.code == ErrorCode.INVALID_REQUEST


def listed(error: int = 0, *, offset: int = 9, epoch: int = 3, partitions: int = 1) -> offsets.ListOffsetsResponse:
    partition = offsets.ListOffsetsResponsePartition(
        partition_index=0, error_code=error, offset=offset, leader_epoch=epoch
    )
    topic = offsets.ListOffsetsResponseTopic(name=TOPIC, partitions=(partition,) * partitions)
    return offsets.ListOffsetsResponse(topics=(topic,))


def test_find_offset_names_the_known_epoch() -> None:
    table = leader_alone(listed())

    found = table.run(calls.find_offset(session(), table.deadline(), offsets.LATEST_TIMESTAMP))

    assert found == FoundOffset(offset=Offset(9), epoch=Epoch(3))
    request = table.asked[-1].request
    assert isinstance(request, offsets.ListOffsetsRequest)
    assert (request.replica_id, request.isolation_level) == (-1, 1)
    ((partition,),) = (topic.partitions for topic in request.topics)
    assert (partition.current_leader_epoch, partition.timestamp) == (3, -1)


def test_end_that_an_old_leader_names_is_dropped() -> None:
    table = leader_alone(listed(offset=5, epoch=2), listed(offset=9))

    found = table.run(calls.find_offset(session(), table.deadline(), offsets.LATEST_TIMESTAMP))

    assert found == FoundOffset(offset=Offset(9), epoch=Epoch(3))


@pytest.mark.parametrize("timestamp", [offsets.EARLIEST_TIMESTAMP, 1_000])
def test_record_of_an_old_epoch_is_found(timestamp: int) -> None:
    table = leader_alone(listed(offset=5, epoch=1))

    found = table.run(calls.find_offset(session(), table.deadline(), timestamp))

    assert found == FoundOffset(offset=Offset(5), epoch=Epoch(1))


def test_offset_without_an_epoch_has_none() -> None:
    table = leader_alone(listed(offset=5, epoch=-1))

    found = table.run(calls.find_offset(session(), table.deadline(), offsets.LATEST_TIMESTAMP))

    assert found == FoundOffset(offset=Offset(5), epoch=None)


def test_no_record_has_that_timestamp_or_a_later_one() -> None:
    table = leader_alone(listed(offset=-1, epoch=-1))

    assert table.run(calls.find_offset(session(), table.deadline(), 1 << 60)) is None


def ended(error: int = 0, *, epoch: int = 2, end: int = 6, partitions: int = 1) -> epochs.OffsetForLeaderEpochResponse:
    partition = epochs.OffsetForLeaderEpochResponsePartition(
        error_code=error, partition=0, leader_epoch=epoch, end_offset=end
    )
    topic = epochs.OffsetForLeaderEpochResponseTopic(topic=TOPIC, partitions=(partition,) * partitions)
    return epochs.OffsetForLeaderEpochResponse(topics=(topic,))


@pytest.mark.parametrize(
    ("response", "end"),
    [
        pytest.param(ended(), OffsetAndEpoch(epoch=Epoch(2), offset=Offset(6)), id="known"),
        pytest.param(ended(epoch=-1, end=-1), None, id="not begun yet"),
    ],
)
def test_end_of_epoch_is_found(response: epochs.OffsetForLeaderEpochResponse, end: OffsetAndEpoch | None) -> None:
    table = leader_alone(ended(ErrorCode.OFFSET_NOT_AVAILABLE), response)

    assert table.run(calls.end_of_epoch(session(), table.deadline(), Epoch(2))) == end
    request = table.asked[-1].request
    assert isinstance(request, epochs.OffsetForLeaderEpochRequest)
    ((partition,),) = (topic.partitions for topic in request.topics)
    assert (request.replica_id, partition.current_leader_epoch, partition.leader_epoch) == (-1, 3, 2)


NO_PLACE = epochs.LogPosition()


def planned(
    *, start: epochs.LogPosition = NO_PLACE, end: epochs.LogPosition = NO_PLACE
) -> epochs.OffsetForLeaderEpochResponse:
    plan = epochs.BatchPlan(log_start_offset=2, last_stable_offset=9, start=start, end=end)
    partition = epochs.OffsetForLeaderEpochResponsePartition(
        error_code=0, partition=0, leader_epoch=2, end_offset=6, batch_plan=plan
    )
    topic = epochs.OffsetForLeaderEpochResponseTopic(topic=TOPIC, partitions=(partition,))
    return epochs.OffsetForLeaderEpochResponse(topics=(topic,))


END_OF_EPOCH = OffsetAndEpoch(epoch=Epoch(2), offset=Offset(6))


@pytest.mark.rule("CLIENT-15")
def test_batch_is_planned_with_one_request() -> None:
    start, end = epochs.LogPosition(offset=4, epoch=2, checksum=77), epochs.LogPosition(offset=9, epoch=3)
    table = leader_alone(planned(start=start, end=end))

    plan = table.run(
        calls.plan_batch(
            session(), table.deadline(), start_offset=Offset(4), epoch=Epoch(2), max_records=5, end_offset=Offset(20)
        )
    )

    assert plan == BatchPlan(
        log_start_offset=Offset(2),
        last_stable_offset=Offset(9),
        epoch_end=END_OF_EPOCH,
        start=LogPosition(offset=Offset(4), epoch=Epoch(2), checksum=77),
        end=LogPosition(offset=Offset(9), epoch=Epoch(3)),
    )
    request = table.asked[-1].request
    assert isinstance(request, epochs.OffsetForLeaderEpochRequest)
    ((partition,),) = (topic.partitions for topic in request.topics)
    assert (partition.current_leader_epoch, partition.leader_epoch) == (3, 2)
    assert partition.batch_plan_request == epochs.BatchPlanRequest(start_offset=4, max_records=5, end_offset=20)


@pytest.mark.rule("CLIENT-15")
def test_batch_that_starts_outside_the_log_has_no_places() -> None:
    table = leader_alone(planned())

    plan = table.run(calls.plan_batch(session(), table.deadline(), start_offset=Offset(40), epoch=Epoch(2)))

    assert plan == BatchPlan(log_start_offset=Offset(2), last_stable_offset=Offset(9), epoch_end=END_OF_EPOCH)


@pytest.mark.rule("CLIENT-15")
def test_plan_of_a_node_that_skips_the_tag_takes_a_request_for_each_bound() -> None:
    table = leader_alone(ended(), listed(offset=9), listed(offset=2), ended())

    plan = table.run(calls.plan_batch(session(), table.deadline(), start_offset=Offset(4), epoch=Epoch(2)))

    assert plan == BatchPlan(log_start_offset=Offset(2), last_stable_offset=Offset(9), epoch_end=END_OF_EPOCH)


def test_log_without_a_start_is_none() -> None:
    table = leader_alone(ended(), listed(offset=9), listed(offset=-1))

    with pytest.raises(DecodeError, match="without the offset of the start or the end of the log"):
        table.run(calls.plan_batch(session(), table.deadline(), start_offset=Offset(4), epoch=Epoch(2)))


def test_producer_id_comes_from_the_leader() -> None:
    table = leader_alone(InitProducerIdResponse(error_code=0, producer_id=77, producer_epoch=0))

    assert table.run(calls.new_producer_id(session(), table.deadline())) == 77
    assert table.asked[-1].request == InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)


@pytest.mark.parametrize(
    ("features", "level"),
    [
        ((SupportedFeature(name="kraft.spark.version", min_version=0, max_version=0),), 0),
        ((SupportedFeature(name="kraft.spark.version", min_version=0, max_version=1),), 1),
        ((SupportedFeature(name="kraft.spark.version", min_version=0, max_version=2),), 2),
    ],
)
def test_leader_says_what_it_supports(features: tuple[SupportedFeature, ...], level: int) -> None:
    served = ApiVersionsResponse(error_code=0, api_keys=(), supported_features=features)
    table = Table({PLACES[1]: node(served, serves=served)})

    assert table.run(calls.feature_level(session(), table.deadline())) == level


def described(error: int = 0, *, top_error: int = 0, epoch: int = 3, high_watermark: int = 9) -> Message:
    leader = quorum.ReplicaState(
        replica_id=1, log_end_offset=10, last_fetch_timestamp=500, last_caught_up_timestamp=400
    )
    silent = quorum.ReplicaState(replica_id=2, log_end_offset=-1)
    partition = quorum.DescribeQuorumResponsePartition(
        partition_index=0,
        error_code=error,
        leader_id=1,
        leader_epoch=epoch,
        high_watermark=high_watermark,
        current_voters=(leader, silent),
        observers=(silent,),
    )
    return quorum.DescribeQuorumResponse(
        error_code=top_error,
        topics=() if top_error else (quorum.DescribeQuorumResponseTopic(topic_name=TOPIC, partitions=(partition,)),),
        nodes=(quorum.DescribeQuorumNode(node_id=1, listeners=(Listener(name="C", host="h", port=9),)),),
    )


@pytest.mark.rule("DESCRIBE-3")
def test_quorum_is_described_by_its_leader() -> None:
    table = leader_alone(described(ErrorCode.NOT_LEADER_OR_FOLLOWER), described())

    description = table.run(descriptions.describe_quorum(session(), table.deadline()))

    assert (description.cluster_id, description.leader_id, description.leader_epoch) == (CLUSTER_ID, 1, 3)
    assert description.high_watermark == 9
    silent = ReplicaDescription(
        node_id=NodeId(2), directory_id=ZERO_UUID, log_end_offset=None, last_fetch_ms=None, last_caught_up_ms=None
    )
    leader = ReplicaDescription(
        node_id=NodeId(1), directory_id=ZERO_UUID, log_end_offset=Offset(10), last_fetch_ms=500, last_caught_up_ms=400
    )
    assert (description.voters, description.observers) == ((leader, silent), (silent,))
    assert description.endpoints == {1: (Endpoint("h", 9, "C"),)}


def test_description_without_a_high_watermark_has_none() -> None:
    table = leader_alone(described(high_watermark=-1))

    assert table.run(descriptions.describe_quorum(session(), table.deadline())).high_watermark is None


def test_description_that_is_refused_as_a_whole_fails() -> None:
    table = leader_alone(described(top_error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))

    with pytest.raises(RequestError) as refused:
        table.run(descriptions.describe_quorum(session(), table.deadline()))

    assert refused.value.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("call", "response"),
    [
        pytest.param(lambda at, by: calls.append(at, by, BATCH), produced(partitions=0), id="append"),
        pytest.param(lambda at, by: calls.append(at, by, BATCH), produced(partitions=2), id="append, two"),
        pytest.param(
            lambda at, by: calls.fetch_committed(at, by, Offset(0), max_bytes=1, max_wait_ms=0),
            fetched(partitions=0),
            id="fetch",
        ),
        pytest.param(lambda at, by: calls.find_offset(at, by, -1), listed(partitions=0), id="find offset"),
        pytest.param(lambda at, by: calls.end_of_epoch(at, by, Epoch(1)), ended(partitions=2), id="end of epoch"),
    ],
)
def test_response_without_exactly_one_partition_is_refused(call: Call, response: Message) -> None:
    table = leader_alone(response)

    with pytest.raises((DecodeError, QuorumUnavailableError), match="partitions, expected 1"):
        table.run(call(session(), table.deadline(200)))
