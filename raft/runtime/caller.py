"""Who sends a request, as far as the node knows."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from raft.config import ClientListener
from raft.types import Endpoint

ANONYMOUS = "User:ANONYMOUS"
"""The principal of a connection that has not authenticated, in Kafka's words."""


@dataclass(frozen=True, slots=True, eq=False)
class Caller:
    """The other end of one connection; no other connection's is equal to it.

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


def address_of(peer_name: object) -> str:
    """The host's address in what a socket says of its other end."""
    if not isinstance(peer_name, tuple) or not peer_name:
        return "unknown"
    host = str(peer_name[0])
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
