"""Kafka's readers read a compacted quorum from the beginning: the newest record of each key, and the tail."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raft.records.record import Record
from raft.types import Offset
from tests.hang import HANG_S
from tests.java.compacted_quorum import LARGE_STATE_KEYS, CompactedQuorum, large_state
from tests.java.installation import installed_connector
from tests.java.kafka import Kafka, MainClass
from tests.java.librdkafka import consume
from tests.node.harness.properties import TOPIC
from tests.processes.commands import child_environment
from tests.processes.piped_process import PipedProcess

pytestmark = [pytest.mark.java, pytest.mark.rule("READ-7")]

_PAUSING_CONSUMER = Path(__file__).parent / "programs" / "PausingConsumer.java"
_ISOLATION_LEVELS = ["read_committed", "read_uncommitted"]
_BEFORE_PAUSE = 100
_LATER_KEYS = range(LARGE_STATE_KEYS // 3, LARGE_STATE_KEYS)
"""Keys of the state that no reader has read when it pauses."""


Read = tuple[int, int, bytes | None, bytes | None]
"""Offset, timestamp, key and value of a record."""


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CompactedQuorum, list[Record]]]:
    """A quorum that has cut its log and does nothing any more, and what has to be left of the log."""
    with CompactedQuorum(tmp_path_factory.mktemp("quiet")).start() as quorum:
        with quorum.client() as client:
            quorum.write_large_state(client)
            quorum.write_until_cut(client)
            quorum.write_rounds(client, 2)
            log_start = quorum.wait_until_quiet()
        expected = quorum.expected(log_start)
        assert len(expected) < len(quorum.written)
        yield quorum, expected


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[CompactedQuorum]:
    """A quorum that has cut its log once."""
    with CompactedQuorum(tmp_path).start() as quorum:
        with quorum.client() as client:
            quorum.write_large_state(client)
            quorum.write_until_cut(client)
        yield quorum


def read_of(record: Record) -> Read:
    return (int(record.offset), record.timestamp_ms, record.key, record.value)


def replace_snapshot(quorum: CompactedQuorum, keys: range) -> None:
    """Write some keys of the state again, and others, until a newer snapshot has taken the place of the old one.

    Args:
        quorum: which has cut its log.
        keys: of the state.
    """
    before = quorum.log_start(quorum.leader_id())
    with quorum.client() as client:
        quorum.write(client, large_state(keys))
        last = max(quorum.written)
        quorum.write_until_cut(client, max(before, last))


def check_read_through_cuts(quorum: CompactedQuorum, found: list[Read]) -> None:
    """Check what was read while snapshots took the place of older ones: some old records are there or not, no matter.

    Raises:
        AssertionError: a record is missing, doubled, at another place, or was never written.
    """
    offsets = [read[0] for read in found]
    assert offsets == sorted(set(offsets))
    assert found == [read_of(quorum.written[Offset(offset)]) for offset in offsets]
    surviving = {int(record.offset) for record in quorum.expected(quorum.log_start(quorum.leader_id()))}
    assert surviving <= set(offsets)


# librdkafka


@pytest.mark.parametrize("isolation_level", _ISOLATION_LEVELS)
def test_librdkafka_reads_the_state_and_the_tail(
    quiet: tuple[CompactedQuorum, list[Record]], isolation_level: str
) -> None:
    quorum, expected = quiet

    found = consume(quorum.bootstrap_servers, None, {"isolation.level": isolation_level, "check.crcs": True})

    assert found == expected


def test_librdkafka_reads_on_from_any_offset_below_the_log(quiet: tuple[CompactedQuorum, list[Record]]) -> None:
    quorum, expected = quiet
    gone = min(offset for offset in quorum.written if offset > expected[0].offset and offset not in offsets(expected))

    found = consume(quorum.bootstrap_servers, gone, {"auto.offset.reset": "error"})

    assert found == [record for record in expected if record.offset >= gone]


def offsets(records: list[Record]) -> set[Offset]:
    return {record.offset for record in records}


@pytest.mark.rule("SNAPSHOT-3")
def test_librdkafka_reads_through_a_newer_snapshot(busy: CompactedQuorum) -> None:
    starts = [busy.log_start(busy.leader_id())]

    def replace_midway(at: int) -> None:
        if at == _BEFORE_PAUSE:
            replace_snapshot(busy, _LATER_KEYS)
            starts.append(busy.log_start(busy.leader_id()))

    small = {"message.max.bytes": 1000, "fetch.max.bytes": 1000, "fetch.message.max.bytes": 1000}
    little = {"queued.min.messages": 1, "queued.max.messages.kbytes": 1, "auto.offset.reset": "error"}
    found = consume(busy.bootstrap_servers, None, {**small, **little}, before_each=replace_midway)

    assert starts[1] > starts[0] > found[_BEFORE_PAUSE].offset
    check_read_through_cuts(busy, [read_of(record) for record in found])


# Kafka's own consumer


def pausing_consumer(kafka: Kafka, quorum: CompactedQuorum, isolation_level: str = "read_committed") -> PipedProcess:
    arguments = (quorum.bootstrap_servers, TOPIC, str(_BEFORE_PAUSE), isolation_level)
    return kafka.start_source(_PAUSING_CONSUMER, *arguments)


def read_of_line(line: str) -> Read:
    offset, timestamp, key, value = line.split(" ")
    return int(offset), int(timestamp), _bytes(key), _bytes(value)


def _bytes(digits: str) -> bytes | None:
    return None if digits == "null" else bytes.fromhex(digits.removeprefix("x"))


def read_with_pause(consumer: PipedProcess, during_pause: Callable[[], None]) -> list[Read]:
    found: list[Read] = []
    while (line := consumer.line()) != "paused":
        assert line, consumer.errors
        found.append(read_of_line(line))
    during_pause()
    consumer.write(b"\n")
    found += [read_of_line(line) for line in consumer.rest_of_output(within_s=HANG_S).splitlines()]
    assert consumer.wait() == 0, consumer.errors
    return found


@pytest.mark.parametrize("isolation_level", _ISOLATION_LEVELS)
def test_kafkas_consumer_reads_the_state_and_the_tail(
    kafka: Kafka, quiet: tuple[CompactedQuorum, list[Record]], isolation_level: str
) -> None:
    quorum, expected = quiet

    with pausing_consumer(kafka, quorum, isolation_level) as consumer:
        found = read_with_pause(consumer, lambda: None)

    assert found == [read_of(record) for record in expected]


@pytest.mark.rule("SNAPSHOT-3")
def test_kafkas_consumer_reads_through_a_newer_snapshot(kafka: Kafka, busy: CompactedQuorum) -> None:
    before = busy.log_start(busy.leader_id())

    with pausing_consumer(kafka, busy) as consumer:
        found = read_with_pause(
            consumer, lambda: replace_snapshot(busy, range(LARGE_STATE_KEYS // 3, LARGE_STATE_KEYS))
        )

    assert busy.log_start(busy.leader_id()) > before > found[_BEFORE_PAUSE][0]
    check_read_through_cuts(busy, found)


def test_console_consumer_reads_the_state_and_the_tail(
    kafka: Kafka, quiet: tuple[CompactedQuorum, list[Record]]
) -> None:
    quorum, expected = quiet
    place = ("--topic", TOPIC, "--partition", "0", "--offset", "earliest", "--max-messages", str(len(expected)))
    columns = ("--formatter-property", "print.offset=true", "--formatter-property", "print.key=true")

    finished = kafka.run(MainClass.CONSOLE_CONSUMER, "--bootstrap-server", quorum.bootstrap_servers, *place, *columns)

    assert finished.require_success().splitlines() == [
        f"Offset:{record.offset}\t{_text(record.key)}\t{_text(record.value)}" for record in expected
    ]


def _text(value: bytes | None) -> str:
    return "null" if value is None else value.decode()


# Spark's source for Kafka


@pytest.mark.spark
@pytest.mark.rule("SNAPSHOT-3")
def test_sparks_source_for_kafka_reads_a_batch_and_a_stream_through_newer_snapshots(
    busy: CompactedQuorum, tmp_path: Path
) -> None:
    busy.wait_until_quiet()
    expected = busy.expected(busy.log_start(busy.leader_id()))
    jars = ",".join(str(jar) for jar in installed_connector())
    arguments = [jars, tmp_path / "spark", busy.bootstrap_servers, TOPIC]
    command = [sys.executable, "-m", "tests.java.compacted_application", *map(str, arguments)]

    with PipedProcess("Spark", command, environment=child_environment()) as application:
        batch = rows_of(application)
        stream = rows_of(application)
        starts = [busy.log_start(busy.leader_id())]
        for keys in (_LATER_KEYS, range(LARGE_STATE_KEYS)):
            replace_snapshot(busy, keys)
            starts.append(busy.log_start(busy.leader_id()))
            application.write(b"go on\n")
            stream += rows_of(application)
        busy.wait_until_quiet()
        application.write(b"%d\n" % max(busy.written))
        while stream[-1][0] < max(busy.written):
            stream += rows_of(application)

    assert batch == [read_of(record) for record in expected]
    assert starts == sorted(set(starts))
    check_read_through_cuts(busy, stream)


def rows_of(application: PipedProcess) -> list[Read]:
    line = application.line(within_s=HANG_S)
    assert line, application.errors[-4000:]
    return [(row["offset"], row["timestamp"], _hex(row["key"]), _hex(row["value"])) for row in json.loads(line)]


def _hex(digits: str | None) -> bytes | None:
    return None if digits is None else bytes.fromhex(digits)
