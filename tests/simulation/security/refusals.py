"""Whether the rules refuse a request now.

What a request needs is in the product's own table, and who may do it in the product's own rules: both are functions of
one request, which tests/runtime/test_authorization.py and its neighbours prove without a simulation. The simulator says
which rules a node has at that moment, and which user has proved its name on the connection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields
from enum import StrEnum

from raft.codec import Message
from raft.errors import ErrorCode
from raft.runtime.requests.served import SERVED
from raft.security.operations import Operation
from raft.security.rules import Rules
from raft.types import NodeId
from raft.wire.messages.metadata import MetadataRequest
from tests.simulation.security.rights import principal_of

REFUSALS = frozenset(
    (
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
)

_NAMES: dict[type[Message], tuple[str, ...]] = {}
"""The names of the fields of each message; `dataclasses.fields` is slow."""


class Reason(StrEnum):
    """Why the rules refuse a request."""

    NO_RIGHT = "a client without the right"
    OTHER_NAME = "a request in the name of a node that the user may not speak as"


def refusal_of(message: Message, version: int, *, user: str, rules: Rules, voters: Collection[NodeId]) -> Reason | None:
    """Return why the rules refuse a request; None if the user may send it."""
    served, principal = SERVED[type(message)], principal_of(user)
    names = None if served.senders is None else served.senders(message, version)
    if names is not None:
        is_of_voter = not served.is_for_observers
        may_speak = all(rules.allow_peer(principal, name, is_voter=is_of_voter or name in voters) for name in names)
        return None if may_speak else Reason.OTHER_NAME
    # Every client gets the addresses of the nodes, and only who may describe the topic sees it.
    right = Operation.DESCRIBE if isinstance(message, MetadataRequest) else served.right_for(message)
    return None if right is None or rules.allow(principal, right) else Reason.NO_RIGHT


def errors_in(response: Message) -> Iterator[int]:
    """Yield all error codes in a response, also those that say that there is no error."""
    for name in _field_names(type(response)):
        value = getattr(response, name)
        if name.endswith("error_code"):
            assert isinstance(value, int), "an error code is a number"
            yield value
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Message):
                yield from errors_in(each)


def _field_names(kind: type[Message]) -> tuple[str, ...]:
    if kind not in _NAMES:
        _NAMES[kind] = tuple(field.name for field in fields(kind))
    return _NAMES[kind]
