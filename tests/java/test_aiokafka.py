"""aiokafka's producer and consumer."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from raft.records.record import Record
from raft.types import Offset
from tests.hang import HANG_S
from tests.java.kraft import end_offset
from tests.java.samples import placed, records_of_every_kind
from tests.node.harness.properties import TOPIC
from tests.processes.node_quorum import NodeQuorum

pytestmark = pytest.mark.java

_PARTITION = 0


async def produce(servers: str, records: list[Record], *, codec: str | None, is_idempotent: bool) -> list[int]:
    """Write records; return their offsets."""
    async with AIOKafkaProducer(
        bootstrap_servers=servers, compression_type=codec, enable_idempotence=is_idempotent, linger_ms=20
    ) as producer:
        waiting = [
            await producer.send(
                TOPIC,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                timestamp_ms=record.timestamp_ms,
                partition=_PARTITION,
            )
            for record in records
        ]
        return [reported.offset for reported in await asyncio.wait_for(asyncio.gather(*waiting), HANG_S)]


async def consume(servers: str, start_offset: int, end_offset: int, isolation_level: str) -> list[Record]:
    """Read all records from one offset up to another."""
    partition = TopicPartition(TOPIC, _PARTITION)
    async with AIOKafkaConsumer(
        bootstrap_servers=servers, isolation_level=isolation_level, enable_auto_commit=False
    ) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, start_offset)
        records: list[Record] = []
        async with asyncio.timeout(HANG_S):
            while await consumer.position(partition) < end_offset:
                fetched = await consumer.getmany(partition, timeout_ms=500)
                records += [_record(record) for record in fetched.get(partition, [])]
        return records


def _record(received: ConsumerRecord) -> Record:
    return Record(
        key=received.key,
        value=received.value,
        headers=tuple(received.headers),
        timestamp_ms=received.timestamp,
        offset=Offset(received.offset),
    )


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("is_idempotent", [True, False], ids=["idempotent", "plain"])
def test_aiokafka_reads_what_it_wrote(quorum: NodeQuorum, codec: str | None, is_idempotent: bool) -> None:
    servers = quorum.bootstrap_servers
    start_offset = end_offset(quorum)
    # aiokafka rejects records that have neither key nor value.
    records = [
        record
        for record in records_of_every_kind(500, f"aiokafka {codec}")
        if (record.key, record.value) != (None, None)
    ]

    offsets = asyncio.run(produce(servers, records, codec=codec, is_idempotent=is_idempotent))

    assert offsets == list(range(start_offset, start_offset + len(records)))
    for isolation_level in ("read_committed", "read_uncommitted"):
        read = asyncio.run(consume(servers, start_offset, end_offset(quorum), isolation_level))
        assert read == placed(records, start_offset), isolation_level
