"""The partition that a message names, and values that are unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from raft.codec import Message
from raft.core import messages as core
from raft.errors import DecodeError
from raft.types import ZERO_UUID, Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey, Uuid
from raft.wire.apis import FETCH
from raft.wire.mapping import partition as mapping
from raft.wire.mapping.fetches import (
    FETCH as FETCH_MAPPING,
)
from raft.wire.mapping.fetches import (
    client_fetch_from_wire,
    fetch_endpoints_to_wire,
    fetch_partition_to_wire,
    fetching_replica,
)
from raft.wire.mapping.replica_messages import request_from_wire, request_to_wire, response_from_wire
from raft.wire.messages import fetch
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochResponse
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochResponse
from raft.wire.messages.fetch_snapshot import SnapshotId
from raft.wire.messages.nodes import LeaderIdAndEpoch
from raft.wire.messages.vote import VoteResponse
from tests.wire.core_values import INT64_MAX
from tests.wire.test_mapping import DIRECTORY, OURS

_US = ReplicaKey(NodeId(1))
_NOWHERE = OffsetAndEpoch(epoch=Epoch(0), offset=Offset(0))

REQUESTS: tuple[tuple[core.OutgoingRequest, int], ...] = (
    (core.VoteRequest(cluster_id="c", epoch=Epoch(3), candidate=_US, candidate_log_end=_NOWHERE, pre_vote=False), 2),
    (core.BeginQuorumEpochRequest(cluster_id="c", leader=LeaderAndEpoch(epoch=Epoch(3), leader_id=NodeId(1))), 1),
    (core.EndQuorumEpochRequest(cluster_id="c", leader=LeaderAndEpoch(epoch=Epoch(3), leader_id=NodeId(1))), 1),
    (
        core.FetchRequest(
            cluster_id="c",
            replica=_US,
            epoch=Epoch(3),
            fetch_offset=Offset(5),
            last_fetched_epoch=Epoch(2),
            max_wait_ms=1,
            max_bytes=1,
        ),
        18,
    ),
)
every_request = pytest.mark.parametrize(
    ("request_", "version"), [pytest.param(*case, id=type(case[0]).__name__) for case in REQUESTS]
)

Change = Callable[[Any], tuple[Any, ...]]


def _of_other_topic(topic: Any) -> tuple[Any, ...]:
    if isinstance(topic, fetch.FetchRequestTopic):
        return (replace(topic, topic_id=DIRECTORY),)
    return (replace(topic, topic_name="other"),)


def _of_other_partition(topic: Any) -> tuple[Any, ...]:
    (only,) = topic.partitions
    name = "partition" if isinstance(topic, fetch.FetchRequestTopic) else "partition_index"
    return (replace(topic, partitions=(replace(only, **{name: 1}),)),)


@every_request
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda _: (), id="no topic"),
        pytest.param(lambda topic: (topic, topic), id="two topics"),
        pytest.param(lambda topic: (replace(topic, partitions=()),), id="no partition"),
        pytest.param(lambda topic: (replace(topic, partitions=topic.partitions * 2),), id="two partitions"),
        pytest.param(_of_other_topic, id="another topic"),
        pytest.param(_of_other_partition, id="another partition"),
    ],
)
@pytest.mark.rule("GEN-2")
def test_request_for_another_partition_keeps_only_its_cluster_id(
    request_: core.OutgoingRequest, version: int, change: Change
) -> None:
    message: Any = request_to_wire(request_, OURS, version)

    received = request_from_wire(replace(message, topics=change(message.topics[0])), OURS, version)

    assert received == core.UnknownPartitionRequest(cluster_id="c"), "the cluster is judged first"


@every_request
def test_request_about_our_partition_is_ours(request_: core.OutgoingRequest, version: int) -> None:
    received = request_from_wire(request_to_wire(request_, OURS, version), OURS, version)

    assert type(received) is type(request_)


@pytest.mark.parametrize("version", range(FETCH.versions.lowest, 12))
@pytest.mark.rule("COMPAT-3")
def test_fetch_of_a_replica_below_version_12_is_refused(version: int) -> None:
    message: Any = request_to_wire(REQUESTS[3][0], OURS, 12)

    received = FETCH_MAPPING.request_from_wire(message, OURS, version)

    assert received == core.UnknownPartitionRequest(cluster_id="c")


@pytest.mark.rule("COMPAT-3")
def test_fetch_of_version_12_goes_by_name_and_of_version_13_by_id() -> None:
    other_id = mapping.TopicPartition(topic_name=OURS.topic_name, topic_id=DIRECTORY)
    other_name = mapping.TopicPartition(topic_name="other", topic_id=OURS.topic_id)
    asked = REQUESTS[3][0]

    by_name = [request_from_wire(request_to_wire(asked, theirs, 12), OURS, 12) for theirs in (other_id, other_name)]
    by_id = [request_from_wire(request_to_wire(asked, theirs, 13), OURS, 13) for theirs in (other_id, other_name)]

    assert [type(received) for received in by_name] == [core.FetchRequest, core.UnknownPartitionRequest]
    assert [type(received) for received in by_id] == [core.UnknownPartitionRequest, core.FetchRequest]


@pytest.mark.parametrize(
    ("version", "old_field", "new_field", "replica"),
    [(14, 5, -1, 5), (14, -1, -1, None), (14, -2, -1, None), (15, -1, 5, 5), (15, -1, -1, None), (4, 0, -1, 0)],
)
def test_replica_id_is_in_the_field_of_its_version(
    version: int, old_field: int, new_field: int, replica: int | None
) -> None:
    message = fetch.FetchRequest(
        replica_id=old_field,
        replica_state=fetch.FetchReplicaState(replica_id=new_field),
        max_wait_ms=0,
        min_bytes=0,
        topics=(),
    )

    assert fetching_replica(message, version) == replica


def test_client_is_no_replica() -> None:
    message = fetch.FetchRequest(max_wait_ms=0, min_bytes=0, topics=())

    with pytest.raises(AssertionError, match="is read by client_fetch_from_wire"):
        FETCH_MAPPING.request_from_wire(message, OURS, 12)


def test_value_is_unknown_when_a_client_does_not_send_it() -> None:
    partition = fetch.FetchRequestPartition(partition=0, fetch_offset=7, partition_max_bytes=100)
    message = fetch.FetchRequest(max_wait_ms=-1, min_bytes=0, max_bytes=50, topics=())

    assert client_fetch_from_wire(message, partition) == core.ClientFetchRequest(
        fetch_offset=Offset(7), max_wait_ms=0, max_bytes=50, epoch=None, last_fetched_epoch=None
    )


def test_client_fetch_has_the_smaller_of_two_sizes_and_its_epochs() -> None:
    partition = fetch.FetchRequestPartition(
        partition=0, fetch_offset=7, partition_max_bytes=10, current_leader_epoch=0, last_fetched_epoch=4
    )
    message = fetch.FetchRequest(max_wait_ms=9, min_bytes=0, max_bytes=50, topics=())

    assert client_fetch_from_wire(message, partition) == core.ClientFetchRequest(
        fetch_offset=Offset(7), max_wait_ms=9, max_bytes=10, epoch=Epoch(0), last_fetched_epoch=Epoch(4)
    )


@pytest.mark.parametrize("version", [4, 11])
def test_response_has_no_field_that_the_clients_version_lacks(version: int) -> None:
    response = core.FetchResponse(
        leader=LeaderAndEpoch(epoch=Epoch(3), leader_id=NodeId(1)),
        diverging=OffsetAndEpoch(epoch=Epoch(2), offset=Offset(9)),
    )

    partition = fetch_partition_to_wire(response, b"", version)

    assert partition.current_leader == LeaderIdAndEpoch()
    assert partition.diverging_epoch == fetch.EpochEndOffset()
    assert (partition.high_watermark, partition.last_stable_offset) == (-1, -1)
    assert partition.records == b"", "empty, never null (FETCH-10)"
    assert fetch_endpoints_to_wire(response.leader, version) == ()


@pytest.mark.parametrize(
    ("end", "epoch", "is_set"), [(-1, -1, False), (-1, 0, False), (0, -1, False), (0, 0, True), (9, 2, True)]
)
@pytest.mark.rule("FETCH-23")
def test_divergence_and_snapshot_are_set_when_both_parts_are(end: int, epoch: int, is_set: bool) -> None:
    partition = fetch.FetchResponsePartition(
        partition_index=0,
        error_code=0,
        high_watermark=-1,
        log_start_offset=-1,
        diverging_epoch=fetch.EpochEndOffset(epoch=epoch, end_offset=end),
        snapshot_id=SnapshotId(end_offset=end, epoch=epoch),
        records=None,
    )
    topic = fetch.FetchResponseTopic(partitions=(partition,))

    received = response_from_wire(fetch.FetchResponse(responses=(topic,)))

    point = OffsetAndEpoch(epoch=Epoch(epoch), offset=Offset(end)) if is_set else None
    assert received == core.FetchResponse(leader=LeaderAndEpoch(epoch=Epoch(-1)), diverging=point, snapshot=point)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(VoteResponse(error_code=0, topics=()), id="Vote"),
        pytest.param(BeginQuorumEpochResponse(error_code=0, topics=()), id="BeginQuorumEpoch"),
        pytest.param(EndQuorumEpochResponse(error_code=0, topics=()), id="EndQuorumEpoch"),
        pytest.param(fetch.FetchResponse(responses=()), id="Fetch"),
    ],
)
def test_response_is_refused_without_a_partition_and_an_error(message: Message) -> None:
    with pytest.raises(DecodeError, match="a response with 0 partitions, expected 1"):
        response_from_wire(message)


def test_minus_one_stands_for_unknown_on_the_wire() -> None:
    assert [mapping.node_or_none(number) for number in (-2, -1, 0)] == [None, None, NodeId(0)]
    assert [mapping.offset_or_none(number) for number in (-1, 0, INT64_MAX)] == [None, Offset(0), Offset(INT64_MAX)]
    assert [mapping.epoch_or_none(number) for number in (-1, 0)] == [None, Epoch(0)]
    assert [mapping.or_minus_one(number) for number in (None, 0, 7)] == [-1, 0, 7]


@pytest.mark.parametrize(("text", "known"), [(ZERO_UUID, None), (DIRECTORY, DIRECTORY)])
def test_zero_uuid_stands_for_no_directory_on_the_wire(text: Uuid, known: Uuid | None) -> None:
    key = mapping.replica_key(3, text)

    assert key == ReplicaKey(NodeId(3), known)
    assert mapping.directory_uuid(key) == text
    assert mapping.addressee(3, text) == key
    assert mapping.addressee(-1, text) is None
