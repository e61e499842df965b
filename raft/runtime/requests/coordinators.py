"""FindCoordinator and JoinGroup: the leader coordinates transactions; there are no consumer groups (CLIENT-14).

A client that finds no coordinator retries, in some clients for ever. So a request that cannot be served gets a response
that ends the client's call, chosen by how the clients handle it:

    consumer groups    This node is named as coordinator. The requests that follow are not supported, which librdkafka,
                       Java and aiokafka report at once; but aiokafka retries JoinGroup for ever unless it is refused.
    transactions       Where they are refused (`raft.records.strict`), CLUSTER_AUTHORIZATION_FAILED is the only error
                       that is fatal to librdkafka and whose message the Java producer shows.
"""

from __future__ import annotations

from raft.codec import Message
from raft.errors import ErrorCode
from raft.runtime.caller import Caller
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.requests.refusals import refused_in_each
from raft.security.operations import Operation
from raft.wire.messages.find_coordinator import (
    GROUP,
    TRANSACTION,
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from raft.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

_FIRST_WITH_SEVERAL_KEYS = 4


def find_coordinator(context: Context, request: Request[FindCoordinatorRequest]) -> FindCoordinatorResponse:
    """Handle FindCoordinator, on every node."""
    caller, message = request.caller, request.message
    if request.version < _FIRST_WITH_SEVERAL_KEYS:
        only = _coordinator(context, caller, message.key, message.key_type)
        return FindCoordinatorResponse(
            error_code=only.error_code,
            error_message=only.error_message,
            node_id=only.node_id,
            host=only.host,
            port=only.port,
        )
    return FindCoordinatorResponse(
        coordinators=tuple(
            _coordinator(context, caller, key, message.key_type) for key in dict.fromkeys(message.coordinator_keys)
        ),
    )


def right_to_find(request: FindCoordinatorRequest) -> Operation | None:
    """Return the operation that finding a coordinator needs: who may not append has no transactions."""
    return Operation.APPEND if request.key_type == TRANSACTION else None


def refuse_find_coordinator(request: FindCoordinatorRequest, version: int) -> Message | None:
    """Refuse FindCoordinator, for each key from the version on that may have several."""
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if version >= _FIRST_WITH_SEVERAL_KEYS:
        return refused_in_each(request, code)
    return FindCoordinatorResponse(error_code=code, error_message=None, node_id=-1, port=-1)


def join_group(_context: Context, _request: Request[JoinGroupRequest]) -> JoinGroupResponse:
    """Refuse JoinGroup."""
    return JoinGroupResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, protocol_name="", leader="", member_id="", members=()
    )


def _coordinator(context: Context, caller: Caller, key: str, key_type: int) -> Coordinator:
    if key_type == GROUP:
        endpoint = context.nodes(caller)[context.node_id]
        return Coordinator(
            key=key,
            node_id=context.node_id,
            host=endpoint.host,
            port=endpoint.port,
            error_code=ErrorCode.NONE,
            error_message=None,
        )
    if key_type == TRANSACTION and not context.config.records_strict:
        return _leader(context, caller, key)
    if key_type == TRANSACTION:
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        message = (
            "this quorum refuses transactions, because raft.records.strict is set for its Java nodes: remove "
            "transactional.id from the producer's configuration"
        )
    else:
        error = ErrorCode.INVALID_REQUEST
        message = f"key type {key_type} is not supported: expected {GROUP}, a group, or {TRANSACTION}, a transaction"
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=message)


def _leader(context: Context, caller: Caller, key: str) -> Coordinator:
    leader_id = context.serving_leader
    endpoint = context.nodes(caller).get(leader_id) if leader_id is not None else None
    if leader_id is None or endpoint is None:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=None)
    return Coordinator(
        key=key,
        node_id=leader_id,
        host=endpoint.host,
        port=endpoint.port,
        error_code=ErrorCode.NONE,
        error_message=None,
    )
