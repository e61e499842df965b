"""Vote, BeginQuorumEpoch and EndQuorumEpoch: the core answers them."""

from __future__ import annotations

from raft.codec import Message
from raft.core.effects import SendResponse
from raft.core.events import RequestReceived
from raft.core.messages import AppendResponse, ReadIndexResponse
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.wire.mapping.replica_messages import request_from_wire, response_to_wire


def to_core(context: Context, request: Request[Message]) -> None:
    """Submit the request of another replica to the core, and send its response."""

    def on_response(effect: SendResponse) -> None:
        response = effect.response
        assert not isinstance(response, AppendResponse | ReadIndexResponse), "replicas neither append nor read"
        request.respond(response_to_wire(request.message, response, context.ours, request.version))

    request_id = context.engine.expect_response(on_response)
    request.when_gone(lambda: context.engine.abandon(request_id))
    core_request = request_from_wire(request.message, context.ours, request.version)
    context.engine.submit(RequestReceived(request_id=request_id, request=core_request))
