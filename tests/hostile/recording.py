"""The requests of a real session, as a client sends them, in a file for the neighbour."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from raft.client import Client, ClientSettings
from raft.client.blocking_connection import BlockingConnection
from raft.client.exchange import Exchange
from raft.types import Endpoint, Epoch, Offset
from raft.wire.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.frames import MAX_RESPONSE_BYTES, FrameReader
from raft.wire.protection import Channel, Protection
from tests.node.harness.batches import batch_of

_API_KEY = slice(4, 6)
_SIZE_BYTES = 4
_OF_SASL = tuple(api.key.to_bytes(2, "big") for api in (SASL_HANDSHAKE, SASL_AUTHENTICATE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recordings:
    """The requests of a session.

    Fields:
        sent: all of them, each a frame with its size.
    """

    sent: Sequence[bytes]

    @property
    def requests(self) -> Sequence[bytes]:
        """Those that are not of SASL."""
        return [frame for frame in self.sent if frame[_API_KEY] not in _OF_SASL]

    @property
    def proofs(self) -> Sequence[bytes]:
        """Those of SASL."""
        return [frame for frame in self.sent if frame[_API_KEY] in _OF_SASL]

    @classmethod
    def of(cls, settings: ClientSettings) -> Self:
        """Make each call of a client once, and record it.

        Args:
            settings: of the client.
        """
        frames = FrameReader(MAX_RESPONSE_BYTES).receive(_session(settings))
        return cls(sent=[len(frame).to_bytes(_SIZE_BYTES, "big") + frame for frame in frames])

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        return cls(sent=[bytes.fromhex(frame) for frame in json.loads(path.read_text())])

    def save(self, path: Path) -> None:
        """Write the file."""
        path.write_text(json.dumps([frame.hex() for frame in self.sent]))


class _RecordedExchange(Exchange):
    """An exchange without TLS that keeps what it sends."""

    def __init__(self, client_id: str, sent: list[bytes]) -> None:
        super().__init__(client_id)
        self._sent = sent

    def data_to_send(self) -> bytes:
        data = super().data_to_send()
        self._sent.append(data)
        return data


class _RecordedChannel:
    """TLS that keeps what it encrypts; see `Channel`."""

    def __init__(self, channel: Channel, sent: list[bytes]) -> None:
        self._channel = channel
        self._sent = sent

    @property
    def is_open(self) -> bool:
        """See `Channel.is_open`."""
        return self._channel.is_open

    def receive(self, data: bytes) -> bytes:
        """See `Channel.receive`."""
        return self._channel.receive(data)

    def send(self, data: bytes) -> None:
        """See `Channel.send`."""
        self._sent.append(data)
        self._channel.send(data)

    def data_to_send(self) -> bytes:
        """See `Channel.data_to_send`."""
        return self._channel.data_to_send()


class _RecordedClient(Client):
    """A client that keeps what its connections send."""

    def __init__(self, settings: ClientSettings) -> None:
        super().__init__(settings)
        self.sent: list[bytes] = []

    def _open_connection(self, endpoint: Endpoint) -> BlockingConnection:
        protection = self._protection.of_connection(endpoint.host)
        return BlockingConnection(endpoint, self._exchange(protection))

    def _exchange(self, protection: Protection) -> Exchange:
        if protection.channel is None:
            return _RecordedExchange(self.settings.client_id, self.sent)
        channel = _RecordedChannel(protection.channel, self.sent)
        return Exchange(self.settings.client_id, replace(protection, channel=channel))


def _session(settings: ClientSettings) -> bytes:
    with _RecordedClient(settings) as client:
        producer_id = client.new_producer_id()
        appended = client.append(batch_of(b"neighbour", producer_id=producer_id))
        client.append(batch_of(b"neighbour", b"and another", producer_id=producer_id, sequence=1))
        client.fetch(appended.base_offset, max_bytes=1000, max_wait_ms=0)
        client.fetch(Offset(0), max_bytes=1000, max_wait_ms=0)
        client.log_start_offset()
        client.last_stable_offset()
        client.find_offset(1)
        client.end_of_epoch(client.epoch)
        client.plan_batch(Offset(0), Epoch(0))
        client.describe_quorum()
        client.feature_level()
        return b"".join(client.sent)
