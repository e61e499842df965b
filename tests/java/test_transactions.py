"""Transactions of Kafka's own clients: librdkafka, aiokafka and Java commit and abort, kafka-transactions looks on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.hang import HANG_S
from tests.java.kafka import Kafka, MainClass
from tests.java.kraft import end_offset, kraft_quorum
from tests.java.librdkafka import consume
from tests.node.harness.properties import TOPIC
from tests.node.harness.waiting import eventually
from tests.processes.node_quorum import NodeQuorum

pytestmark = pytest.mark.java

PROGRAMS = Path(__file__).parent / "programs"


def values(servers: str, start: int, *, isolation: str = "read_committed") -> list[bytes | None]:
    return [record.value for record in consume(servers, start, {"isolation.level": isolation})]


def send(producer: Producer, *sent: bytes) -> None:
    for value in sent:
        producer.produce(TOPIC, value=value)


def transactional_producer(servers: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": name})
    producer.init_transactions(HANG_S)
    return producer


@pytest.mark.rule("TXN-1", "TXN-4", "TXN-10")
def test_librdkafka_commits_and_aborts_and_reads_committed_records_only(quorum: NodeQuorum) -> None:
    servers, start = quorum.bootstrap_servers, end_offset(quorum)
    producer = transactional_producer(servers, "librdkafka")
    for sent, ends_with in (((b"a", b"b"), "commit"), ((b"c",), "abort"), ((b"d",), "commit")):
        producer.begin_transaction()
        send(producer, *sent)
        producer.flush(HANG_S)
        producer.commit_transaction(HANG_S) if ends_with == "commit" else producer.abort_transaction(HANG_S)

    assert values(servers, start) == [b"a", b"b", b"d"]
    assert values(servers, start, isolation="read_uncommitted") == [b"a", b"b", b"c", b"d"]


@pytest.mark.rule("TXN-3")
def test_second_librdkafka_producer_of_a_transactional_id_fences_the_first(quorum: NodeQuorum) -> None:
    servers, start = quorum.bootstrap_servers, end_offset(quorum)
    zombie = transactional_producer(servers, "fenced")
    zombie.begin_transaction()
    send(zombie, b"open")
    zombie.flush(HANG_S)

    successor = transactional_producer(servers, "fenced")
    successor.begin_transaction()
    send(successor, b"of the successor")
    successor.commit_transaction(HANG_S)
    with pytest.raises(KafkaException) as refused:
        zombie.commit_transaction(HANG_S)

    assert refused.value.args[0].code() == KafkaError._FENCED
    assert values(servers, start) == [b"of the successor"]


@pytest.mark.rule("TXN-4")
def test_aiokafka_commits_and_aborts(quorum: NodeQuorum) -> None:
    servers, start = quorum.bootstrap_servers, end_offset(quorum)

    async def run() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id="aiokafka")
        await producer.start()
        try:
            async with producer.transaction():
                await producer.send_and_wait(TOPIC, b"a")
            await producer.begin_transaction()
            await producer.send_and_wait(TOPIC, b"b")
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send_and_wait(TOPIC, b"c")
        finally:
            await producer.stop()

    asyncio.run(asyncio.wait_for(run(), HANG_S))

    assert values(servers, start) == [b"a", b"c"]


@pytest.mark.rule("TXN-4", "TXN-10")
def test_java_producer_commits_and_aborts_and_java_consumer_reads_committed_records_only(
    kafka: Kafka, quorum: NodeQuorum
) -> None:
    servers, start = quorum.bootstrap_servers, end_offset(quorum)

    printed = kafka.run_source(
        PROGRAMS / "Transactions.java", servers, TOPIC, "java", "commit:a,b", "abort:c", "commit:d"
    )

    assert printed.splitlines() == ["committed", "aborted", "committed"]
    assert values(servers, start) == [b"a", b"b", b"d"]
    consumed = kafka.output(
        MainClass.CONSOLE_CONSUMER,
        *("--bootstrap-server", servers, "--topic", TOPIC, "--partition", "0", "--offset", str(start)),
        *("--isolation-level", "read_committed", "--max-messages", "3"),
    )
    assert consumed.split() == ["a", "b", "d"]


@pytest.mark.rule("TXN-9", "TXN-4")
def test_kafka_transactions_lists_an_open_transaction_and_aborts_it(kafka: Kafka, quorum: NodeQuorum) -> None:
    servers, start = quorum.bootstrap_servers, end_offset(quorum)
    producer = transactional_producer(servers, "hanging")
    producer.begin_transaction()
    send(producer, b"hangs")
    producer.flush(HANG_S)

    def run(*arguments: str) -> str:
        return kafka.output(MainClass.TRANSACTIONS, "--bootstrap-server", servers, *arguments)

    listed, described = run("list"), run("describe", "--transactional-id", "hanging")
    producers = run("describe-producers", "--topic", TOPIC, "--partition", "0")
    (row,) = (line.split() for line in producers.splitlines()[1:])
    first_offset = int(row[-1])
    run("abort", "--topic", TOPIC, "--partition", "0", "--start-offset", str(first_offset))

    assert any(line.split()[0] == "hanging" and line.split()[-1] == "Ongoing" for line in listed.splitlines()[1:])
    assert f"{TOPIC}-0" in described
    assert values(servers, start) == []
    assert values(servers, start, isolation="read_uncommitted") == [b"hangs"]
    with pytest.raises(KafkaException):
        producer.commit_transaction(HANG_S)


def replace_leader(nodes: NodeQuorum) -> None:
    """Kill the leader, and start it again when another one leads."""
    leader_id = nodes.leader_id()
    nodes.nodes[leader_id].kill()
    eventually(lambda: nodes.leader_id() != leader_id, "another leader")
    nodes.nodes[leader_id].start()


@pytest.mark.rule("TXN-7", "TXN-4")
def test_transactions_of_librdkafka_survive_kills_of_the_leader(nodes: NodeQuorum) -> None:
    servers = nodes.bootstrap_servers
    producer = transactional_producer(servers, "through")
    expected: list[bytes | None] = []
    for at in range(30):
        producer.begin_transaction()
        sent = [f"{at}-{each}".encode() for each in range(5)]
        send(producer, *sent)
        if at in (10, 20):
            replace_leader(nodes)
        if at % 3:
            producer.commit_transaction(HANG_S)
            expected += sent
        else:
            producer.flush(HANG_S)
            producer.abort_transaction(HANG_S)

    assert values(servers, 0) == expected


@pytest.mark.rule("TXN-10")
def test_kafka_dump_log_reads_markers_and_the_index_of_aborted_transactions(kafka: Kafka, tmp_path: Path) -> None:
    with kraft_quorum(tmp_path, 1).start() as nodes:
        nodes.leader_id()
        producer = transactional_producer(nodes.bootstrap_servers, "dumped")
        producer.begin_transaction()
        send(producer, b"a")
        producer.flush(HANG_S)
        producer.abort_transaction(HANG_S)
        nodes.stop()
        (voter,) = nodes.nodes.values()
    (segment,) = voter.segments()

    dumped = kafka.output(MainClass.DUMP_LOG_SEGMENTS, "--files", str(segment), "--print-data-log")
    index = kafka.output(MainClass.DUMP_LOG_SEGMENTS, "--files", str(segment.with_suffix(".txnindex")))

    assert "endTxnMarker: ABORT coordinatorEpoch: " in dumped
    assert "firstOffset: 2 lastOffset: 3 lastStableOffset: 4" in index
