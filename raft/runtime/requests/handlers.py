"""Calls the handler of each request."""

from __future__ import annotations

from raft.codec import Message
from raft.core.effects import SendResponse
from raft.core.events import RequestReceived
from raft.core.messages import AppendResponse
from raft.runtime.caller import Caller
from raft.runtime.requests.allowed import is_allowed
from raft.runtime.requests.authentication import is_authenticated
from raft.runtime.requests.context import Context
from raft.runtime.requests.coordinators import find_coordinator, join_group
from raft.runtime.requests.describe_quorum import describe_quorum, relayed
from raft.runtime.requests.describe_transactions import describe_producers, describe_transactions, list_transactions
from raft.runtime.requests.fetch import client_fetch
from raft.runtime.requests.fetch_snapshot import fetch_snapshot
from raft.runtime.requests.metadata import describe_cluster, metadata
from raft.runtime.requests.offsets import list_offsets, offset_for_leader_epoch
from raft.runtime.requests.produce import produce
from raft.runtime.requests.relay import is_relayed
from raft.runtime.requests.replica_fetch import replica_fetch
from raft.runtime.requests.transactions import add_partitions_to_txn, end_txn, init_producer_id, write_txn_markers
from raft.runtime.requests.update_raft_voter import update_raft_voter
from raft.runtime.requests.versions import api_versions
from raft.runtime.respond import Respond
from raft.wire.frames import ReceivedRequest
from raft.wire.mapping.fetches import fetching_replica
from raft.wire.mapping.replica_messages import request_from_wire, response_to_wire
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.describe_cluster import DescribeClusterRequest
from raft.wire.messages.describe_quorum import DescribeQuorumRequest
from raft.wire.messages.describe_transactions import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from raft.wire.messages.fetch import FetchRequest
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest
from raft.wire.messages.find_coordinator import FindCoordinatorRequest
from raft.wire.messages.init_producer_id import InitProducerIdRequest
from raft.wire.messages.join_group import JoinGroupRequest
from raft.wire.messages.list_offsets import ListOffsetsRequest
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from raft.wire.messages.produce import ProduceRequest
from raft.wire.messages.transactions import AddPartitionsToTxnRequest, EndTxnRequest
from raft.wire.messages.update_raft_voter import UpdateRaftVoterRequest
from raft.wire.messages.write_txn_markers import WriteTxnMarkersRequest


def handle(context: Context, caller: Caller, received: ReceivedRequest, respond: Respond) -> None:
    """Begin a request, if its caller may send it. Its handler calls `respond` now or later."""
    message, version = received.message, received.header.request_api_version
    if is_authenticated(context, caller, message, version, respond) and is_allowed(
        context, caller, message, version, respond
    ):
        _begin(context, caller, received, respond)


def _begin(context: Context, caller: Caller, received: ReceivedRequest, respond: Respond) -> None:
    message, version = received.message, received.header.request_api_version
    match message:
        case ProduceRequest():
            produce(context, caller, message, version, respond)
        case FetchRequest() if fetching_replica(message, version) is None:
            client_fetch(context, caller, message, version, respond)
        case FetchRequest():
            replica_fetch(context, message, version, respond)
        case ListOffsetsRequest():
            list_offsets(context, message, version, respond)
        case OffsetForLeaderEpochRequest():
            offset_for_leader_epoch(context, message, respond)
        case InitProducerIdRequest():
            init_producer_id(context, message, version, respond)
        case EndTxnRequest():
            end_txn(context, message, version, respond)
        case WriteTxnMarkersRequest():
            write_txn_markers(context, message, respond)
        case ListTransactionsRequest():
            list_transactions(context, message, respond)
        case DescribeProducersRequest():
            describe_producers(context, message, respond)
        case DescribeQuorumRequest() if context.known_leader is not None and not is_relayed(received.header):
            context.relay.ask(
                context.known_leader,
                message,
                version,
                on_response=lambda response: respond(relayed(context, caller, response)),
                otherwise=lambda: respond(describe_quorum(context, caller, message, version)),
            )
        case _:
            response = _immediate_response(context, caller, message, version)
            if response is not None:
                respond(response)
            else:
                _submit_to_core(context, message, version, respond)


def _immediate_response(context: Context, caller: Caller, message: Message, version: int) -> Message | None:
    """Return the response if it needs neither core nor disk; None for requests of replicas."""
    match message:
        case ApiVersionsRequest():
            return api_versions(version, asks_for_sasl=caller.sasl is not None)
        case MetadataRequest():
            return metadata(context, caller, message, version)
        case DescribeClusterRequest():
            return describe_cluster(context, caller, message)
        case DescribeQuorumRequest():
            return describe_quorum(context, caller, message, version)
        case FindCoordinatorRequest():
            return find_coordinator(context, caller, message, version)
        case JoinGroupRequest():
            return join_group()
        case AddPartitionsToTxnRequest():
            return add_partitions_to_txn(context, message, version)
        case DescribeTransactionsRequest():
            return describe_transactions(context, message)
        case UpdateRaftVoterRequest():
            return update_raft_voter(context, message)
        case _:
            return None


def _submit_to_core(context: Context, message: Message, version: int, respond: Respond) -> None:
    """Submit the request of another replica to the core."""
    if isinstance(message, FetchSnapshotRequest):
        fetch_snapshot(context, message, respond)
        return

    def on_response(effect: SendResponse) -> None:
        response = effect.response
        assert not isinstance(response, AppendResponse), "replicas do not append"
        respond(response_to_wire(message, response, b"", context.ours, version))

    request_id = context.engine.expect_response(on_response)
    respond.when_gone(lambda: context.engine.abandon(request_id))
    request = request_from_wire(message, version, context.ours)
    context.engine.submit(RequestReceived(request_id=request_id, request=request))
