"""The sender of a request, as far as the node knows it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from raft.config import ClientListener
from raft.security.sasl_session import SaslSession, SaslState
from raft.types import Endpoint

_USER = "User:"

ANONYMOUS = f"{_USER}ANONYMOUS"
"""The principal of a connection without authentication, as Kafka names it."""


@dataclass(slots=True, eq=False)
class Caller:
    """The other side of one connection. The callers of two connections are never equal.

    Fields:
        listener: the listener that accepted the connection.
        for_clients: the settings of that listener if it serves clients only; None for the voters' listener.
        address: the IP address of the host; an IPv4 address is never in its IPv6 form.
        principal: its name, as far as it is proved.
        sasl: how it proves its name; None on a listener without SASL.
        is_admitted: whether its TLS handshake is complete, and its certificate accepted if it has to have one. Until
            then it may send nothing.
    """

    listener: Endpoint
    for_clients: ClientListener | None
    address: str
    principal: str = ANONYMOUS
    sasl: SaslSession | None = None
    is_admitted: bool = True

    @property
    def is_authenticated(self) -> bool:
        """Whether it may send other requests than those of SASL."""
        return self.is_admitted and (self.sasl is None or self.sasl.state is SaslState.COMPLETE)

    @property
    def is_refused(self) -> bool:
        """Whether it has not proved its name: the connection ends after a delay."""
        return self.sasl is not None and self.sasl.state is SaslState.FAILED

    @property
    def owner(self) -> str:
        """Whose share of the node's time its requests take: its principal, or its address if it has no name."""
        return self.address if self.principal == ANONYMOUS else self.principal

    @property
    def user(self) -> str:
        """The name in its principal: whose client quotas it has."""
        return self.principal.removeprefix(_USER)

    def __str__(self) -> str:
        return self.address


def address_of(peer_name: object) -> str:
    """Return the IP address in the peer name of a socket; "unknown" if there is none."""
    if not isinstance(peer_name, tuple) or not peer_name:
        return "unknown"
    host = str(peer_name[0])
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
