"""Values of fields that a version lacks: refused or dropped, field by field as Kafka does (COMPAT-2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from raft.codec import Message, encode
from raft.codec.schema import Array, Field, Struct, Structure
from raft.errors import LocalProtocolError
from tests.codec.samples import sample, sample_value
from tests.wire.catalog import CONTROL_MESSAGES, PAYLOADS, every_edition

REFUSED = {
    "ProduceResponse.responses.partition_responses.current_leader",
    "ProduceResponse.node_endpoints",
    "FetchRequest.replica_id",
    "FetchRequest.replica_state",
    "FetchRequest.topics.partitions.last_fetched_epoch",
    "FetchRequest.forgotten_topics_data",
    "FetchResponse.session_id",
    "FetchResponse.responses.partitions.diverging_epoch",
    "FetchResponse.responses.partitions.current_leader",
    "FetchResponse.responses.partitions.snapshot_id",
    "FetchResponse.responses.partitions.preferred_read_replica",
    "FetchResponse.node_endpoints",
    "ListOffsetsRequest.isolation_level",
    "ListOffsetsResponse.topics.partitions.leader_epoch",
    "MetadataRequest.allow_auto_topic_creation",
    "MetadataRequest.include_cluster_authorized_operations",
    "MetadataRequest.include_topic_authorized_operations",
    "MetadataResponse.topics.topic_authorized_operations",
    "MetadataResponse.cluster_authorized_operations",
    "FindCoordinatorRequest.key",
    "FindCoordinatorRequest.key_type",
    "FindCoordinatorRequest.coordinator_keys",
    "FindCoordinatorResponse.coordinators",
    "InitProducerIdRequest.producer_id",
    "InitProducerIdRequest.producer_epoch",
    "InitProducerIdRequest.enable_2pc",
    "InitProducerIdRequest.keep_prepared_txn",
    "InitProducerIdResponse.ongoing_txn_producer_id",
    "InitProducerIdResponse.ongoing_txn_producer_epoch",
    "ListTransactionsRequest.duration_filter",
    "VoteRequest.topics.partitions.pre_vote",
    "VoteResponse.node_endpoints",
    "BeginQuorumEpochResponse.node_endpoints",
    "EndQuorumEpochResponse.node_endpoints",
    "DescribeQuorumResponse.topics.partitions.current_voters.replica_directory_id",
    "DescribeQuorumResponse.topics.partitions.observers.replica_directory_id",
    "DescribeQuorumResponse.nodes",
    "FetchSnapshotResponse.node_endpoints",
    "DescribeClusterRequest.endpoint_type",
    "DescribeClusterRequest.include_fenced_brokers",
    "DescribeClusterResponse.endpoint_type",
    "DescribeClusterResponse.brokers.is_fenced",
    "LeaderChangeMessage.voters.voter_directory_id",
    "LeaderChangeMessage.granting_voters.voter_directory_id",
}
"""The fields that Kafka's files do not call ignorable, of those that some version of ours lacks."""


def lacking(description: Struct, version: int, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Field]]:
    """The fields that a version lacks, with the names that lead to them, but not what is inside such a field."""
    for field in description.fields:
        here = (*path, field.name)
        if version not in field.versions:
            yield here, field
            continue
        inner = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(inner, Structure):
            yield from lacking(inner.struct, version, here)


def with_value(message: Any, path: tuple[str, ...], value: object) -> Any:
    """The message with another value in the field that the names lead to; in arrays, in the first element."""
    name, *rest = path
    if rest:
        inner = getattr(message, name)
        is_array = isinstance(inner, tuple)
        changed = with_value(inner[0] if is_array else inner, tuple(rest), value)
        value = (changed, *inner[1:]) if is_array else changed
    return replace(message, **{name: value})


def test_fields_that_may_not_be_dropped_are_those_of_kafka() -> None:
    declared = {
        ".".join((message_class.__name__, *path))
        for message_class in PAYLOADS + CONTROL_MESSAGES
        for version in message_class.__schema__.versions
        for path, field in lacking(message_class.__struct__, version)
        if not field.ignorable
    }

    assert declared == REFUSED


@pytest.mark.rule("COMPAT-2")
@every_edition
def test_value_of_a_field_that_the_version_lacks_is_refused_or_dropped(
    message_class: type[Message], version: int
) -> None:
    plain = sample(message_class, version)

    for path, field in lacking(message_class.__struct__, version):
        message = with_value(plain, path, sample_value(field, message_class.__schema__.versions.highest))
        if ".".join((message_class.__name__, *path)) in REFUSED:
            with pytest.raises(
                LocalProtocolError, match=f"{message_class.__name__} v{version}: {'.'.join(path)}: this"
            ):
                encode(message, version)
        else:
            assert encode(message, version) == encode(plain, version)
