"""A message between two addresses: a request or a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from raft.core.messages import OutgoingRequest, Response
from raft.types import NodeId

if TYPE_CHECKING:
    from tests.simulation.round_trip import RoundTrip

Address = int
"""A node's id, or a client's number, which is below 0."""


class Message(NamedTuple):
    """A message that the network carries.

    Fields:
        sender, receiver: the two addresses.
        request: the request of a node, also in its response; None between a client and a node.
        response: the response; None in a request, and between a client and a node.
        is_response: whether it is a response.
        round_trip: the round trip that it belongs to; None for a message without content.
    """

    sender: Address
    receiver: Address
    request: OutgoingRequest | None = None
    response: Response | None = None
    is_response: bool = False
    round_trip: RoundTrip | None = None

    @property
    def asker(self) -> NodeId:
        """The node that sent the request."""
        return NodeId(self.receiver if self.is_response else self.sender)
