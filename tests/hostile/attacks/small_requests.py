"""Many small requests: fetches of unknown observers, and requests that followers forward to the leader."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from raft.codec import Message
from raft.types import Endpoint
from raft.wire.frames import encode_request
from raft.wire.messages import describe_quorum as quorum
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.metadata import MetadataRequest
from tests.hostile.attacks.attack import Attack
from tests.hostile.connection import Connection
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import fetch_request

_OBSERVERS = 50
_REQUESTS = 50


def _frame(request: Message, version: int) -> bytes:
    return encode_request(request, version, correlation_id=1, client_id="flood")


_TOPIC = quorum.DescribeQuorumRequestTopic(
    topic_name=TOPIC, partitions=(quorum.DescribeQuorumRequestPartition(partition_index=0),)
)
_FLOODS = (
    _frame(ApiVersionsRequest(), 0),
    _frame(MetadataRequest(topics=()), 9),
    _frame(quorum.DescribeQuorumRequest(topics=(_TOPIC,)), 0),
)


class Floods(Attack):
    """As many small requests as a node reads, on connections that stay open; the responses are read."""

    width = 9

    def target(self) -> Endpoint:
        return self.dice.choice((*self.scene.client_endpoints, *self.scene.voter_endpoints))

    async def round(self, connection: Connection) -> None:
        frames = self.dice.choice(_FLOODS) * self.dice.choice((50, 10_000))
        while True:
            await connection.send(frames)
            await connection.first_bytes(within_s=1.0)


class UnreadFloods(Floods):
    """The same, and the responses are not read until the node has enough of them."""

    async def round(self, connection: Connection) -> None:
        frames = self.dice.choice(_FLOODS) * 10_000
        for _ in range(20):
            await connection.send(frames)


class UnknownObservers(Attack):
    """Fetches of observers that do not exist, each with another replica id."""

    width = 4

    def target(self) -> Endpoint:
        return self.scene.leader

    async def round(self, connection: Connection) -> None:
        for _ in range(_OBSERVERS):
            replica_id = self.dice.randrange(1_000, 1 << 31)
            fetch = fetch_request(0, epoch=1, last_fetched_epoch=1, max_bytes=1)
            await connection.send_request(replace(fetch, replica_id=replica_id), 12)
            await connection.frame()


class RelayedRequests(Attack):
    """DescribeQuorum to followers, which forward each of these, as no two are equal."""

    width = 6

    def target(self) -> Endpoint:
        return self.dice.choice(self.scene.followers)

    async def round(self, connection: Connection) -> None:
        for _ in range(_REQUESTS):
            await connection.send_request(self._request(), 2)
            await asyncio.sleep(0)
        is_waiting_for_responses = self.dice.random() < 0.5
        if is_waiting_for_responses:
            for _ in range(_REQUESTS):
                await connection.frame()

    def _request(self) -> quorum.DescribeQuorumRequest:
        partition = quorum.DescribeQuorumRequestPartition(partition_index=self.dice.randrange(1 << 31))
        topic = quorum.DescribeQuorumRequestTopic(topic_name=TOPIC, partitions=(partition,) * self.dice.randint(1, 50))
        return quorum.DescribeQuorumRequest(topics=(topic,))
