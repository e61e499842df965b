"""Programs that are not of this project, each with its own TLS and SASL: they write and read records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from raft.records.record import Record
from raft.types import Offset
from tests.java import librdkafka
from tests.java.kafka import Kafka, MainClass
from tests.node.harness.properties import TOPIC
from tests.secured import aiokafka_client, connection_ends
from tests.secured.access import Access

CONSOLE_PLACE = ("--topic", TOPIC, "--partition", "0")
CONSOLE_COLUMNS = tuple(
    word for column in ("timestamp", "offset", "key") for word in ("--formatter-property", f"print.{column}=true")
)


class Judge(Protocol):
    """A producer and a consumer of Kafka."""

    def produce(self, access: Access, records: Sequence[Record]) -> None:
        """Write keys and values of records, and wait until they are acknowledged."""
        ...

    def consume(self, access: Access, start_offset: Offset, count: int) -> list[Record]:
        """Read so many records from an offset on."""
        ...


class Console:
    """kafka-console-producer and kafka-console-consumer, with Kafka's Java clients.

    Args:
        kafka: Kafka's programs.
        folder: gets the file of `--command-config`.
    """

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self._kafka = kafka
        self._folder = folder

    def produce(self, access: Access, records: Sequence[Record]) -> None:
        """See `Judge`."""
        lines = [f"{_text(record.key)}\t{_text(record.value)}\n" for record in records]
        arguments = ("--topic", TOPIC, "--reader-property", "parse.key=true")
        finished = self._kafka.run(
            MainClass.CONSOLE_PRODUCER, *self._connection(access), *arguments, stdin="".join(lines).encode()
        )
        assert "ERROR" not in finished.errors, finished.errors
        finished.require_success()

    def consume(self, access: Access, start_offset: Offset, count: int) -> list[Record]:
        """See `Judge`."""
        extent = ("--offset", str(start_offset), "--max-messages", str(count))
        output = self._kafka.output(
            MainClass.CONSOLE_CONSUMER, *self._connection(access), *CONSOLE_PLACE, *extent, *CONSOLE_COLUMNS
        )
        return [record_of_line(line) for line in output.splitlines()]

    def _connection(self, access: Access) -> tuple[str, ...]:
        config = access.write(self._folder / "client.properties")
        return ("--bootstrap-server", access.bootstrap_servers, "--command-config", str(config))


class Librdkafka:
    """confluent-kafka."""

    def produce(self, access: Access, records: Sequence[Record]) -> None:
        """See `Judge`."""
        settings = {"enable.idempotence": True, **access.librdkafka()}
        delivered = librdkafka.produce(access.bootstrap_servers, records, settings)
        assert len(delivered) == len(records)

    def consume(self, access: Access, start_offset: Offset, count: int) -> list[Record]:
        """See `Judge`."""
        read = librdkafka.consume(access.bootstrap_servers, start_offset, access.librdkafka())
        assert len(read) >= count
        return read[:count]


class Aiokafka:
    """aiokafka."""

    def produce(self, access: Access, records: Sequence[Record]) -> None:
        """See `Judge`."""
        connection_ends.run(aiokafka_client.produce(access, records))

    def consume(self, access: Access, start_offset: Offset, count: int) -> list[Record]:
        """See `Judge`."""
        return connection_ends.run(aiokafka_client.consume(access, start_offset, count))


def record_of_line(line: str) -> Record:
    """Return the record that the console consumer has printed with `CONSOLE_COLUMNS`."""
    created, place, key, value = line.split("\t")
    return Record(
        key=key.encode(),
        value=value.encode(),
        timestamp_ms=int(created.removeprefix("CreateTime:")),
        offset=Offset(int(place.removeprefix("Offset:"))),
    )


def _text(data: bytes | None) -> str:
    assert data is not None, "the console producer gets texts"
    return data.decode()
