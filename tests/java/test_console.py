"""kafka-console-producer and kafka-console-consumer, against `kraft append` and `kraft read`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.java.kafka import Kafka, MainClass
from tests.java.kraft import end_offset
from tests.java.librdkafka import produce as produce_with_librdkafka
from tests.java.samples import records_of_every_kind
from tests.node.harness.properties import TOPIC
from tests.processes.kraft import kraft, kraft_json
from tests.processes.node_quorum import NodeQuorum

pytestmark = pytest.mark.java

_COLUMNS = ("timestamp", "offset", "headers", "key")


def produce(kafka: Kafka, quorum: NodeQuorum, lines: list[str], *options: str) -> None:
    """Run kafka-console-producer with lines on its standard input."""
    kafka.output(
        MainClass.CONSOLE_PRODUCER,
        "--bootstrap-server",
        quorum.bootstrap_servers,
        "--topic",
        TOPIC,
        *options,
        stdin="".join(f"{line}\n" for line in lines).encode(),
    )


def consume(kafka: Kafka, quorum: NodeQuorum, offset: str, count: int, *options: str) -> list[str]:
    """Run kafka-console-consumer until it has read this many records; return its lines, one for each record."""
    finished = kafka.run(
        MainClass.CONSOLE_CONSUMER,
        "--bootstrap-server",
        quorum.bootstrap_servers,
        "--topic",
        TOPIC,
        "--partition",
        "0",
        "--offset",
        offset,
        "--max-messages",
        str(count),
        *(word for name in _COLUMNS for word in ("--formatter-property", f"print.{name}=true")),
        *options,
    )
    assert finished.errors.endswith(f"Processed a total of {count} messages\n"), finished.errors
    return finished.require_success().removesuffix("\n").split("\n")


def read(quorum: NodeQuorum, start: int | str) -> list[Any]:
    """Run `kraft read`."""
    return kraft_json("read", "--bootstrap-server", quorum.bootstrap_servers, "--from", str(start))


def as_line(row: Any) -> str:
    """Return a record of `kraft read` as the console consumer prints it."""
    headers = ",".join(f"{key}:{_text(value)}" for key, value in row.get("headers", [])) or "NO_HEADERS"
    place = (f"CreateTime:{row['timestamp']}", f"Offset:{row['offset']}")
    return "\t".join((*place, headers, _text(row["key"]), _text(row["value"])))


def _text(value: str | None) -> str:
    return "null" if value is None else value


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_console_consumer_and_kraft_read_what_the_console_producer_wrote(
    kafka: Kafka, quorum: NodeQuorum, codec: str
) -> None:
    start_offset = end_offset(quorum)
    pairs = [(f"key {at}", f"{codec} {at}, " * 20) for at in range(500)]

    lines = [f"{key}\t{value}" for key, value in pairs]
    produce(kafka, quorum, lines, "--reader-property", "parse.key=true", "--compression-codec", codec)

    ours = read(quorum, start_offset)
    assert [(row["key"], row["value"]) for row in ours] == pairs
    assert [row["offset"] for row in ours] == list(range(start_offset, start_offset + len(pairs)))
    assert consume(kafka, quorum, str(start_offset), len(pairs)) == [as_line(row) for row in ours]


def test_kraft_reads_headers_and_nulls_of_the_console_producer(kafka: Kafka, quorum: NodeQuorum) -> None:
    start_offset = end_offset(quorum)
    options = ("parse.headers=true", "parse.key=true", "null.marker=-")

    lines = ["a:1,b:2\tkey\tvalue", "-\t-\tvalue", "a:-\tkey\t-"]
    produce(kafka, quorum, lines, *(word for option in options for word in ("--reader-property", option)))

    assert [(row.get("headers"), row["key"], row["value"]) for row in read(quorum, start_offset)] == [
        ([["a", "1"], ["b", "2"]], "key", "value"),
        (None, None, "value"),
        ([["a", None]], "key", None),
    ]


@pytest.mark.rule("CONTROL-5")
@pytest.mark.parametrize("isolation_level", ["read_committed", "read_uncommitted"])
def test_console_consumer_reads_what_kraft_reads_from_the_beginning(
    kafka: Kafka, quorum: NodeQuorum, isolation_level: str
) -> None:
    kraft("append", "--bootstrap-server", quorum.bootstrap_servers, stdin=b"one\ntwo\nkey\tthree\n").require_success()
    ours = read(quorum, "earliest")

    lines = consume(kafka, quorum, "earliest", len(ours), "--isolation-level", isolation_level)

    assert lines == [as_line(row) for row in ours]
    assert [line.split("\t")[-2:] for line in lines[-3:]] == [["null", "one"], ["null", "two"], ["key", "three"]]


@pytest.mark.rule("CLIENT-2")
def test_console_consumer_starts_inside_a_batch_when_it_gets_such_an_offset(kafka: Kafka, quorum: NodeQuorum) -> None:
    written = produce_with_librdkafka(quorum.bootstrap_servers, records_of_every_kind(64, "inside"), {})
    inside = written[40].offset

    lines = consume(kafka, quorum, str(inside), len(written) - 40)

    assert lines == [as_line(row) for row in read(quorum, inside)]
