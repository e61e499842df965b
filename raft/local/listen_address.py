"""Where the voters of a local quorum listen for clients."""

from __future__ import annotations

from dataclasses import dataclass

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The host of the listeners for clients. The voters listen for each other on loopback, whatever this is.

    Fields:
        bind: the address to listen on; 0.0.0.0 for all interfaces.
        advertised: the name or address that clients connect to.
    """

    bind: str
    advertised: str

    @property
    def is_loopback(self) -> bool:
        """Whether only clients on this machine can connect."""
        return self == LOOPBACK


LOOPBACK = ListenAddress(_LOOPBACK, _LOOPBACK)
