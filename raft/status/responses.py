"""What a node says on its listener: its own view, and the leader's if the node reaches the leader."""

from __future__ import annotations

from dataclasses import dataclass, field

from raft.client import Client, ClientSettings, NodeDescription, QuorumDescription, descriptions
from raft.client.results import ReplicaDescription
from raft.config import NodeConfig
from raft.config.endpoints import is_every_interface
from raft.errors import RaftError
from raft.types import Endpoint
from raft.wire.headers import RELAY_CLIENT_ID

_LOOPBACK = "localhost"


@dataclass(slots=True, kw_only=True)
class NodeResponses:
    """What a node said.

    Fields:
        endpoint: where it was asked.
        own: what the node knows itself; the quorum, if it leads; None if it did not respond.
        quorum: the leader's description; None if the node does not reach the leader.
        features: the highest level of each of the node's features.
        problems: why something is missing, one sentence each.
    """

    endpoint: Endpoint
    own: NodeDescription | QuorumDescription | None = None
    quorum: QuorumDescription | None = None
    features: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def leader(self) -> ReplicaDescription | None:
        """The leader in its own description."""
        if self.quorum is None:
            return None
        leaders = [voter for voter in self.quorum.voters if voter.node_id == self.quorum.leader_id]
        return leaders[0] if leaders else None


def ask_node(config: NodeConfig, *, timeout_ms: int) -> NodeResponses:
    """Ask a node of this machine.

    Args:
        config: of the node.
        timeout_ms: how long each response may take.
    """
    host = _host(config)
    responses = NodeResponses(endpoint=Endpoint(host, config.listener.port))
    try:
        with _client(config, responses.endpoint, timeout_ms, client_id=RELAY_CLIENT_ID) as client:
            responses.own = client.call(descriptions.describe_node, responses.endpoint)
            responses.features = client.call(descriptions.features, responses.endpoint)
    except RaftError as error:
        responses.problems.append(f"the node does not respond: {error}")
        return responses
    if isinstance(responses.own, QuorumDescription):
        responses.quorum = responses.own
    else:
        try:
            with _client(config, responses.endpoint, timeout_ms, client_id="kraft") as client:
                described = client.call(descriptions.describe_node, responses.endpoint)
            if isinstance(described, QuorumDescription):
                responses.quorum = described
        except RaftError as error:
            responses.problems.append(f"the leader's view is unknown: {error}")
    return responses


def _host(config: NodeConfig) -> str:
    if not is_every_interface(config.listener.host):
        return config.listener.host
    # A certificate has the name by which other nodes connect.
    return config.advertised.host if config.security_to_voters.protocol.uses_tls else _LOOPBACK


def _client(config: NodeConfig, endpoint: Endpoint, timeout_ms: int, *, client_id: str) -> Client:
    return Client(
        ClientSettings(
            bootstrap_servers=(endpoint,),
            api_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
            client_id=client_id,
            security=config.security_to_voters,
        )
    )
