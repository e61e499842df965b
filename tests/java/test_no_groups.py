"""Consumer groups, and transactions beside Java nodes, are not supported: each call ends with an error that says so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.hang import HANG_S
from tests.java.kafka import Kafka, MainClass
from tests.java.kraft import kraft_quorum
from tests.node.harness.properties import TOPIC
from tests.processes.node_quorum import NodeQuorum

pytestmark = [pytest.mark.java, pytest.mark.rule("CLIENT-14")]

PARTITION = 0


@contextmanager
def consumer_of(quorum: NodeQuorum) -> Iterator[Consumer]:
    """librdkafka's consumer in a group, which commits its offsets, as by default."""
    consumer = Consumer({"bootstrap.servers": quorum.bootstrap_servers, "group.id": "a group"})
    try:
        yield consumer
    finally:
        consumer.close()


def test_librdkafka_reports_an_error_when_it_subscribes(quorum: NodeQuorum) -> None:
    with consumer_of(quorum) as consumer:
        consumer.subscribe([TOPIC])
        message = consumer.poll(HANG_S)

    assert message is not None
    error = message.error()
    assert error is not None
    assert error.str() == "JoinGroup failed: Broker: API version not supported"


def test_librdkafka_reports_an_error_when_it_commits_and_when_it_requests_its_offsets(
    quorum: NodeQuorum,
) -> None:
    place = TopicPartition(TOPIC, PARTITION, 0)
    with consumer_of(quorum) as consumer:
        consumer.assign([place])
        with pytest.raises(KafkaException) as commit:
            consumer.commit(offsets=[place], asynchronous=False)
        with pytest.raises(KafkaException) as committed:
            consumer.committed([place], timeout=HANG_S)

    assert {refused.value.args[0].code() for refused in (commit, committed)} == {KafkaError._UNSUPPORTED_FEATURE}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeQuorum]:
    """A quorum in which Java nodes could take part."""
    with kraft_quorum(tmp_path_factory.mktemp("strict"), 1, {"raft.records.strict": "true"}).start() as running:
        running.settle()
        yield running


def test_librdkafka_reports_an_error_when_it_begins_a_transaction(strict: NodeQuorum) -> None:
    producer = Producer({"bootstrap.servers": strict.bootstrap_servers, "transactional.id": "a transaction"})

    with pytest.raises(KafkaException) as refused:
        producer.init_transactions(HANG_S)

    error = refused.value.args[0]
    assert error.fatal()
    assert "refuses transactions, because raft.records.strict is set" in error.str()


async def aiokafka_subscribes(servers: str) -> None:
    consumer = AIOKafkaConsumer(TOPIC, bootstrap_servers=servers, group_id="a group")
    try:
        await consumer.start()
        await consumer.getone()
    finally:
        await consumer.stop()


async def aiokafka_commits(servers: str) -> None:
    place = AioTopicPartition(TOPIC, PARTITION)
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, group_id="a group", enable_auto_commit=False)
    consumer.assign([place])
    try:
        await consumer.start()
        await consumer.commit({place: 1})
    finally:
        await consumer.stop()


async def aiokafka_begins_a_transaction(servers: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id="a transaction")
    try:
        await producer.start()
    finally:
        await producer.stop()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        pytest.param(aiokafka_subscribes, "UnsupportedVersionError", id="subscribe"),
        pytest.param(aiokafka_commits, "OffsetCommitRequest cannot be used", id="commit"),
        pytest.param(aiokafka_begins_a_transaction, "ClusterAuthorizationFailedError", id="transaction"),
    ],
)
def test_aiokafka_reports_an_error(strict: NodeQuorum, call: object, words: str) -> None:
    async def run() -> None:
        async with asyncio.timeout(HANG_S):
            await call(strict.bootstrap_servers)  # type: ignore[operator]

    with pytest.raises(AioKafkaError, match=words):
        asyncio.run(run())


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_java_consumer_reports_an_error_when_it_subscribes(kafka: Kafka, quorum: NodeQuorum, protocol: str) -> None:
    finished = kafka.run(
        MainClass.CONSOLE_CONSUMER,
        "--bootstrap-server",
        quorum.bootstrap_servers,
        "--topic",
        TOPIC,
        "--group",
        "a-group",
        "--command-property",
        f"group.protocol={protocol}",
    )

    assert "org.apache.kafka.common.errors.UnsupportedVersionException" in finished.errors
    assert "Processed a total of 0 messages" in finished.errors


def test_java_producer_reports_an_error_when_it_begins_a_transaction(kafka: Kafka, strict: NodeQuorum) -> None:
    finished = kafka.run(
        MainClass.PRODUCER_PERFORMANCE,
        *("--bootstrap-server", strict.bootstrap_servers, "--topic", TOPIC),
        *("--num-records", "1", "--record-size", "1", "--throughput", "-1"),
        *("--transactional-id", "a-transaction", "--transaction-duration-ms", "1000"),
    )

    assert finished.exit_code == 1
    assert "refuses transactions, because raft.records.strict is set" in finished.errors
