"""Bugs of a node that others do not authorize."""

from __future__ import annotations

import pytest

from raft.core import responses
from raft.core.effects import HaltCause
from raft.core.refusals import Refusals
from raft.core.responses import _stop_if_not_authorized
from raft.core.roles import Follower
from raft.core.state import State
from raft.runtime.requests import describe_quorum
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("ERROR-6",), caught_by=("NoNodeHalts",))
def one_refusal_stops_a_node(patch: pytest.MonkeyPatch) -> None:
    """A node stops at the first response that it is not authorized."""
    patch.setattr(Refusals, "needed", property(lambda _refusals: 1))


@mutation(breaks=("ERROR-6",), caught_by=("NoNodeHalts",), needs=needs.wrong_rules)
def refusal_of_the_leader_stops_its_followers(patch: pytest.MonkeyPatch) -> None:
    """A follower stops if its leader does not authorize it."""

    def stop(state: State, now_ms: int) -> bool:
        role = state.role
        if isinstance(role, Follower) and state.refusals.is_by(role.leader_id):
            state.halt(HaltCause.NOT_AUTHORIZED, f"leader {role.leader_id} does not authorize this node")
            return True
        return _stop_if_not_authorized(state, now_ms)

    patch.setattr(responses, "_stop_if_not_authorized", stop)


@mutation(breaks=("ERROR-6",), caught_by=("RefusedNodesStop",), needs=needs.wrong_rules)
def refused_node_never_stops(patch: pytest.MonkeyPatch) -> None:
    """A node that no other authorizes repeats its requests for ever."""
    patch.setattr(responses, "_stop_if_not_authorized", lambda _state, _now_ms: False)


@mutation(breaks=("DESCRIBE-13",), caught_by=("AllowedRequestsAreServed",), needs=needs.wrong_rules)
def refusal_of_a_relay_goes_to_the_client(patch: pytest.MonkeyPatch) -> None:
    """If the leader's rules refuse the node that forwards a request, its client is told that it is not authorized."""
    patch.setattr(describe_quorum, "_relayed", lambda _context, _request, response: response)
