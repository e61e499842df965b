"""The way to the leader for a DescribeQuorum request that another node has received.

Java's AdminClient, told of brokers, sends DescribeQuorum to any of them, and then again and again to the one that it is
connected to. A follower that answered NOT_LEADER_OR_FOLLOWER would never be left for the leader, so it relays the
request, as Kafka's brokers do.

Source: KafkaApis.handle (DESCRIBE_QUORUM is forwarded to the controller); KafkaAdminClient.describeMetadataQuorum,
NetworkClient.leastLoadedNode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from raft.codec import Message
from raft.types import Endpoint
from raft.wire.headers import RequestHeader

RELAY_CLIENT_ID = "raft-relay"
"""The client id of relayed requests."""


class Relay(Protocol):
    """Relays requests to the leader."""

    def ask(
        self,
        leader: Endpoint,
        request: Message,
        version: int,
        *,
        on_response: Callable[[Message], None],
        otherwise: Callable[[], None],
    ) -> None:
        """Call `answered` with the leader's response; `otherwise` if it does not respond in time, or too many wait."""
        ...


def is_relayed(header: RequestHeader) -> bool:
    """Return whether a node has relayed the request; then it is not relayed again, or it might go round for ever."""
    return header.client_id == RELAY_CLIENT_ID
