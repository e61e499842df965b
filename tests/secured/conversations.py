"""Records that a producer and a consumer pass on, one after the other: each is sent when the one before was received.

So both use their connections all the time, and a record that is lost or doubled is noticed at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from confluent_kafka import Consumer, Producer, TopicPartition

from raft.types import Offset
from tests.hang import HANG_S
from tests.java.kafka import Kafka, MainClass
from tests.node.harness.properties import TOPIC
from tests.secured import aiokafka_client, connection_ends
from tests.secured.access import Access
from tests.secured.judges import CONSOLE_PLACE


class Conversation(Protocol):
    """A producer and a consumer."""

    def hold(self, access: Access, start_offset: Offset, values: Iterator[str]) -> list[str]:
        """Send each value, and wait until it is received; return what was received, in its order.

        Args:
            access: of both.
            start_offset: the consumer begins there.
            values: what to send.
        """
        ...


class ConsoleConversation:
    """kafka-console-producer and kafka-console-consumer.

    Args:
        kafka: Kafka's programs.
        folder: gets the file of `--command-config`.
    """

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self._kafka = kafka
        self._folder = folder

    def hold(self, access: Access, start_offset: Offset, values: Iterator[str]) -> list[str]:
        """See `Conversation`."""
        config = str(access.write(self._folder / "client.properties", linger__ms="0"))
        connection = ("--bootstrap-server", access.bootstrap_servers, "--command-config", config)
        place = (*CONSOLE_PLACE, "--offset", str(start_offset))
        with (
            self._kafka.start(MainClass.CONSOLE_CONSUMER, *connection, *place) as consumer,
            self._kafka.start(MainClass.CONSOLE_PRODUCER, *connection, "--topic", TOPIC) as producer,
        ):
            received = []
            for value in values:
                producer.write(f"{value}\n".encode())
                received.append(consumer.line(within_s=HANG_S))
            assert not producer.errors, producer.errors
            assert not consumer.errors, consumer.errors
            return received


class LibrdkafkaConversation:
    """confluent-kafka."""

    def hold(self, access: Access, start_offset: Offset, values: Iterator[str]) -> list[str]:
        """See `Conversation`."""
        settings = {"bootstrap.servers": access.bootstrap_servers, **access.librdkafka()}
        producer = Producer({**settings, "enable.idempotence": True, "linger.ms": 0})
        consumer = Consumer({**settings, "group.id": "none", "enable.auto.commit": False})
        try:
            consumer.assign([TopicPartition(TOPIC, 0, start_offset)])
            received = []
            for value in values:
                producer.produce(TOPIC, value=value.encode())
                producer.poll(0)
                message = consumer.poll(HANG_S)
                assert message is not None, f"{value} was not received"
                assert message.error() is None, message.error()
                content = message.value()
                assert content is not None, "no record is sent without a value"
                received.append(content.decode())
            assert producer.flush(HANG_S) == 0
            return received
        finally:
            consumer.close()


class AiokafkaConversation:
    """aiokafka."""

    def hold(self, access: Access, start_offset: Offset, values: Iterator[str]) -> list[str]:
        """See `Conversation`."""
        return connection_ends.run(self._hold(access, start_offset, values))

    async def _hold(self, access: Access, start_offset: Offset, values: Iterator[str]) -> list[str]:
        received = []
        async with (
            aiokafka_client.producer_of(access) as producer,
            aiokafka_client.consumer_of(access, start_offset) as consumer,
        ):
            for value in values:
                async with asyncio.timeout(HANG_S):
                    await producer.send_and_wait(TOPIC, value.encode(), partition=0)
                    received.append((await consumer.getone()).value.decode())
        return received
