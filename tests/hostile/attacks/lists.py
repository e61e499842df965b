"""Requests that list one topic or partition many times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from raft.codec import Message
from raft.codec.decoder import MAX_REQUEST_ELEMENTS
from raft.wire.frames import encode_request
from raft.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.hostile.attacks.attack import Attack, AttackInputs
from tests.hostile.connection import CLIENT_ID, Connection
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import fetch_request, list_offsets_request, produce_request

_COUNTS = (50_000, 3_000, MAX_REQUEST_ELEMENTS + 1, MAX_REQUEST_ELEMENTS - 1)
"""Too many for a frame; too many for a request, in a valid frame; one more than the limit; one less."""


def _listing(count: int) -> Iterator[tuple[Message, int]]:
    (topic,) = fetch_request(0).topics
    yield replace(fetch_request(0), topics=(replace(topic, partitions=topic.partitions * count),)), 4
    (offsets,) = list_offsets_request(1).topics
    yield replace(list_offsets_request(1), topics=(replace(offsets, partitions=offsets.partitions * count),)), 4
    yield MetadataRequest(topics=(MetadataRequestTopic(name=TOPIC),) * count), 8
    yield MetadataRequest(topics=(MetadataRequestTopic(name="a"),) * count), 9
    (produced,) = produce_request(b"").topic_data
    yield replace(produce_request(b""), topic_data=(replace(produced, partition_data=()),) * count), 9
    yield (
        replace(produce_request(b""), topic_data=(replace(produced, partition_data=produced.partition_data * count),)),
        9,
    )


def _encoded() -> tuple[bytes, ...]:
    return tuple(
        encode_request(request, version, correlation_id=1, client_id=CLIENT_ID)
        for count in _COUNTS
        for request, version in _listing(count)
    )


class LongLists(Attack):
    """50,000 partitions or topics in one request, and counts around the limit."""

    width = 6

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self._frames = _encoded()

    async def round(self, connection: Connection) -> None:
        for _ in range(2):
            await connection.send(self.dice.choice(self._frames))
            await connection.frame()
