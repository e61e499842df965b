"""The command `ask`: a request made by hand, from any node id."""

from __future__ import annotations

from raft.core.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    OutgoingRequest,
    VoteRequest,
)
from raft.types import Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from raft.wire.frames import encode_request
from raft.wire.mapping.replica_messages import api_of, request_to_wire
from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.commands.context import CommandContext
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.kinds import Kind
from tests.simulation.starting import CLUSTER_ID, OURS, endpoint_of


def ask(context: CommandContext, arguments: Arguments) -> None:
    """`ask 3: KIND from 9 epoch=7 ...`: send a request to node 3 as node 9, and print the response; no node gets it.

    Options: `last-epoch= log-end=` of pre-vote and vote; `offset= last-epoch= max-wait=` of fetch;
    `successors=` of end-quorum-epoch; `address=unknown` of begin-quorum-epoch; `cluster=other|none` of all.
    """
    receiver = arguments.node()
    kind = arguments.word()
    if kind not in set(Kind):
        raise ScenarioError(f"`{kind}`: ask one of {', '.join(Kind)}")
    arguments.expect("from")
    sender = arguments.node()
    request = _request(Kind(kind), sender, arguments)
    arguments.finish()
    world = context.world
    world.process(receiver)
    version = api_of(request).versions.highest
    world.reporter.by_hand.append(request)
    world.post_office.send_frame(
        sender,
        endpoint_of(receiver),
        encode_request(request_to_wire(request, OURS, version), version, correlation_id=0, client_id=None),
        on_response=lambda _: None,
        request=request,
    )
    world.settle()


def _request(kind: Kind, sender: NodeId, arguments: Arguments) -> OutgoingRequest:
    cluster = arguments.option("cluster")
    cluster_id = None if cluster == "none" else cluster or CLUSTER_ID
    epoch = Epoch(arguments.required("epoch"))
    match kind:
        case Kind.PRE_VOTE | Kind.VOTE:
            last_epoch, log_end = Epoch(arguments.required("last-epoch")), Offset(arguments.required("log-end"))
            return VoteRequest(
                cluster_id=cluster_id,
                epoch=epoch,
                candidate=ReplicaKey(sender),
                candidate_log_end=OffsetAndEpoch(epoch=last_epoch, offset=log_end),
                pre_vote=kind is Kind.PRE_VOTE,
            )
        case Kind.BEGIN_QUORUM_EPOCH:
            is_address_unknown = arguments.option("address") == "unknown"
            endpoints = () if is_address_unknown else (endpoint_of(sender),)
            return BeginQuorumEpochRequest(
                cluster_id=cluster_id, leader=LeaderAndEpoch(epoch=epoch, leader_id=sender, endpoints=endpoints)
            )
        case Kind.END_QUORUM_EPOCH:
            successors = tuple(ReplicaKey(NodeId(node_id)) for node_id in arguments.numbers_option("successors"))
            return EndQuorumEpochRequest(
                cluster_id=cluster_id,
                leader=LeaderAndEpoch(epoch=epoch, leader_id=sender),
                preferred_successors=successors,
            )
        case Kind.FETCH:
            return FetchRequest(
                cluster_id=cluster_id,
                replica=ReplicaKey(sender),
                epoch=epoch,
                fetch_offset=Offset(arguments.required("offset")),
                last_fetched_epoch=Epoch(arguments.required("last-epoch")),
                max_wait_ms=arguments.number_option("max-wait", 0),
                max_bytes=1 << 20,
            )
