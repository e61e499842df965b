"""The users of a run, and what they may do at its start."""

from __future__ import annotations

from raft.types import NodeId
from tests.simulation.plan import Plan
from tests.simulation.security.rights import EVERYONE, Permissions, Right

OPERATOR = "operator"
"""The super user."""

PRODUCER = "producer"
TRANSACTIONS = "transactions"
QUERY = "query"
SINK = "sink"
READER = "reader"
STREAM = "stream"
END = "end"

CLIENTS = {
    PRODUCER: frozenset((Right.APPEND,)),
    TRANSACTIONS: frozenset((Right.APPEND,)),
    QUERY: frozenset((Right.APPEND,)),
    SINK: frozenset((Right.APPEND,)),
    READER: frozenset((Right.READ,)),
    STREAM: frozenset((Right.READ,)),
    END: frozenset((Right.READ,)),
}
"""The users of the well-behaved clients."""

REPORTS = "reports"
FEEDER = "feeder"
MONITOR = "monitor"
NOBODY = "nobody"

GUESTS = {
    REPORTS: frozenset((Right.READ,)),
    FEEDER: frozenset((Right.APPEND,)),
    MONITOR: frozenset((Right.DESCRIBE,)),
    NOBODY: frozenset[Right](),
}
"""The users of clients that also ask for what they may not do."""


def user_of(node_id: NodeId, plan: Plan) -> str:
    """Return the user of a node."""
    return OPERATOR if node_id == _voter_of_operator(plan) else f"node-{node_id}"


def password_of(user: str) -> str:
    """Return the password of a user."""
    return f"password of {user}"


def first_permissions(plan: Plan) -> Permissions:
    """Return who may do what at the start of a run."""
    others = {EVERYONE: frozenset((Right.DESCRIBE,))} if plan.security.everyone_describes else {}
    return Permissions(
        rights={**CLIENTS, **GUESTS, **others},
        voters={voter: user_of(voter, plan) for voter in plan.voters if voter != _voter_of_operator(plan)},
        observers=frozenset(user_of(observer, plan) for observer in plan.observers),
        super_users=frozenset((OPERATOR,)),
    )


def all_users(plan: Plan) -> list[str]:
    """Return the users that can prove their names at the start of a run."""
    nodes = [user_of(node_id, plan) for node_id in (*plan.voters, *plan.observers)]
    return list(dict.fromkeys((OPERATOR, *nodes, *CLIENTS, *GUESTS)))


def _voter_of_operator(plan: Plan) -> NodeId | None:
    """Return the voter that has no user of its own, so that a super user may speak as that voter; None for no voter."""
    return plan.voters[-1] if plan.security.operator_is_voter else None
