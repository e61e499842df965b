"""The requests of a real session, as a client sends them."""

from __future__ import annotations

from raft.client import Client, ClientSettings
from raft.client.blocking_connection import BlockingConnection
from raft.client.exchange import Exchange
from raft.types import Endpoint, Epoch, Offset
from tests.node.harness.batches import batch_of


class _RecordedExchange(Exchange):
    """An exchange that keeps what it sends."""

    def __init__(self, client_id: str, sent: list[bytes]) -> None:
        super().__init__(client_id)
        self._sent = sent

    def data_to_send(self) -> bytes:
        data = super().data_to_send()
        if data:
            self._sent.append(data)
        return data


class _RecordedClient(Client):
    """A client that keeps what its connections send."""

    def __init__(self, settings: ClientSettings) -> None:
        super().__init__(settings)
        self.sent: list[bytes] = []

    def _open_connection(self, endpoint: Endpoint) -> BlockingConnection:
        return BlockingConnection(endpoint, _RecordedExchange(self.settings.client_id, self.sent))


def recorded_session(settings: ClientSettings) -> list[bytes]:
    """Make each call of a client once; return the requests, each a frame with its size."""
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
        return client.sent
