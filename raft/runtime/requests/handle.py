"""Begins each request that a node has received: its caller has proved its name, may send it, and is served."""

from __future__ import annotations

from raft.codec import Message
from raft.runtime.request import Request
from raft.runtime.requests.allowed import is_allowed
from raft.runtime.requests.authentication import is_authenticated
from raft.runtime.requests.context import Context
from raft.runtime.requests.served import SERVED


def handle(context: Context, request: Request[Message]) -> None:
    """Begin a request, if its caller may send it. Its handler responds now or later."""
    if not is_authenticated(context, request):
        return
    served = SERVED[type(request.message)]
    if is_allowed(context, request, served):
        response = served.handle(context, request)
        if response is not None:
            request.respond(response)
