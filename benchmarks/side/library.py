"""Records one by one, as a Python program has them: by this project's library, confluent-kafka and aiokafka.

All of them are clients of the same quorum of this project, idempotent, and read committed records.

python -P -m benchmarks.side.library
"""

from __future__ import annotations

import asyncio
import time
from itertools import islice

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AiokafkaPartition
from confluent_kafka import Consumer, TopicPartition

from benchmarks.side.bulk import by_librdkafka
from benchmarks.side.calls import answer_calls
from raft import Producer, Reader, Record

_BATCH_BYTES = 1_000_000
_LONGEST_S = 120.0


def append_by_library(servers: str, topic: str, rows: int, value_bytes: int) -> float:
    """Append records in one call; return the seconds until the last one is committed."""
    del topic  # A quorum has one.
    value = b"x" * value_bytes
    with Producer(servers, batch_bytes=_BATCH_BYTES) as producer:
        producer.append(value)
        started = time.perf_counter()
        producer.append_all(Record(value=value) for _ in range(rows))
        return time.perf_counter() - started


def append_by_confluent(servers: str, topic: str, rows: int, value_bytes: int) -> float:
    """Produce records; return the seconds until the last one is acknowledged."""
    return by_librdkafka(servers, topic, rows, value_bytes)


def append_by_aiokafka(servers: str, topic: str, rows: int, value_bytes: int) -> float:
    """Produce records; return the seconds until the last one is acknowledged."""
    return asyncio.run(_append_by_aiokafka(servers, topic, rows, b"x" * value_bytes))


async def _append_by_aiokafka(servers: str, topic: str, rows: int, value: bytes) -> float:
    async with AIOKafkaProducer(
        bootstrap_servers=servers, enable_idempotence=True, linger_ms=5, max_batch_size=_BATCH_BYTES
    ) as producer:
        await producer.send_and_wait(topic, value)
        started = time.perf_counter()
        for _ in range(rows):
            last = await producer.send(topic, value)
        await producer.flush()
        await last
        return time.perf_counter() - started


def read_by_library(servers: str, topic: str, rows: int) -> float:
    """Read the first records of the log; return the seconds."""
    del topic
    with Reader(servers) as reader:
        started = time.perf_counter()
        found = sum(1 for _ in islice(reader, rows))
        seconds = time.perf_counter() - started
    assert found == rows, f"{found} of {rows} records were read"
    return seconds


def read_by_confluent(servers: str, topic: str, rows: int) -> float:
    """Consume the first records of the log; return the seconds."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    started, found = time.perf_counter(), 0
    while found < rows:
        messages = consumer.consume(min(10_000, rows - found), timeout=_LONGEST_S)
        assert messages, f"{found} of {rows} records were read within {_LONGEST_S:g} s"
        found += sum(message.error() is None for message in messages)
    seconds = time.perf_counter() - started
    consumer.close()
    return seconds


def read_by_aiokafka(servers: str, topic: str, rows: int) -> float:
    """Consume the first records of the log; return the seconds."""
    return asyncio.run(_read_by_aiokafka(servers, topic, rows))


async def _read_by_aiokafka(servers: str, topic: str, rows: int) -> float:
    async with AIOKafkaConsumer(bootstrap_servers=servers, isolation_level="read_committed") as consumer:
        partition = AiokafkaPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, 0)
        started, found = time.perf_counter(), 0
        while found < rows:
            messages = await consumer.getmany(partition, timeout_ms=int(_LONGEST_S * 1000), max_records=rows - found)
            assert messages, f"{found} of {rows} records were read within {_LONGEST_S:g} s"
            found += sum(map(len, messages.values()))
        return time.perf_counter() - started


def main() -> None:
    """Respond to calls until standard input ends."""
    functions = (
        append_by_library,
        append_by_confluent,
        append_by_aiokafka,
        read_by_library,
        read_by_confluent,
        read_by_aiokafka,
    )
    answer_calls({function.__name__: function for function in functions})


if __name__ == "__main__":
    main()
