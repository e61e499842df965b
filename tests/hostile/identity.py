"""Who the neighbour is for the nodes, and what it needs to connect to them."""

from __future__ import annotations

from enum import Enum

NEIGHBOUR = "bob"
"""The user of a neighbour with credentials, and the name in its certificate."""

HONEST = "alice"
"""The user of the honest clients. Users' names are no secret: a stranger knows this one."""

AUTHORITY_FILE = "authority.pem"
CERTIFICATE_FILE = f"{NEIGHBOUR}.pem"
"""What a neighbour with credentials has, in the folder of the run."""

RECORDINGS_FILE = "recordings.json"


class Identity(Enum):
    """Who the neighbour is.

    A quorum that is open to everyone is as important as a secured one: on a loopback interface, or behind a network
    policy, nothing else bounds what a client does. The stranger shows what TLS, SASL and rules add, and the client
    shows that the limits hold behind them too.
    """

    ANYONE = "anyone"
    """The quorum asks for no names: everyone may do everything."""
    STRANGER = "stranger"
    """The quorum is secured: TLS and SCRAM for clients, certificates for voters, rules. The neighbour has nothing."""
    CLIENT = "client"
    """The quorum is secured, and the neighbour is a client that may read and append, but not speak as a node."""
    OBSERVER = "observer"
    """The same, and the neighbour may speak as an observer."""

    @property
    def is_secured(self) -> bool:
        """Whether the quorum is secured."""
        return self is not Identity.ANYONE

    @property
    def has_name(self) -> bool:
        """Whether the neighbour has credentials."""
        return self in (Identity.CLIENT, Identity.OBSERVER)
