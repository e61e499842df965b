"""The interface through which a node forwards a DescribeQuorum request to the leader.

If Java's AdminClient is given brokers, it sends DescribeQuorum to any of them, and retries on the same connection. It
would never leave a follower that responds with NOT_LEADER_OR_FOLLOWER, so a follower forwards the request, as Kafka's
brokers do.

Source: KafkaApis.handle (DESCRIBE_QUORUM is forwarded to the controller); KafkaAdminClient.describeMetadataQuorum,
NetworkClient.leastLoadedNode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from raft.codec import Message
from raft.types import Endpoint


class Relay(Protocol):
    """Forwards requests to the leader."""

    def ask(
        self,
        leader: Endpoint,
        request: Message,
        version: int,
        *,
        on_response: Callable[[Message], None],
        otherwise: Callable[[], None],
    ) -> None:
        """Send a request to the leader.

        Args:
            leader: the endpoint of the leader.
            request: the request.
            version: the version to send it in, which is that of the client.
            on_response: called with the response of the leader.
            otherwise: called instead if the leader does not respond in time, or if too many requests wait.
        """
        ...
