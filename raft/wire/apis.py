"""The table of APIs: for each key its messages, the versions that a node serves, and the versions of their headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from raft.codec import Message, Versions
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from raft.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from raft.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from raft.wire.messages.describe_transactions import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from raft.wire.messages.fetch import FetchRequest, FetchResponse
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from raft.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from raft.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from raft.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from raft.wire.messages.produce import ProduceRequest, ProduceResponse
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from raft.wire.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
)
from raft.wire.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from raft.wire.messages.vote import VoteRequest, VoteResponse
from raft.wire.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Api(Generic[Request, Response]):
    """One API.

    Fields:
        name: the name of the API in Kafka.
        request, response: the messages.
        lowest_announced_version: the lowest version in ApiVersions responses; None if it is the lowest that is served.
    """

    name: str
    request: type[Request]
    response: type[Response]
    lowest_announced_version: int | None = None

    @property
    def key(self) -> int:
        """The API key."""
        key = self.request.__schema__.api_key
        assert key is not None, "a request has an API key"
        return key

    @property
    def versions(self) -> Versions:
        """The versions that can be decoded and encoded."""
        return self.request.__schema__.versions

    @property
    def announced_versions(self) -> Versions:
        """The versions in ApiVersions responses."""
        if self.lowest_announced_version is None:
            return self.versions
        return Versions(self.lowest_announced_version, self.versions.highest)

    def request_header_version(self, version: int) -> int:
        """Return the version of the header of a request of this version."""
        return 2 if version in self.request.__schema__.flexible else 1

    def response_header_version(self, version: int) -> int:
        """Return the version of the header of a response of this version."""
        # A client must be able to decode the response to ApiVersions in a version that the node does not support.
        is_flexible = version in self.response.__schema__.flexible and self.response is not ApiVersionsResponse
        return 1 if is_flexible else 0


PRODUCE = Api(
    name="Produce",
    request=ProduceRequest,
    response=ProduceResponse,
    # If these obsolete versions are missing, librdkafka assumes that the node has no record batches (KAFKA-18659).
    lowest_announced_version=0,
)
FETCH = Api(name="Fetch", request=FetchRequest, response=FetchResponse)
LIST_OFFSETS = Api(name="ListOffsets", request=ListOffsetsRequest, response=ListOffsetsResponse)
METADATA = Api(name="Metadata", request=MetadataRequest, response=MetadataResponse)
SASL_HANDSHAKE = Api(name="SaslHandshake", request=SaslHandshakeRequest, response=SaslHandshakeResponse)
SASL_AUTHENTICATE = Api(name="SaslAuthenticate", request=SaslAuthenticateRequest, response=SaslAuthenticateResponse)
API_VERSIONS = Api(name="ApiVersions", request=ApiVersionsRequest, response=ApiVersionsResponse)
FIND_COORDINATOR = Api(name="FindCoordinator", request=FindCoordinatorRequest, response=FindCoordinatorResponse)
JOIN_GROUP = Api(name="JoinGroup", request=JoinGroupRequest, response=JoinGroupResponse)
INIT_PRODUCER_ID = Api(name="InitProducerId", request=InitProducerIdRequest, response=InitProducerIdResponse)
OFFSET_FOR_LEADER_EPOCH = Api(
    name="OffsetForLeaderEpoch", request=OffsetForLeaderEpochRequest, response=OffsetForLeaderEpochResponse
)
ADD_PARTITIONS_TO_TXN = Api(
    name="AddPartitionsToTxn", request=AddPartitionsToTxnRequest, response=AddPartitionsToTxnResponse
)
END_TXN = Api(name="EndTxn", request=EndTxnRequest, response=EndTxnResponse)
WRITE_TXN_MARKERS = Api(name="WriteTxnMarkers", request=WriteTxnMarkersRequest, response=WriteTxnMarkersResponse)
VOTE = Api(name="Vote", request=VoteRequest, response=VoteResponse)
BEGIN_QUORUM_EPOCH = Api(name="BeginQuorumEpoch", request=BeginQuorumEpochRequest, response=BeginQuorumEpochResponse)
END_QUORUM_EPOCH = Api(name="EndQuorumEpoch", request=EndQuorumEpochRequest, response=EndQuorumEpochResponse)
DESCRIBE_QUORUM = Api(name="DescribeQuorum", request=DescribeQuorumRequest, response=DescribeQuorumResponse)
FETCH_SNAPSHOT = Api(name="FetchSnapshot", request=FetchSnapshotRequest, response=FetchSnapshotResponse)
DESCRIBE_CLUSTER = Api(name="DescribeCluster", request=DescribeClusterRequest, response=DescribeClusterResponse)
DESCRIBE_PRODUCERS = Api(name="DescribeProducers", request=DescribeProducersRequest, response=DescribeProducersResponse)
DESCRIBE_TRANSACTIONS = Api(
    name="DescribeTransactions", request=DescribeTransactionsRequest, response=DescribeTransactionsResponse
)
LIST_TRANSACTIONS = Api(name="ListTransactions", request=ListTransactionsRequest, response=ListTransactionsResponse)
UPDATE_RAFT_VOTER = Api(name="UpdateRaftVoter", request=UpdateRaftVoterRequest, response=UpdateRaftVoterResponse)

_ALL: tuple[Api[Any, Any], ...] = (
    PRODUCE,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    SASL_HANDSHAKE,
    API_VERSIONS,
    SASL_AUTHENTICATE,
    FIND_COORDINATOR,
    JOIN_GROUP,
    INIT_PRODUCER_ID,
    OFFSET_FOR_LEADER_EPOCH,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    WRITE_TXN_MARKERS,
    VOTE,
    BEGIN_QUORUM_EPOCH,
    END_QUORUM_EPOCH,
    DESCRIBE_QUORUM,
    FETCH_SNAPSHOT,
    DESCRIBE_CLUSTER,
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    LIST_TRANSACTIONS,
    UPDATE_RAFT_VOTER,
)

APIS: Mapping[int, Api[Any, Any]] = MappingProxyType({api.key: api for api in _ALL})
"""Every API by its key."""


def api_of(message: Message) -> Api[Any, Any]:
    """Return the API of a request or a response."""
    key = message.__schema__.api_key
    assert key is not None, "only requests and responses have an API key"
    return APIS[key]
