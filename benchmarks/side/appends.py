"""Appends of single records: by the client of this project to its quorum, and by librdkafka to a broker of Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from confluent_kafka import KafkaError, Message, Producer

from raft.client import Client, ClientSettings
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Endpoint

Append = Callable[[bytes], None]
"""Appends one value and returns when it is acknowledged."""

_LONGEST_S = 60


def client_of(servers: str, security: Mapping[str, str] | None = None) -> Client:
    """Return a client of this project.

    Args:
        servers: host:port,...
        security: the properties by which it is protected; None for none, as in checkouts that know of none.
    """
    pairs = [server.rpartition(":") for server in servers.split(",")]
    endpoints = tuple(Endpoint(host, int(port)) for host, _, port in pairs)
    settings = ClientSettings(bootstrap_servers=endpoints, api_timeout_ms=_LONGEST_S * 1000)
    if security:
        from raft.config.security import client_security

        settings = replace(settings, security=client_security(security))
    return Client(settings)


def appends_by_client(client: Client) -> Append:
    """Return a function that appends under a producer id of its own."""
    producer_id, sequence = client.new_producer_id(), 0

    def append(value: bytes) -> None:
        nonlocal sequence
        record = Record(value=value, timestamp_ms=int(time.time() * 1000))
        client.append(build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=sequence))
        sequence += 1

    return append


def appends_by_librdkafka(servers: str, topic: str) -> Append:
    """Return a function that appends without waiting for more records to send."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "acks": "all"})

    def append(value: bytes) -> None:
        producer.produce(topic, value, on_delivery=_require_delivered)
        left = producer.flush(_LONGEST_S)
        assert left == 0, f"no acknowledgement within {_LONGEST_S} s"

    return append


def _require_delivered(error: KafkaError | None, message: Message) -> None:
    del message
    assert error is None, str(error)
