"""Whether a caller may send a request.

Requests in a voter's name are Vote, BeginQuorumEpoch, EndQuorumEpoch, UpdateRaftVoter, and a Fetch or FetchSnapshot
with a voter's replica id. They decide which node leads and what is committed. So they are accepted only on the voters'
listener, with `raft.voters.verify.address` only from the addresses of the voter that they name, and with rules (see
`raft.security.rules`) only from the principal of that voter. The rules also say who may send the other requests.
"""

from __future__ import annotations

from typing import Any

from raft.codec import Message
from raft.runtime.drop_cause import DropCause
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.requests.served import Served
from raft.security.operations import Operation
from raft.types import NodeId

_SHOWN_NAMES = 3


def is_allowed(context: Context, request: Request[Message], served: Served[Any]) -> bool:
    """Return whether to handle a request. If not, this function has sent a response or closed the connection."""
    names = served.senders_of(request)
    if names is None:
        if _has_right(context, request, served):
            return True
        request.respond(served.refuse(request.message, request.version))
        return False
    if not _may_be(context, request, served, names):
        request.respond(served.refuse_node(request.message, request.version))
        return False
    if served.is_for_observers and not names & set(context.config.voters):
        return True
    caller, what = request.caller, type(request.message).__name__
    if caller.for_clients is not None:
        context.unauthorized[Operation.PEER] += 1
        context.refusals.report(
            "node %s: refused %s in the name of %s on a listener for clients",
            context.node_id,
            what,
            _text(names),
            latest=f"address={caller}",
        )
        request.respond(served.refuse_node(request.message, request.version))
        return False
    addresses = context.voter_addresses
    if addresses is not None and not all(addresses.has(name, caller.address) for name in names):
        # No error code is sent: a voter whose address is not resolved yet should retry soon, and a majority of error
        # codes would stop it (ERROR-6).
        request.hang_up(
            f"{what} in the name of {_text(names)} came from another node's address", DropCause.WRONG_ADDRESS
        )
        return False
    request.mark_as_from_peer()
    return True


def _has_right(context: Context, request: Request[Message], served: Served[Any]) -> bool:
    """Return whether a client may send a request. If not, it is logged and counted."""
    operation = served.right_for(request.message)
    if operation is None or context.may(request.caller, operation):
        return True
    context.refuse(request.caller, operation, type(request.message).__name__)
    return False


def _may_be(context: Context, request: Request[Message], served: Served[Any], names: set[NodeId]) -> bool:
    """Return whether the rules allow a caller to speak as these nodes. If not, it is logged and counted."""
    if context.rules is None:
        return True
    rules, voters = context.rules(), context.config.voters
    # Nodes that are not voters only fetch. A Vote or an announcement of any node can change the leader.
    is_of_voter = not served.is_for_observers
    principal = request.caller.principal
    if names and all(rules.allow_peer(principal, name, is_voter=is_of_voter or name in voters) for name in names):
        return True
    context.refuse(request.caller, Operation.PEER, f"{type(request.message).__name__} in the name of {_text(names)}")
    return False


def _text(names: set[NodeId]) -> str:
    if not names:
        return "no node"
    # A client may name a thousand nodes in one request, and others in the next one: the log must not grow by that.
    shown = ", ".join(map(str, sorted(names)[:_SHOWN_NAMES]))
    more = len(names) - _SHOWN_NAMES
    return f"node {shown} and {more} more" if more > 0 else f"node {shown}"
