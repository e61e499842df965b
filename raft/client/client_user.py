"""What uses a client: one that it is given, or one of its own."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from raft.client.blocking import Client
from raft.client.settings import ClientSettings


class ClientUser:
    """Has a client, and closes it at the end if it has made it.

    Args:
        quorum: the nodes to ask first, as "host:port,host:port"; or the settings of a client; or a client, which stays
            open, and which nothing else uses meanwhile.

    Raises:
        ConfigError: `quorum` is not a list of addresses.
    """

    def __init__(self, quorum: str | ClientSettings | Client) -> None:
        self._client = Client(quorum) if isinstance(quorum, str | ClientSettings) else quorum
        self._owns_client = self._client is not quorum

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of a client that was made here."""
        if self._owns_client:
            self._client.close()
