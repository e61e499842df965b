"""Who sends a request, as far as the node knows."""

from __future__ import annotations

from dataclasses import dataclass

from raft.config import ClientListener
from raft.types import Endpoint

ANONYMOUS = "User:ANONYMOUS"
"""The principal of a connection that has not authenticated, in Kafka's words."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The other end of a connection.

    Fields:
        listener: that it came in by.
        for_clients: that listener's settings, if it serves clients only; None for the voters' listener.
        address: its host's address; an IPv4 address never in the form of IPv6.
        principal: what it has authenticated as.
    """

    listener: Endpoint
    for_clients: ClientListener | None
    address: str
    principal: str = ANONYMOUS

    def __str__(self) -> str:
        return self.address
