"""How a client of Kafka's protocol reaches the quorum: one that is not our own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raft.codec import Message
from raft.types import NodeId
from raft.wire.apis import api_of
from raft.wire.frames import decode_response, encode_request
from tests.simulation.dice import Dice
from tests.simulation.message import Address
from tests.simulation.post_office import PostOffice
from tests.simulation.starting import endpoint_of

_CORRELATION_ID = 1


class Caller:
    """Asks the node that was last named leader, or any. Responses come whenever they come, or never.

    Args:
        address: the client's, below 0.
        node_ids: whom it may ask.
        post_office: brings requests and responses.
        dice: picks one of several nodes.
    """

    def __init__(self, address: Address, node_ids: Sequence[NodeId], post_office: PostOffice, dice: Dice) -> None:
        self.address = address
        self._node_ids = node_ids
        self._post_office = post_office
        self._dice = dice
        self._hint: NodeId | None = None
        self._last: NodeId | None = None

    def believe(self, leader_id: NodeId | None) -> None:
        """Ask this node next, if it is one."""
        self._hint = leader_id if leader_id in self._node_ids else None

    def stay(self) -> None:
        """Ask the node that was asked last."""
        self._hint = self._last

    def ask(self, request: Message, version: int, on_response: Callable[[Message], None]) -> None:
        """Send a request; `answered` gets its response, if there is one."""
        node_id = self._dice.pick(self._node_ids) if self._hint is None else self._hint
        self._last = node_id
        self._post_office.ask(
            self.address,
            endpoint_of(node_id),
            encode_request(request, version, correlation_id=_CORRELATION_ID, client_id="simulated"),
            on_response=lambda frame: on_response(decode_response(frame, api_of(request), version)[1]),
        )
