"""aiokafka requests offsets with an old version of ListOffsets (3), which has no leader epoch."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.java.kraft import end_offset
from tests.java.librdkafka import produce
from tests.java.samples import later_ms, records_of_every_kind
from tests.node.harness.properties import TOPIC
from tests.processes.node_quorum import NodeQuorum

pytestmark = pytest.mark.java


@pytest.mark.rule("CLIENT-5")
def test_aiokafka_finds_offsets_by_beginning_end_and_timestamp(quorum: NodeQuorum) -> None:
    first_ms = later_ms()
    written = produce(quorum.bootstrap_servers, records_of_every_kind(10, "offsets", first_timestamp_ms=first_ms), {})
    partition = TopicPartition(TOPIC, 0)

    async def find() -> list[int]:
        async with AIOKafkaConsumer(bootstrap_servers=quorum.bootstrap_servers) as consumer:
            (beginning,) = (await consumer.beginning_offsets([partition])).values()
            (end,) = (await consumer.end_offsets([partition])).values()
            (by_time,) = (await consumer.offsets_for_times({partition: first_ms + 4})).values()
            return [beginning, end, by_time.offset]

    assert asyncio.run(find()) == [0, end_offset(quorum), written[4].offset]
