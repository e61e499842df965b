"""Writing and reading with librdkafka, which confluent-kafka, kcat and many others use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

from raft.records.record import Record
from raft.security.jaas import JaasEntry
from raft.types import Offset
from tests.hang import HANG_S
from tests.node.harness.properties import TOPIC

PARTITION = 0


def settings_of(properties: Mapping[str, str]) -> dict[str, object]:
    """Return the settings for the properties of a Java client that uses SASL: librdkafka does not read JAAS.

    Args:
        properties: with the trusted certificates, if the protocol is SASL_SSL.
    """
    mechanism = properties["sasl.mechanism"]
    username, password = JaasEntry.parse(properties["sasl.jaas.config"], mechanism).own_credentials()
    settings: dict[str, object] = {
        "security.protocol": properties["security.protocol"],
        "sasl.mechanism": mechanism,
        "sasl.username": username,
        "sasl.password": password,
    }
    if (trusted := properties.get("ssl.truststore.certificates")) is not None:
        settings["ssl.ca.pem"] = trusted
    return settings


def produce(
    servers: str,
    records: Iterable[Record],
    settings: Mapping[str, object],
    *,
    topic: str = TOPIC,
    before_each: Callable[[int], None] = lambda _: None,
) -> list[Record]:
    """Write records; return them with the offsets that were reported, in the order of the reports.

    Args:
        servers: some nodes of the quorum.
        records: what to write.
        settings: of the producer.
        topic: its name.
        before_each: called with the number of each record before it is produced.

    Raises:
        AssertionError: a record was not delivered.
    """
    delivered = []

    def note(record: Record) -> Callable[[KafkaError | None, Message], None]:
        def on_delivery(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            offset = message.offset()
            assert offset is not None
            delivered.append(replace(record, offset=Offset(offset)))

        return on_delivery

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, **settings})
    for at, record in enumerate(records):
        before_each(at)
        producer.produce(
            topic,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            timestamp=record.timestamp_ms,
            on_delivery=note(record),
        )
        producer.poll(0)
    left = producer.flush(HANG_S)
    assert left == 0, f"{left} records are not delivered"
    return delivered


def consume(
    servers: str,
    start_offset: int | None,
    settings: Mapping[str, object],
    *,
    before_each: Callable[[int], None] = lambda _: None,
) -> list[Record]:
    """Read everything from an offset to the end.

    Args:
        servers: some nodes of the quorum.
        start_offset: None for the beginning.
        settings: of the consumer.
        before_each: called with the number of each record before it is read.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "none",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **settings,
        }
    )
    try:
        start = OFFSET_BEGINNING if start_offset is None else start_offset
        consumer.assign([TopicPartition(TOPIC, PARTITION, start)])
        records: list[Record] = []
        while True:
            before_each(len(records))
            message = consumer.poll(HANG_S)
            assert message is not None, f"no record within {HANG_S} s, after {len(records)} records"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return records
            records.append(_record(message))
    finally:
        consumer.close()


def _record(message: Message) -> Record:
    offset = message.offset()
    assert offset is not None
    headers: Any = message.headers() or ()
    return Record(
        key=message.key(),
        value=message.value(),
        headers=tuple(headers),
        timestamp_ms=message.timestamp()[1],
        offset=Offset(offset),
    )
