"""Responses between nodes whose records or snapshots are damaged on their way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from raft.codec import Message as WireMessage
from raft.core.messages import FetchRequest, OutgoingRequest
from raft.wire.messages.fetch import FetchResponse
from raft.wire.messages.fetch_snapshot import FetchSnapshotResponse
from tests.simulation.network import Network


def damaged(response: WireMessage, request: OutgoingRequest | None, network: Network) -> WireMessage:
    """Return a response as it arrives: one to another node may have damaged records, or a damaged snapshot.

    Args:
        response: the response.
        request: the request of a node; None for a client.
        network: decides about the damage.
    """
    if isinstance(response, FetchSnapshotResponse):
        return _with_damaged_snapshot(response, network)
    if not isinstance(request, FetchRequest) or not isinstance(response, FetchResponse):
        return response
    before = [[partition.records for partition in topic.partitions] for topic in response.responses]
    after = [[network.damaged(records) if records else records for records in topic] for topic in before]
    return response if after == before else _with_records(response, after)


def _with_damaged_snapshot(response: FetchSnapshotResponse, network: Network) -> FetchSnapshotResponse:
    """Return a response with a piece of a snapshot; the first piece may be damaged."""
    pieces = [(topic, partition) for topic in response.topics for partition in topic.partitions]
    if not pieces:
        return response
    ((topic, partition),) = pieces
    piece = partition.unaligned_records
    if not piece or partition.position:
        return response
    damaged_piece = replace(partition, unaligned_records=network.damaged_snapshot(piece))
    return replace(response, topics=(replace(topic, partitions=(damaged_piece,)),))


def _with_records(response: FetchResponse, records: Sequence[Sequence[bytes | None]]) -> FetchResponse:
    """Return a response with other records, given by topic and partition."""
    topics = tuple(
        replace(
            topic,
            partitions=tuple(
                replace(partition, records=content)
                for partition, content in zip(topic.partitions, of_topic, strict=True)
            ),
        )
        for topic, of_topic in zip(response.responses, records, strict=True)
    )
    return replace(response, responses=topics)
