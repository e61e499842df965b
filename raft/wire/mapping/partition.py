"""The partition that a node hosts, and the values of messages that may be unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from raft.errors import DecodeError
from raft.types import ZERO_UUID, Epoch, NodeId, Offset, ReplicaKey, Uuid

INDEX = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartition:
    """A partition of a topic with a name and an id. A node has partition 0 of its topic."""

    topic_name: str
    topic_id: Uuid
    index: int = INDEX


Part = TypeVar("Part")
PartOf = TypeVar("PartOf", covariant=True)


class TopicOf(Protocol[PartOf]):
    """A topic of a message, with its partitions."""

    @property
    def partitions(self) -> tuple[PartOf, ...]:
        """The partitions."""
        ...


class NamedTopicOf(TopicOf[PartOf], Protocol[PartOf]):
    """A topic of a message, identified by its name."""

    @property
    def topic_name(self) -> str:
        """The name."""
        ...


class IndexedPartition(Protocol):
    """A partition of a message."""

    @property
    def partition_index(self) -> int:
        """The partition number."""
        ...


Indexed = TypeVar("Indexed", bound=IndexedPartition)


def only_partition(topics: Sequence[NamedTopicOf[Indexed]], ours: TopicPartition) -> Indexed | None:
    """Return our partition in a request; None if the request names another partition, or several (GEN-2)."""
    if len(topics) != 1 or topics[0].topic_name != ours.topic_name or len(topics[0].partitions) != 1:
        return None
    (partition,) = topics[0].partitions
    return partition if partition.partition_index == INDEX else None


def sole_partition(topics: Sequence[TopicOf[Part]]) -> Part:
    """Return the partition in the topics of a response. Our requests name exactly one.

    Raises:
        DecodeError: there is not exactly one.
    """
    return sole([partition for topic in topics for partition in topic.partitions])


def sole(partitions: Sequence[Part]) -> Part:
    """Return the partition of a response. Our requests name exactly one.

    Raises:
        DecodeError: there is not exactly one.
    """
    if len(partitions) != 1:
        raise DecodeError(f"received a response with {len(partitions)} partitions, expected 1")
    return partitions[0]


def node_or_none(number: int) -> NodeId | None:
    """Return a node id; None for -1."""
    return NodeId(number) if number >= 0 else None


def offset_or_none(number: int) -> Offset | None:
    """Return an offset; None for -1."""
    return Offset(number) if number >= 0 else None


def epoch_or_none(number: int) -> Epoch | None:
    """Return an epoch; None for -1."""
    return Epoch(number) if number >= 0 else None


def or_minus_one(number: int | None) -> int:
    """Return a number; -1 for None."""
    return -1 if number is None else number


def replica_key(node_id: int, directory_id: Uuid) -> ReplicaKey:
    """Return a replica key; the zero uuid stands for no directory id."""
    return ReplicaKey(NodeId(node_id), None if directory_id == ZERO_UUID else directory_id)


def addressee(node_id: int, directory_id: Uuid) -> ReplicaKey | None:
    """Return the replica that a request is addressed to; None if the request does not name it."""
    return None if node_id == -1 else replica_key(node_id, directory_id)


def directory_uuid(key: ReplicaKey) -> Uuid:
    """Return the directory id of a replica key; the zero uuid for None."""
    return key.directory_id or ZERO_UUID
