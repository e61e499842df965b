"""Bugs of authorization in the course of time. Those of a single request are in `tests/runtime/planted_bugs.py`."""

from __future__ import annotations

from typing import Any

import pytest

from raft.codec import Message
from raft.runtime.caller import Caller
from raft.runtime.request import Request
from raft.runtime.requests import allowed, handle
from raft.runtime.requests.allowed import is_allowed
from raft.runtime.requests.context import Context
from raft.runtime.requests.served import Served
from raft.security.operations import Operation
from raft.security.rules import Rules
from raft.wire.messages.produce import ProduceRequest
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("ACL-2",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def rules_not_asked_for_produce(patch: pytest.MonkeyPatch) -> None:
    """Every client may append."""
    has_right = allowed._has_right

    def may_append(context: Context, request: Request[Message], served: Served[Any]) -> bool:
        return isinstance(request.message, ProduceRequest) or has_right(context, request, served)

    patch.setattr(allowed, "_has_right", may_append)


@mutation(
    breaks=("AUTH-11", "ACL-1"),
    caught_by=("AllowedRequestsAreServed", "RefusalsAreCorrect", "RefusedRequestsChangeNothing"),
    needs=needs.users,
)
def rules_never_read_again(patch: pytest.MonkeyPatch) -> None:
    """A connection keeps the rules that were in force at its first request."""
    first: dict[int, tuple[Caller, Rules]] = {}
    may = Context.may

    def may_for_ever(context: Context, caller: Caller, operation: Operation) -> bool:
        if context.rules is None:
            return may(context, caller, operation)
        _, rules = first.setdefault(id(caller), (caller, context.rules()))
        return rules.allow(caller.principal, operation)

    patch.setattr(Context, "may", may_for_ever)


@mutation(breaks=("ACL-1",), caught_by=("RefusedRequestsChangeNothing", "NoUnexpectedErrors"), needs=needs.users)
def refused_requests_handled_too(patch: pytest.MonkeyPatch) -> None:
    """A request is handled after it was refused."""

    def refuse_and_go_on(context: Context, request: Request[Message], served: Served[Any]) -> bool:
        return is_allowed(context, request, served) or True

    patch.setattr(handle, "is_allowed", refuse_and_go_on)
