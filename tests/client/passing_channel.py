"""A channel that passes bytes on as they are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PassingChannel:
    """See `raft.wire.protection.Channel`; its handshake is complete, or never will be."""

    is_open: bool

    def receive(self, data: bytes) -> bytes:
        return data

    def send(self, data: bytes) -> None:
        """Send nothing."""

    def data_to_send(self) -> bytes:
        return b""
