"""Writing and reading with aiokafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from raft.records.record import Record
from raft.types import Offset
from tests.hang import HANG_S
from tests.node.harness.properties import TOPIC
from tests.secured.access import Access

_PARTITION = TopicPartition(TOPIC, 0)


async def produce(access: Access, records: Iterable[Record], *, is_idempotent: bool = True) -> None:
    """Write records, and wait until they are acknowledged.

    Args:
        access: of the producer.
        records: what to write.
        is_idempotent: whether the node recognizes what the producer sends twice.
    """
    async with asyncio.timeout(HANG_S), producer_of(access, is_idempotent=is_idempotent) as producer:
        waiting = [
            await producer.send(TOPIC, key=record.key, value=record.value, partition=_PARTITION.partition)
            for record in records
        ]
        await asyncio.gather(*waiting)


async def consume(access: Access, start_offset: Offset, count: int) -> list[Record]:
    """Read so many records from an offset on."""
    records: list[Record] = []
    async with asyncio.timeout(HANG_S), consumer_of(access, start_offset) as consumer:
        while len(records) < count:
            fetched = await consumer.getmany(_PARTITION, timeout_ms=500)
            records += [record_of(each) for each in fetched.get(_PARTITION, [])]
    return records


@asynccontextmanager
async def producer_of(access: Access, *, is_idempotent: bool = True) -> AsyncIterator[AIOKafkaProducer]:
    """Run a producer."""
    producer = AIOKafkaProducer(enable_idempotence=is_idempotent, **access.aiokafka())
    try:
        await producer.start()
        yield producer
    finally:
        await producer.stop()


@asynccontextmanager
async def consumer_of(access: Access, start_offset: Offset) -> AsyncIterator[AIOKafkaConsumer]:
    """Run a consumer that reads from an offset on."""
    consumer = AIOKafkaConsumer(enable_auto_commit=False, auto_offset_reset="none", **access.aiokafka())
    try:
        await consumer.start()
        consumer.assign([_PARTITION])
        consumer.seek(_PARTITION, start_offset)
        yield consumer
    finally:
        await consumer.stop()


def record_of(received: ConsumerRecord) -> Record:
    """Return what a consumer has received."""
    return Record(
        key=received.key, value=received.value, timestamp_ms=received.timestamp, offset=Offset(received.offset)
    )
