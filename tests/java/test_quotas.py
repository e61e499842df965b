"""Client quotas, as the clients of others see them, beside a broker of Kafka with the same quotas.

In its first ten seconds a broker throttles more than the quota asks for: it divides what it has measured by the length
of its windows, from the beginning on, also while the client waits.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer, ThrottleEvent

from tests.hang import HANG_S
from tests.java.cluster import KafkaCluster
from tests.java.kafka import Kafka, MainClass
from tests.java.kraft import kraft_quorum
from tests.node.harness.properties import TOPIC
from tests.processes.node_quorum import NodeQuorum

pytestmark = [pytest.mark.java, pytest.mark.rule("QUOTA-3")]

RATE = 100_000
"""Bytes a second. Without a pause a client may use ten seconds of it."""

RECORDS, RECORD_BYTES = 50, 25_000
"""They take as long as the bytes beyond that: two and a half seconds."""

SHORTEST_S = (RECORDS * RECORD_BYTES - 10 * RATE) / RATE
QUOTAS = f"""
[[quota]]
client-id = "throttled"
producer_byte_rate = {RATE}
consumer_byte_rate = {RATE}
"""

_LONGEST_OF_PERCENTAGE_MS = 1_000


class Throttled(NamedTuple):
    """What a client of Kafka's has seen: how long it took, and the longest throttle."""

    duration_ms: int
    longest_throttle_ms: int


@contextmanager
def quorum_with(folder: Path, quotas: str) -> Iterator[NodeQuorum]:
    """Run voters of ours with these quotas during the block."""
    file = folder / "quotas.toml"
    file.write_text(quotas)
    with kraft_quorum(folder, settings={"raft.quotas.file": str(file)}).start() as running:
        running.settle()
        yield running


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeQuorum]:
    """Voters of ours with quotas of bytes."""
    with quorum_with(tmp_path_factory.mktemp("limited"), QUOTAS) as running:
        yield running


def java_clients(kafka: Kafka, servers: str, topic: str, *, record_bytes: int = RECORD_BYTES) -> list[Throttled]:
    """Let Kafka's producer write and its consumer read; return what each has seen."""
    source = Path(__file__).parent / "programs" / "ThrottledClients.java"
    with kafka.start_source(source, servers, topic, str(RECORDS), str(record_bytes)) as program:
        lines = program.rest_of_output(within_s=HANG_S).splitlines()
        assert program.wait() == 0, program.errors
    seen = [[int(number) for number in line.split()] for line in lines]
    assert [records for records, _, _ in seen] == [RECORDS, RECORDS]
    return [Throttled(duration_ms, throttle_ms) for _, duration_ms, throttle_ms in seen]


def test_java_clients_measure_throttles_that_keep_the_quota_and_are_no_longer_than_those_of_a_broker(
    kafka: Kafka, limited: NodeQuorum, tmp_path: Path
) -> None:
    with KafkaCluster(kafka, tmp_path).start() as cluster:
        cluster.create_topics("limited")
        kafka.output(
            MainClass.CONFIGS,
            *("--bootstrap-server", cluster.bootstrap_servers, "--alter", "--entity-type", "clients"),
            *("--entity-name", "throttled"),
            *("--add-config", f"producer_byte_rate={RATE},consumer_byte_rate={RATE}"),
            within_s=HANG_S,
        )
        at_a_broker = java_clients(kafka, cluster.bootstrap_servers, "limited")
    at_ours = java_clients(kafka, limited.bootstrap_servers, TOPIC)

    for ours, brokers in zip(at_ours, at_a_broker, strict=True):
        assert 0.9 * SHORTEST_S * 1000 < ours.duration_ms < brokers.duration_ms
        assert 0 < ours.longest_throttle_ms <= brokers.longest_throttle_ms


@pytest.mark.rule("QUOTA-2")
def test_java_clients_measure_the_throttles_of_a_quota_of_processor_time(kafka: Kafka, tmp_path: Path) -> None:
    with quorum_with(tmp_path, '[[quota]]\nclient-id = "throttled"\nrequest_percentage = 0.1\n') as quorum:
        seen = java_clients(kafka, quorum.bootstrap_servers, TOPIC, record_bytes=100)

    assert [0 < each.longest_throttle_ms <= _LONGEST_OF_PERCENTAGE_MS for each in seen] == [True, True], seen


def test_librdkafka_reports_the_throttle(limited: NodeQuorum) -> None:
    events: list[ThrottleEvent] = []
    producer = Producer(
        {"bootstrap.servers": limited.bootstrap_servers, "client.id": "throttled", "throttle_cb": events.append}
    )
    delivered: list[object] = []
    begin_s = time.monotonic()

    for _ in range(RECORDS):
        producer.produce(TOPIC, os.urandom(RECORD_BYTES), on_delivery=lambda error, _: delivered.append(error))
        assert producer.flush(HANG_S) == 0

    assert delivered == [None] * RECORDS
    # On a busy machine a part of the time passes before the records are sent.
    assert time.monotonic() - begin_s > 0.9 * SHORTEST_S
    assert sum(event.throttle_time for event in events) > 0


def test_aiokafka_has_no_measure_of_its_own_and_is_as_slow(limited: NodeQuorum) -> None:
    async def write_all() -> float:
        async with AIOKafkaProducer(
            bootstrap_servers=limited.bootstrap_servers, client_id="throttled", request_timeout_ms=HANG_S * 1000
        ) as producer:
            begin_s = asyncio.get_running_loop().time()
            for _ in range(RECORDS):
                await producer.send_and_wait(TOPIC, os.urandom(RECORD_BYTES), partition=0)
            return asyncio.get_running_loop().time() - begin_s

    assert asyncio.run(write_all()) > 0.9 * SHORTEST_S
