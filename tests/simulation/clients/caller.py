"""The connections of a simulated Kafka client to the quorum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raft.codec import Message
from raft.types import NodeId
from raft.wire.apis import api_of
from raft.wire.frames import decode_response, encode_request
from tests.simulation.dice import Dice
from tests.simulation.message import Address
from tests.simulation.post_office import PostOffice
from tests.simulation.security.identity import Identity
from tests.simulation.starting import endpoint_of

_CORRELATION_ID = 1


class Caller:
    """Sends requests to the leader that was named last, or to a random node. A response may come late or never.

    Args:
        address: the address of the client, below 0.
        node_ids: the nodes of the quorum.
        post_office: carries requests and responses.
        dice: picks a node where no leader is known.
        identity: the user of the client; None in a plan without security.
    """

    def __init__(
        self,
        address: Address,
        node_ids: Sequence[NodeId],
        post_office: PostOffice,
        dice: Dice,
        identity: Identity | None = None,
    ) -> None:
        self.address = address
        self._node_ids = node_ids
        self._post_office = post_office
        self._dice = dice
        self._identity = identity
        self._next: NodeId | None = None
        self._last: NodeId | None = None

    def set_leader(self, leader_id: NodeId | None) -> None:
        """Send the next request to this node; None, or an id that no node has, means a random one."""
        self._next = leader_id if leader_id in self._node_ids else None

    def keep_node(self) -> None:
        """Send the next request to the same node as the last one."""
        self._next = self._last

    def send(self, request: Message, version: int, on_response: Callable[[Message], None]) -> None:
        """Send a request; `on_response` gets its response, if there is one."""
        node_id = self._dice.pick(self._node_ids) if self._next is None else self._next
        self._last = node_id
        self._post_office.send_frame(
            self.address,
            endpoint_of(node_id),
            encode_request(request, version, correlation_id=_CORRELATION_ID, client_id="simulated"),
            on_response=lambda frame: on_response(decode_response(frame, api_of(request), version)[1]),
            identity=self._identity,
        )
