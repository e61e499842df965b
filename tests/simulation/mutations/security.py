"""Bugs of authorization: the rules are not asked, or say something else than they should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from raft.codec import Message
from raft.errors import ErrorCode
from raft.runtime.caller import Caller
from raft.runtime.request import Request
from raft.runtime.requests import allowed, handle
from raft.runtime.requests.allowed import is_allowed
from raft.runtime.requests.context import Context
from raft.runtime.requests.metadata import metadata
from raft.runtime.requests.served import SERVED, Served
from raft.security.operations import Operation
from raft.security.rules import Rules
from raft.types import NodeId
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from raft.wire.messages.describe_quorum import DescribeQuorumRequest
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from raft.wire.messages.fetch import FetchRequest, FetchResponse
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest
from raft.wire.messages.init_producer_id import InitProducerIdRequest
from raft.wire.messages.list_offsets import ListOffsetsRequest
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from raft.wire.messages.produce import ProduceRequest
from raft.wire.messages.transactions import EndTxnRequest
from raft.wire.messages.vote import VoteRequest
from raft.wire.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation

_OF_READS = ("RefusedRequestsChangeNothing", "RefusalsAreCorrect", "RefusalsRevealNothing")


@mutation(breaks=("ACL-2",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def rules_not_asked_for_produce(patch: pytest.MonkeyPatch) -> None:
    """Every client may append."""
    _do_not_ask(patch, ProduceRequest)


@mutation(breaks=("ACL-2",), caught_by=_OF_READS, needs=needs.users)
def rules_not_asked_for_fetch(patch: pytest.MonkeyPatch) -> None:
    """Every client may fetch."""
    _do_not_ask(patch, FetchRequest)


@mutation(breaks=("ACL-2",), caught_by=_OF_READS, needs=needs.users)
def rules_not_asked_for_list_offsets(patch: pytest.MonkeyPatch) -> None:
    """Every client may ask where the log ends."""
    _do_not_ask(patch, ListOffsetsRequest)


@mutation(breaks=("ACL-2",), caught_by=_OF_READS, needs=needs.users)
def rules_not_asked_for_offset_for_leader_epoch(patch: pytest.MonkeyPatch) -> None:
    """Every client may ask where an epoch ends."""
    _do_not_ask(patch, OffsetForLeaderEpochRequest)


@mutation(breaks=("ACL-2",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def rules_not_asked_for_init_producer_id(patch: pytest.MonkeyPatch) -> None:
    """Every client may fence the producer of a transactional id."""
    _do_not_ask(patch, InitProducerIdRequest)


@mutation(breaks=("ACL-2",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def rules_not_asked_for_end_txn(patch: pytest.MonkeyPatch) -> None:
    """Every client may end transactions."""
    _do_not_ask(patch, EndTxnRequest)


@mutation(breaks=("ACL-2",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def rules_not_asked_for_write_txn_markers(patch: pytest.MonkeyPatch) -> None:
    """Every client may write markers."""
    _do_not_ask(patch, WriteTxnMarkersRequest)


@mutation(breaks=("ACL-2",), caught_by=("RefusalsAreCorrect", "RefusalsRevealNothing"), needs=needs.users)
def rules_not_asked_for_describe_quorum(patch: pytest.MonkeyPatch) -> None:
    """Every client may see the state of the quorum."""
    _do_not_ask(patch, DescribeQuorumRequest)


@mutation(breaks=("ACL-2",), caught_by=("RefusedRequestsChangeNothing",), needs=needs.users)
def rules_not_asked_without_a_response(patch: pytest.MonkeyPatch) -> None:
    """An append that expects no response is not refused, because no error could be sent; its records are appended."""
    _change(patch, ProduceRequest, right=lambda message: None if message.acks == 0 else Operation.APPEND)


@mutation(breaks=("ACL-3",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def replica_not_checked_for_fetch_snapshot(patch: pytest.MonkeyPatch) -> None:
    """Every client may load snapshots in the name of a replica."""
    may_be = allowed._may_be

    def may_be_if_not_snapshot(
        context: Context, request: Request[Message], served: Served[Any], names: set[NodeId]
    ) -> bool:
        return isinstance(request.message, FetchSnapshotRequest) or may_be(context, request, served, names)

    patch.setattr(allowed, "_may_be", may_be_if_not_snapshot)


@mutation(breaks=("ACL-3",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def voter_may_speak_as_any_voter(patch: pytest.MonkeyPatch) -> None:
    """A principal of one voter may speak as another voter."""
    _allow_peer(
        patch, lambda rules, caller, is_voter: is_voter and any(caller in each for each in rules.voters.values())
    )


@mutation(breaks=("ACL-3",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def observer_may_speak_as_a_voter(patch: pytest.MonkeyPatch) -> None:
    """A principal of the observers may speak as a voter."""
    _allow_peer(patch, lambda rules, caller, _is_voter: caller in rules.observers)


@mutation(breaks=("ACL-3",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def super_user_may_speak_as_any_voter(patch: pytest.MonkeyPatch) -> None:
    """A super user may speak as a voter that has a principal of its own."""
    _allow_peer(patch, lambda rules, caller, _is_voter: caller in rules.super_users)


@mutation(breaks=("ACL-3",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def everyone_may_observe(patch: pytest.MonkeyPatch) -> None:
    """Every client may fetch as an observer, which reads what is not committed."""
    _allow_peer(patch, lambda _rules, _caller, is_voter: not is_voter)


@mutation(breaks=("ACL-3",), caught_by=("AllowedRequestsAreServed", "NoNodeHalts"), needs=needs.users)
def super_user_may_not_speak_as_a_voter_without_a_principal(patch: pytest.MonkeyPatch) -> None:
    """A voter that no rule names cannot be run by a super user."""
    allow_peer = Rules.allow_peer

    def allow(self: Rules, caller: str, node_id: NodeId, *, is_voter: bool) -> bool:
        return allow_peer(self, caller, node_id, is_voter=is_voter) and (not is_voter or node_id in self.voters)

    patch.setattr(Rules, "allow_peer", allow)


@mutation(breaks=("ACL-3",), caught_by=("RefusedRequestsChangeNothing", "RefusalsAreCorrect"), needs=needs.users)
def observer_may_lead(patch: pytest.MonkeyPatch) -> None:
    """A Vote or an announcement in the name of a node that is not a voter is checked like a fetch of that node."""
    for kind in (VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest):
        _change(patch, kind, is_for_observers=True)


@mutation(breaks=("ACL-2",), caught_by=_OF_READS, needs=needs.users)
def describe_includes_read(patch: pytest.MonkeyPatch) -> None:
    """Who may describe may read, and not the other way round."""
    allow = Rules.allow

    def allow_if_described(self: Rules, caller: str, operation: Operation) -> bool:
        is_read = operation is Operation.READ
        return allow(self, caller, operation) or (is_read and allow(self, caller, Operation.DESCRIBE))

    patch.setattr(Rules, "allow", allow_if_described)


@mutation(breaks=("ACL-2",), caught_by=("AllowedRequestsAreServed", "QuorumRecovers"), needs=needs.users)
def read_and_append_do_not_include_describe(patch: pytest.MonkeyPatch) -> None:
    """Who may read or append does not see the topic."""
    patch.setattr(
        Rules,
        "allow",
        lambda self, caller, operation: caller in self.super_users or self._lists(caller, operation),
    )


@mutation(breaks=("ACL-5",), caught_by=("RefusalsAreCorrect", "RefusalsRevealNothing"), needs=needs.users)
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


@mutation(breaks=("ACL-4",), caught_by=("RefusalsAreCorrect",), needs=needs.users)
def fetch_refused_with_the_error_of_the_cluster(patch: pytest.MonkeyPatch) -> None:
    """A refused Fetch has CLUSTER_AUTHORIZATION_FAILED, after which a consumer goes on for ever."""
    _change_refused_fetch(patch, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


@mutation(breaks=("ACL-1",), caught_by=("RefusalsRevealNothing",), needs=needs.users)
def refused_fetch_names_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A refused Fetch says how long the log is."""
    _change_refused_fetch(patch, high_watermark=7)


@mutation(
    breaks=("AUTH-11", "ACL-1"),
    caught_by=("AllowedRequestsAreServed", "RefusalsAreCorrect", *_OF_READS),
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


@mutation(breaks=("ACL-4",), caught_by=("RefusalsAreCorrect",), needs=needs.users)
def refused_request_gets_no_response(patch: pytest.MonkeyPatch) -> None:
    """A client waits for the response to a request that was refused."""
    for kind in SERVED:
        _change(patch, kind, refuse=lambda _message, _version: None)


def _do_not_ask(patch: pytest.MonkeyPatch, kind: type[Message]) -> None:
    """Let every client send requests of one kind."""
    _change(patch, kind, right=None)


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
