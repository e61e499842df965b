"""Small requests in great number: made-up observers, and questions that followers hand on to the leader."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from raft.types import Endpoint
from raft.wire.messages import describe_quorum as quorum
from tests.hostile.attacks.attack import Attack
from tests.hostile.stranger import Stranger
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import fetch_request

_OBSERVERS = 50
_QUESTIONS = 50


class MadeUpObservers(Attack):
    """Fetches of observers that do not exist, each under another id."""

    width = 4
    pause_s = 0.3

    def target(self) -> Endpoint:
        return self.scene.leader

    async def round(self, stranger: Stranger) -> None:
        for _ in range(_OBSERVERS):
            replica_id = self.dice.randrange(1_000, 1 << 31)
            fetch = fetch_request(0, epoch=1, last_fetched_epoch=1, max_bytes=1)
            await stranger.send_request(replace(fetch, replica_id=replica_id), 12)
            await stranger.frame()


class RelayedQuestions(Attack):
    """DescribeQuorum, put to followers, each time another question."""

    width = 6
    pause_s = 0.5

    def target(self) -> Endpoint:
        return self.dice.choice(self.scene.followers)

    async def round(self, stranger: Stranger) -> None:
        for _ in range(_QUESTIONS):
            await stranger.send_request(self._question(), 2)
            await asyncio.sleep(0)
        if self.dice.random() < 0.5:  # else it does not wait for the answers
            for _ in range(_QUESTIONS):
                await stranger.frame()

    def _question(self) -> quorum.DescribeQuorumRequest:
        partition = quorum.DescribeQuorumRequestPartition(partition_index=self.dice.randrange(1 << 31))
        topic = quorum.DescribeQuorumRequestTopic(topic_name=TOPIC, partitions=(partition,) * self.dice.randint(1, 50))
        return quorum.DescribeQuorumRequest(topics=(topic,))
