"""Known bugs of authorization, each with the test that has to fail when it is planted.

Whether a node serves a request depends on that request and the rules alone, so no simulation is needed to find them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import pytest

from raft.codec import Message
from raft.errors import ErrorCode
from raft.runtime.caller import Caller
from raft.runtime.request import Request
from raft.runtime.requests import allowed
from raft.runtime.requests.context import Context
from raft.runtime.requests.metadata import metadata
from raft.runtime.requests.served import SERVED, Served
from raft.security.operations import Operation
from raft.security.rules import Rules
from raft.types import NodeId
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from raft.wire.messages.fetch import FetchRequest, FetchResponse
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.produce import ProduceRequest
from raft.wire.messages.vote import VoteRequest
from tests.runtime import test_authorization as clients
from tests.runtime import test_authorization_of_metadata as topics
from tests.runtime import test_authorization_of_replicas as replicas
from tests.runtime.guarded_node import GuardedNode
from tests.runtime.guarded_requests import GuardedRequest, guarded_requests
from tests.runtime.requests_of_replicas import BY_REPLICAS, BY_VOTERS

Plant = Callable[[pytest.MonkeyPatch], None]
Test = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedBug:
    """One bug.

    Fields:
        name: in a few words.
        description: what the product does wrong.
        breaks: the id of the rule that it breaks.
        plant: patches the product.
        found_by: the test that fails then.
    """

    name: str
    description: str
    breaks: str
    plant: Plant
    found_by: Test


BUGS: list[PlantedBug] = []
"""All of them."""


def planted(*, breaks: str, found_by: Test, of: str = "") -> Callable[[Plant], Plant]:
    """Make a planted bug of a function, whose name and docstring become name and description.

    Args:
        breaks: see `PlantedBug`.
        found_by: see `PlantedBug`.
        of: which one it is of several that the function plants.
    """

    def add(plant: Plant) -> Plant:
        assert plant.__doc__, f"{plant.__name__} has no docstring"
        name = f"{plant.__name__.replace('_', ' ')} {of}".rstrip()
        BUGS.append(PlantedBug(name=name, description=plant.__doc__, breaks=breaks, plant=plant, found_by=found_by))
        return plant

    return add


def right_is_needed(request: str) -> Test:
    """A request is served only for the principals that have the right to it."""

    def test() -> None:
        for principal in clients.ALLOWED:
            clients.test_request_is_handled_only_for_callers_with_its_operation(
                _node_of_clients(), _guarded(request), principal
            )

    return test


def refusal_is_that_of_kafka(request: str) -> Test:
    """A request is refused with the response of Kafka's brokers."""

    def test() -> None:
        clients.test_refusal_is_the_response_that_a_broker_of_kafka_sends(_node_of_clients(), _guarded(request))

    return test


def silent_produce_is_refused() -> None:
    """An append that expects no response needs the right to append."""
    clients.test_produce_without_acknowledgement_gets_no_response_and_changes_nothing_unless_it_is_allowed(
        _node_of_clients(), "User:unknown"
    )


def voter_has_principals(api: str, voter: int, *principals: str) -> Test:
    """Only these principals send a request in the name of a voter."""

    def test() -> None:
        replicas.test_only_the_principals_of_a_voter_speak_as_that_voter(
            _node_of_replicas(), *(BY_VOTERS | BY_REPLICAS)[api], voter, set(principals)
        )

    return test


def only_observers_fetch() -> None:
    """Only principals of observers fetch in the name of a node that is not a voter."""
    replicas.test_only_principals_of_observers_fetch_as_another_node(_node_of_replicas(), *BY_REPLICAS["Fetch"])


def observers_do_not_vote() -> None:
    """A principal of an observer sends no Vote in the name of a node that is not a voter."""
    replicas.test_principal_of_an_observer_does_not_take_part_in_elections(
        _node_of_replicas(), *BY_VOTERS["Vote"], replicas.OTHER_NODE
    )


def topic_is_hidden() -> None:
    """Metadata does not show the topic to a client that may not describe it."""
    topics.test_refused_topic_has_no_partitions(GuardedNode(topics.RULES))


def _node_of_clients() -> GuardedNode:
    return GuardedNode(clients.RULES, super_users=frozenset([clients.ROOT]))


def _node_of_replicas() -> GuardedNode:
    return GuardedNode(replicas.RULES, super_users=frozenset([replicas.ROOT]))


def _guarded(name: str) -> GuardedRequest:
    (guarded,) = (each for each in guarded_requests() if str(each) == name)
    return guarded


def _plant_for_requests_with_a_right() -> None:
    """Plant the same bugs for each request of a client that needs a right."""
    for guarded in clients.GUARDED:
        kind, name = type(guarded.request), str(guarded)

        @planted(breaks="ACL-2", found_by=right_is_needed(name), of=name)
        def rules_not_asked_for(patch: pytest.MonkeyPatch, kind: type[Message] = kind) -> None:
            """Every client may send the request."""
            _change(patch, kind, right=None)

        other = Operation.APPEND if guarded.needs is Operation.READ else Operation.READ

        @planted(breaks="ACL-2", found_by=right_is_needed(name), of=name)
        def another_right_needed_for(
            patch: pytest.MonkeyPatch, kind: type[Message] = kind, other: Operation = other
        ) -> None:
            """The request is checked like one that reads, or one that appends."""
            _change(patch, kind, right=other)

        @planted(breaks="ACL-4", found_by=refusal_is_that_of_kafka(name), of=name)
        def no_error_in_the_refusal_of(patch: pytest.MonkeyPatch, kind: type[Message] = kind) -> None:
            """A client is told that its request was served."""
            _change(patch, kind, refuse=partial(_without_error, SERVED[kind].refuse))


def _plant_for_requests_in_names() -> None:
    """Plant the same bug for each request in the name of a voter."""
    for name, case in (BY_VOTERS | BY_REPLICAS).items():
        kind, principals = type(case.make([1], 0)), ("User:node2", "User:node2-new")

        @planted(breaks="ACL-3", found_by=voter_has_principals(name, 2, *principals), of=name)
        def name_not_checked_for(patch: pytest.MonkeyPatch, kind: type[Message] = kind) -> None:
            """Every client may send the request in the name of a voter."""
            may_be = allowed._may_be

            def may_be_or_not(
                context: Context, request: Request[Message], served: Served[Any], names: set[NodeId]
            ) -> bool:
                return isinstance(request.message, kind) or may_be(context, request, served, names)

            patch.setattr(allowed, "_may_be", may_be_or_not)


_plant_for_requests_with_a_right()
_plant_for_requests_in_names()


@planted(breaks="ACL-2", found_by=silent_produce_is_refused)
def rules_not_asked_without_a_response(patch: pytest.MonkeyPatch) -> None:
    """An append that expects no response is not refused, because no error could be sent; its records are appended."""
    _change(patch, ProduceRequest, right=lambda message: None if message.acks == 0 else Operation.APPEND)


@planted(breaks="ACL-3", found_by=voter_has_principals("Vote", 1, "User:node1"))
def voter_may_speak_as_any_voter(patch: pytest.MonkeyPatch) -> None:
    """A principal of one voter may speak as another voter."""
    _allow_peer(
        patch, lambda rules, caller, is_voter: is_voter and any(caller in each for each in rules.voters.values())
    )


@planted(breaks="ACL-3", found_by=voter_has_principals("Vote", 1, "User:node1"))
def observer_may_speak_as_a_voter(patch: pytest.MonkeyPatch) -> None:
    """A principal of the observers may speak as a voter."""
    _allow_peer(patch, lambda rules, caller, _is_voter: caller in rules.observers)


@planted(breaks="ACL-3", found_by=voter_has_principals("Vote", 1, "User:node1"))
def super_user_may_speak_as_any_voter(patch: pytest.MonkeyPatch) -> None:
    """A super user may speak as a voter that has a principal of its own."""
    _allow_peer(patch, lambda rules, caller, _is_voter: caller in rules.super_users)


@planted(breaks="ACL-3", found_by=only_observers_fetch)
def everyone_may_observe(patch: pytest.MonkeyPatch) -> None:
    """Every client may fetch as an observer, which reads what is not committed."""
    _allow_peer(patch, lambda _rules, _caller, is_voter: not is_voter)


@planted(breaks="ACL-3", found_by=voter_has_principals("Vote", 3, replicas.ROOT))
def super_user_may_not_speak_as_a_voter_without_a_principal(patch: pytest.MonkeyPatch) -> None:
    """A voter that no rule names cannot be run by a super user."""
    allow_peer = Rules.allow_peer

    def allow(self: Rules, caller: str, node_id: NodeId, *, is_voter: bool) -> bool:
        return allow_peer(self, caller, node_id, is_voter=is_voter) and (not is_voter or node_id in self.voters)

    patch.setattr(Rules, "allow_peer", allow)


@planted(breaks="ACL-3", found_by=observers_do_not_vote)
def observer_may_lead(patch: pytest.MonkeyPatch) -> None:
    """A Vote or an announcement in the name of a node that is not a voter is checked like a fetch of that node."""
    for kind in (VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest):
        _change(patch, kind, is_for_observers=True)


@planted(breaks="ACL-2", found_by=right_is_needed("FetchRequest-v12"))
def describe_includes_read(patch: pytest.MonkeyPatch) -> None:
    """Who may describe may read, and not the other way round."""
    allow = Rules.allow

    def allow_if_described(self: Rules, caller: str, operation: Operation) -> bool:
        is_read = operation is Operation.READ
        return allow(self, caller, operation) or (is_read and allow(self, caller, Operation.DESCRIBE))

    patch.setattr(Rules, "allow", allow_if_described)


@planted(breaks="ACL-2", found_by=right_is_needed("DescribeQuorumRequest-v2"))
def read_and_append_do_not_include_describe(patch: pytest.MonkeyPatch) -> None:
    """Who may read or append does not see the topic."""
    patch.setattr(
        Rules,
        "allow",
        lambda self, caller, operation: caller in self.super_users or self._lists(caller, operation),
    )


@planted(breaks="ACL-5", found_by=topic_is_hidden)
def metadata_names_the_topic_to_everyone(patch: pytest.MonkeyPatch) -> None:
    """Metadata does not ask the rules."""
    may = Context.may

    def may_describe(self: Context, caller: Caller, operation: Operation) -> bool:
        return operation is Operation.DESCRIBE or may(self, caller, operation)

    def metadata_without_rules(context: Context, request: Request[MetadataRequest]) -> Message:
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(Context, "may", may_describe)
            return metadata(context, request)

    _change(patch, MetadataRequest, handle=metadata_without_rules)


@planted(breaks="ACL-4", found_by=refusal_is_that_of_kafka("FetchRequest-v12"))
def fetch_refused_with_the_error_of_the_cluster(patch: pytest.MonkeyPatch) -> None:
    """A refused Fetch has CLUSTER_AUTHORIZATION_FAILED, after which a consumer goes on for ever."""
    _change_refused_fetch(patch, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


@planted(breaks="ACL-1", found_by=refusal_is_that_of_kafka("FetchRequest-v12"))
def refused_fetch_names_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A refused Fetch says how long the log is."""
    _change_refused_fetch(patch, high_watermark=7)


@planted(breaks="ACL-4", found_by=refusal_is_that_of_kafka("EndTxnRequest-v3"))
def refused_request_gets_no_response(patch: pytest.MonkeyPatch) -> None:
    """A client waits for the response to a request that was refused."""
    for kind in SERVED:
        _change(patch, kind, refuse=lambda _message, _version: None)


def _change(patch: pytest.MonkeyPatch, kind: type[Message], **fields: Any) -> None:
    """Change how requests of one kind are served."""
    patch.setitem(SERVED, kind, replace(SERVED[kind], **fields))


def _allow_peer(patch: pytest.MonkeyPatch, may_too: Callable[[Rules, str, bool], bool]) -> None:
    """Let more principals speak as nodes."""
    allow_peer = Rules.allow_peer

    def allow_more(self: Rules, caller: str, node_id: NodeId, *, is_voter: bool) -> bool:
        return allow_peer(self, caller, node_id, is_voter=is_voter) or may_too(self, caller, is_voter)

    patch.setattr(Rules, "allow_peer", allow_more)


def _change_refused_fetch(patch: pytest.MonkeyPatch, **fields: Any) -> None:
    """Change the partition of a refused Fetch."""
    refuse = SERVED[FetchRequest].refuse

    def refuse_otherwise(request: FetchRequest, version: int) -> Message:
        response = refuse(request, version)
        assert isinstance(response, FetchResponse), "the response to Fetch"
        topics = tuple(
            replace(topic, partitions=tuple(replace(partition, **fields) for partition in topic.partitions))
            for topic in response.responses
        )
        return replace(response, responses=topics)

    _change(patch, FetchRequest, refuse=refuse_otherwise)


def _without_error(refuse: Callable[[Message, int], Message | None], request: Message, version: int) -> Message | None:
    """Return the refusal of a request without its error codes."""
    response = refuse(request, version)
    return None if response is None else _cleared(response)


def _cleared(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_cleared, part))
    if not isinstance(part, Message):
        return part
    values: dict[str, Any] = {}
    for known in fields(part):
        is_error = known.name.endswith("error_code")
        values[known.name] = 0 if is_error else _cleared(getattr(part, known.name))
    return replace(part, **values)
