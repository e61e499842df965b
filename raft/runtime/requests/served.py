"""The APIs that a node serves: for each its handler, who may send it, and how it is refused.

The operation that a request needs, and the error code of its refusal, are those of Kafka's brokers and controllers.
Every caller gets the addresses of the nodes, as in Kafka, but only who may describe the topic sees it (`metadata.py`).
SaslHandshake and SaslAuthenticate are handled before all others (`authentication.py`).

Source: Kafka's KafkaApis, ControllerApis and AuthHelper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from raft.codec import Message
from raft.errors import ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.requests.coordinators import find_coordinator, join_group, refuse_find_coordinator, right_to_find
from raft.runtime.requests.describe_quorum import describe_quorum
from raft.runtime.requests.describe_transactions import describe_producers, describe_transactions, list_transactions
from raft.runtime.requests.fetch import client_fetch
from raft.runtime.requests.fetch_snapshot import fetch_snapshot
from raft.runtime.requests.metadata import describe_cluster, metadata
from raft.runtime.requests.offsets import list_offsets, offset_for_leader_epoch
from raft.runtime.requests.produce import produce, refuse_produce
from raft.runtime.requests.refusals import Refuse, at_top, in_each
from raft.runtime.requests.replica_fetch import replica_fetch
from raft.runtime.requests.to_core import to_core
from raft.runtime.requests.transactions import (
    add_partitions_to_txn,
    end_txn,
    init_producer_id,
    refuse_init_producer_id,
    write_txn_markers,
)
from raft.runtime.requests.update_raft_voter import update_raft_voter
from raft.runtime.requests.versions import api_versions
from raft.security.operations import Operation
from raft.types import NodeId
from raft.wire import apis
from raft.wire.apis import Api
from raft.wire.mapping.fetches import FETCH, fetching_replica
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from raft.wire.messages.fetch import FetchRequest
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest
from raft.wire.messages.update_raft_voter import UpdateRaftVoterRequest
from raft.wire.messages.vote import VoteRequest

AnyRequest = TypeVar("AnyRequest", bound=Message)

_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_TRANSACTIONAL_ID = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_REFUSE = at_top(_CLUSTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served(Generic[AnyRequest]):
    """How a node serves one API.

    Fields:
        api: the API.
        handle: responds to a request, now or later; or returns its response.
        right: the operation that the rules have to allow; None for none. A function finds it for each request.
        refuse: the response to a client that may not send the request.
        senders: returns the nodes in whose names a request is; None for one that is of a client.
        refuse_node: the response to a node that may not send the request.
        is_for_observers: whether nodes that are not voters send it, too.
    """

    api: Api[AnyRequest, Any]
    handle: Callable[[Context, Request[AnyRequest]], Message | None]
    right: Operation | Callable[[AnyRequest], Operation | None] | None = None
    refuse: Refuse[AnyRequest] = _REFUSE
    senders: Callable[[AnyRequest, int], set[NodeId] | None] | None = None
    refuse_node: Refuse[AnyRequest] = _REFUSE
    is_for_observers: bool = False

    def right_for(self, message: AnyRequest) -> Operation | None:
        """Return the operation that a request of a client needs; None for a request that everyone may send."""
        return self.right(message) if callable(self.right) else self.right

    def senders_of(self, request: Request[AnyRequest]) -> set[NodeId] | None:
        """Return the nodes in whose names a request is; None for one that is of a client."""
        return None if self.senders is None else self.senders(request.message, request.version)


def _fetch(context: Context, request: Request[FetchRequest]) -> None:
    is_of_client = fetching_replica(request.message, request.version) is None
    (client_fetch if is_of_client else replica_fetch)(context, request)


def _fetching(message: FetchRequest, version: int) -> set[NodeId] | None:
    replica = fetching_replica(message, version)
    return None if replica is None else {replica}


def _refuse_fetching_node(message: FetchRequest, version: int) -> Message:
    return FETCH.refusal_to_wire(message, _CLUSTER, version)


def _loading(message: FetchSnapshotRequest, _version: int) -> set[NodeId]:
    return {NodeId(message.replica_id)}


def _candidates(message: VoteRequest, _version: int) -> set[NodeId]:
    return {NodeId(each.replica_id) for topic in message.topics for each in topic.partitions}


def _leaders(message: BeginQuorumEpochRequest | EndQuorumEpochRequest, _version: int) -> set[NodeId]:
    return {NodeId(each.leader_id) for topic in message.topics for each in topic.partitions}


def _updated(message: UpdateRaftVoterRequest, _version: int) -> set[NodeId]:
    return {NodeId(message.voter_id)}


_ALL: tuple[Served[Any], ...] = (
    Served(api=apis.PRODUCE, handle=produce, right=Operation.APPEND, refuse=refuse_produce),
    Served(
        api=apis.FETCH,
        handle=_fetch,
        right=Operation.READ,
        refuse=in_each(_TOPIC),
        senders=_fetching,
        refuse_node=_refuse_fetching_node,
        is_for_observers=True,
    ),
    Served(api=apis.LIST_OFFSETS, handle=list_offsets, right=Operation.READ, refuse=in_each(_TOPIC)),
    Served(
        api=apis.OFFSET_FOR_LEADER_EPOCH, handle=offset_for_leader_epoch, right=Operation.READ, refuse=in_each(_TOPIC)
    ),
    Served(api=apis.METADATA, handle=metadata),
    Served(api=apis.API_VERSIONS, handle=api_versions),
    Served(api=apis.FIND_COORDINATOR, handle=find_coordinator, right=right_to_find, refuse=refuse_find_coordinator),
    Served(api=apis.JOIN_GROUP, handle=join_group),
    Served(api=apis.INIT_PRODUCER_ID, handle=init_producer_id, right=Operation.APPEND, refuse=refuse_init_producer_id),
    Served(
        api=apis.ADD_PARTITIONS_TO_TXN,
        handle=add_partitions_to_txn,
        right=Operation.APPEND,
        refuse=in_each(_TRANSACTIONAL_ID),
    ),
    Served(api=apis.END_TXN, handle=end_txn, right=Operation.APPEND, refuse=at_top(_TRANSACTIONAL_ID)),
    Served(api=apis.WRITE_TXN_MARKERS, handle=write_txn_markers, right=Operation.APPEND, refuse=in_each(_CLUSTER)),
    Served(api=apis.VOTE, handle=to_core, senders=_candidates),
    Served(api=apis.BEGIN_QUORUM_EPOCH, handle=to_core, senders=_leaders),
    Served(api=apis.END_QUORUM_EPOCH, handle=to_core, senders=_leaders),
    Served(api=apis.FETCH_SNAPSHOT, handle=fetch_snapshot, senders=_loading, is_for_observers=True),
    Served(api=apis.UPDATE_RAFT_VOTER, handle=update_raft_voter, senders=_updated),
    Served(api=apis.DESCRIBE_QUORUM, handle=describe_quorum, right=Operation.DESCRIBE),
    Served(api=apis.DESCRIBE_CLUSTER, handle=describe_cluster),
    Served(api=apis.DESCRIBE_PRODUCERS, handle=describe_producers, right=Operation.DESCRIBE, refuse=in_each(_TOPIC)),
    Served(
        api=apis.DESCRIBE_TRANSACTIONS,
        handle=describe_transactions,
        right=Operation.DESCRIBE,
        refuse=in_each(_TRANSACTIONAL_ID),
    ),
    Served(api=apis.LIST_TRANSACTIONS, handle=list_transactions, right=Operation.DESCRIBE),
)

SERVED = {served.api.request: served for served in _ALL}
"""How each request is served, by its class."""
