"""The errors that Kafka's clients report when the quorum refuses them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from raft.records.record import Record
from raft.types import Offset
from tests.hang import HANG_S
from tests.java.kafka import Kafka, MainClass
from tests.node.harness.properties import TOPIC
from tests.node.harness.waiting import eventually
from tests.secured import aiokafka_client, connection_ends
from tests.secured.access import Access

_RECORD = Record(key=b"key", value=b"refused", timestamp_ms=0)
_POLL_S = 0.05


class RefusedClient(Protocol):
    """A producer and a consumer that fail."""

    def error_of_producer(self, access: Access, *, is_idempotent: bool) -> str:
        """Return what the producer reports for a record."""
        ...

    def error_of_consumer(self, access: Access) -> str:
        """Return what the consumer reports for a read from the beginning."""
        ...


class RefusedConsole:
    """The console tools: their Java clients log the errors.

    Args:
        kafka: Kafka's programs.
        folder: gets the file of `--command-config`.
    """

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self._kafka = kafka
        self._folder = folder

    def error_of_producer(self, access: Access, *, is_idempotent: bool) -> str:
        """See `RefusedClient`."""
        config = access.write(self._folder / "client.properties", enable__idempotence=str(is_idempotent).lower())
        return self._run(MainClass.CONSOLE_PRODUCER, access, config, stdin=b"refused\n")

    def error_of_consumer(self, access: Access) -> str:
        """See `RefusedClient`."""
        config = access.write(self._folder / "client.properties")
        return self._run(MainClass.CONSOLE_CONSUMER, access, config, "--partition", "0", "--offset", "0")

    def _run(self, program: MainClass, access: Access, config: Path, *arguments: str, stdin: bytes = b"") -> str:
        place = ("--bootstrap-server", access.bootstrap_servers, "--command-config", str(config), "--topic", TOPIC)
        return self._kafka.run(program, *place, *arguments, stdin=stdin, within_s=HANG_S).errors


class RefusedLibrdkafka:
    """confluent-kafka: its callbacks, records and calls have the errors."""

    def error_of_producer(self, access: Access, *, is_idempotent: bool) -> str:
        """See `RefusedClient`."""
        errors: list[KafkaError] = []
        settings = {**_librdkafka(access, errors), "enable.idempotence": is_idempotent}
        producer = Producer(settings)

        def on_delivery(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                errors.append(error)

        def look() -> list[KafkaError]:
            try:
                producer.poll(_POLL_S)
            except KafkaException as raised:
                errors.append(raised.args[0])
            return errors

        producer.produce(TOPIC, value=_RECORD.value, on_delivery=on_delivery)
        try:
            return _words(eventually(look, "the producer reports an error", within_s=HANG_S))
        finally:
            producer.purge()

    def error_of_consumer(self, access: Access) -> str:
        """See `RefusedClient`."""
        errors: list[KafkaError] = []
        consumer = Consumer({**_librdkafka(access, errors), "group.id": "none"})
        consumer.assign([TopicPartition(TOPIC, 0, 0)])

        def look() -> list[KafkaError]:
            message = consumer.poll(_POLL_S)
            error = None if message is None else message.error()
            return errors if error is None else [error]

        try:
            return _words(eventually(look, "the consumer reports an error", within_s=HANG_S))
        finally:
            consumer.close()


class RefusedAiokafka:
    """aiokafka: it raises errors, and logs why it cannot connect.

    Args:
        caplog: collects what it logs.
    """

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        caplog.set_level(logging.ERROR, "aiokafka")

    def error_of_producer(self, access: Access, *, is_idempotent: bool) -> str:
        """See `RefusedClient`."""
        with pytest.raises(Exception) as refused:  # noqa: PT011 - the caller compares what is reported
            connection_ends.run(aiokafka_client.produce(access, [_RECORD], is_idempotent=is_idempotent))
        return f"{self._caplog.text}{refused.value!r}"

    def error_of_consumer(self, access: Access) -> str:
        """See `RefusedClient`."""
        with pytest.raises(Exception) as refused:  # noqa: PT011 - the caller compares what is reported
            connection_ends.run(aiokafka_client.consume(access, Offset(0), 1))
        return f"{self._caplog.text}{refused.value!r}"


def _librdkafka(access: Access, errors: list[KafkaError]) -> dict[str, object]:
    servers = {"bootstrap.servers": access.bootstrap_servers}
    # The errors are compared, so nothing is logged.
    return {**servers, "error_cb": errors.append, "log_level": 0, **access.librdkafka()}


def _words(errors: list[KafkaError]) -> str:
    return "\n".join(f"{error.name()}: {error.str()}" for error in errors)
