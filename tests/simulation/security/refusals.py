"""Which requests the rules refuse, with which error and why: the simulator's own model (ACL-2 to ACL-5)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import NamedTuple

from raft.codec import Message
from raft.errors import ErrorCode
from raft.types import NodeId
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from raft.wire.messages.describe_quorum import DescribeQuorumRequest
from raft.wire.messages.describe_transactions import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from raft.wire.messages.fetch import FetchRequest
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest
from raft.wire.messages.find_coordinator import TRANSACTION, FindCoordinatorRequest
from raft.wire.messages.init_producer_id import InitProducerIdRequest
from raft.wire.messages.list_offsets import ListOffsetsRequest
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from raft.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from raft.wire.messages.produce import ProduceRequest
from raft.wire.messages.transactions import AddPartitionsToTxnRequest, EndTxnRequest
from raft.wire.messages.update_raft_voter import UpdateRaftVoterRequest
from raft.wire.messages.vote import VoteRequest
from raft.wire.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.simulation.security.rights import Permissions, Right

TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
TRANSACTIONAL_ID = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
REFUSALS = frozenset((TOPIC, CLUSTER, TRANSACTIONAL_ID))

_FIRST_WITH_REPLICA_STATE = 15
_NAMES: dict[type[Message], tuple[str, ...]] = {}
"""The names of the fields of each message; `dataclasses.fields` is slow."""

_NEEDED: Mapping[type[Message], tuple[Right, ErrorCode]] = {
    FetchRequest: (Right.READ, TOPIC),
    ListOffsetsRequest: (Right.READ, TOPIC),
    OffsetForLeaderEpochRequest: (Right.READ, TOPIC),
    ProduceRequest: (Right.APPEND, TOPIC),
    InitProducerIdRequest: (Right.APPEND, TRANSACTIONAL_ID),
    AddPartitionsToTxnRequest: (Right.APPEND, TRANSACTIONAL_ID),
    EndTxnRequest: (Right.APPEND, TRANSACTIONAL_ID),
    WriteTxnMarkersRequest: (Right.APPEND, CLUSTER),
    FindCoordinatorRequest: (Right.APPEND, TRANSACTIONAL_ID),
    DescribeQuorumRequest: (Right.DESCRIBE, CLUSTER),
    DescribeProducersRequest: (Right.DESCRIBE, TOPIC),
    DescribeTransactionsRequest: (Right.DESCRIBE, TRANSACTIONAL_ID),
    ListTransactionsRequest: (Right.DESCRIBE, CLUSTER),
    MetadataRequest: (Right.DESCRIBE, TOPIC),
}
"""The right that a request needs, and the error without it."""


NEEDS_A_RIGHT: tuple[type[Message], ...] = (
    *_NEEDED,
    VoteRequest,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    UpdateRaftVoterRequest,
)
"""The requests that are refused to a client without any right."""


class Reason(StrEnum):
    """Why the rules refuse a request."""

    NO_READ = "a client that may not read"
    NO_APPEND = "a client that may not append"
    NO_DESCRIBE = "a client that may not describe"
    CLIENT_AS_VOTER = "a client in the name of a voter"
    CLIENT_AS_OBSERVER = "a client in the name of an observer"
    OTHER_VOTER = "a voter in the name of another one"
    OBSERVER_AS_VOTER = "an observer in the name of a voter"
    SUPER_USER_AS_VOTER = "a super user in the name of a voter that has its own user"


class Refusal(NamedTuple):
    """A request that the rules refuse, with the error that its response has."""

    error: ErrorCode
    reason: Reason


_WITHOUT = {Right.READ: Reason.NO_READ, Right.APPEND: Reason.NO_APPEND, Right.DESCRIBE: Reason.NO_DESCRIBE}


def refusal_of(
    message: Message, version: int, *, user: str, permissions: Permissions, voters: Collection[NodeId]
) -> Refusal | None:
    """Return how the rules refuse a request; None if the user may send it."""
    replica = replica_named(message, version)
    if replica is not None:
        # Only a voter votes, leads and resigns; other nodes only fetch.
        is_voter = replica in voters or not isinstance(message, FetchRequest | FetchSnapshotRequest)
        if permissions.may_speak_as(user, replica, is_voter=is_voter):
            return None
        return Refusal(CLUSTER, _reason_of(user, permissions, is_voter=is_voter))
    if type(message) not in _NEEDED:
        return None
    right, error = _NEEDED[type(message)]
    match message:
        case InitProducerIdRequest(transactional_id=None):
            error = CLUSTER
        case FindCoordinatorRequest(key_type=key_type) if key_type != TRANSACTION:
            return None
        case _:
            pass
    return None if permissions.may(user, right) else Refusal(error, _WITHOUT[right])


def replica_named(message: Message, version: int) -> NodeId | None:
    """Return the replica in whose name a request is; None for a request of a client."""
    match message:
        case VoteRequest():
            return NodeId(message.topics[0].partitions[0].replica_id)
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            return NodeId(message.topics[0].partitions[0].leader_id)
        case UpdateRaftVoterRequest(voter_id=replica) | FetchSnapshotRequest(replica_id=replica):
            return NodeId(replica)
        case FetchRequest():
            is_new = version >= _FIRST_WITH_REPLICA_STATE
            replica = message.replica_state.replica_id if is_new else message.replica_id
            return NodeId(replica) if replica >= 0 else None
        case _:
            return None


def errors_in(response: Message) -> Iterator[int]:
    """Yield all error codes in a response, also those that say that there is no error."""
    for name, value in _values_in(response):
        if name.endswith("error_code"):
            assert isinstance(value, int), "an error code is a number"
            yield value


def what_is_revealed_by(response: Message) -> str | None:
    """Return what a refusal says about the log: an offset, a time, records or the topic; None if it says nothing."""
    for name, value in _values_in(response):
        is_number = "offset" in name or "watermark" in name or "timestamp" in name
        if is_number and isinstance(value, int) and value != -1:
            return f"{name}={value}"
        if isinstance(value, bytes) and value:
            return f"{len(value)} bytes of {name}"
    if isinstance(response, MetadataResponse):
        for topic in response.topics:
            if topic.error_code != TOPIC or topic.partitions:
                return f"topic {topic.name}"
    return None


def _values_in(message: Message) -> Iterator[tuple[str, object]]:
    for name in _field_names(type(message)):
        value = getattr(message, name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Message):
                yield from _values_in(each)
            else:
                yield name, each


def _field_names(kind: type[Message]) -> tuple[str, ...]:
    if kind not in _NAMES:
        _NAMES[kind] = tuple(field.name for field in fields(kind))
    return _NAMES[kind]


def _reason_of(user: str, permissions: Permissions, *, is_voter: bool) -> Reason:
    if not is_voter:
        return Reason.CLIENT_AS_OBSERVER
    if user in permissions.super_users:
        return Reason.SUPER_USER_AS_VOTER
    if user in permissions.voters.values():
        return Reason.OTHER_VOTER
    return Reason.OBSERVER_AS_VOTER if user in permissions.observers else Reason.CLIENT_AS_VOTER
