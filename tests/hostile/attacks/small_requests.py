"""Many small requests: fetches of unknown observers, and requests that followers forward to the leader."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from raft.types import Endpoint
from raft.wire.messages import describe_quorum as quorum
from tests.hostile.attacks.attack import Attack
from tests.hostile.connection import Connection
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import fetch_request

_OBSERVERS = 50
_REQUESTS = 50


class UnknownObservers(Attack):
    """Fetches of observers that do not exist, each with another replica id."""

    width = 4
    pause_s = 0.3

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
    pause_s = 0.5

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
