"""What travels between two addresses: a request, or the response to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from raft.core.messages import IncomingResponse, OutgoingRequest
from raft.types import NodeId

if TYPE_CHECKING:
    from tests.simulation.round_trip import RoundTrip

Address = int
"""A node's id, or a client's number, which is below 0."""


class Message(NamedTuple):
    """A message on its way.

    Fields:
        sender, receiver: where it comes from and goes to.
        request: what one node asks of another, for a response too; None between a client and a node.
        response: what the other responds; None in a request, and between a client and a node.
        is_response: whether it is the response.
        round_trip: that it belongs to; None if nothing can come of it.
    """

    sender: Address
    receiver: Address
    request: OutgoingRequest | None = None
    response: IncomingResponse | None = None
    is_response: bool = False
    round_trip: RoundTrip | None = None

    @property
    def asker(self) -> NodeId:
        """Who sent the request."""
        return NodeId(self.receiver if self.is_response else self.sender)
