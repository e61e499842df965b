"""A multipart write is visible whole or not at all in every view of the log, on real nodes (rule TXN-2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from datasource.options import ReadOptions
from datasource.range_reader import read_range
from datasource.read_plan import LogRange
from raft.client import Client, ReadFrom, WriteKey
from raft.client.aborted import AbortedFilter
from raft.records.batch import build_batch
from raft.records.control import write_commit_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Offset, WriteCommit, WritePart
from tests.node.harness.batches import batches_in, records_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import TOPIC, voters_properties
from tests.node.harness.transactional_producer import TransactionalProducer
from tests.node.harness.waiting import eventually

KEY = WriteKey("a query", 1)
ROWS = [b"row 1", b"row 2", b"row 3"]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[NodesInProcess]:
    with NodesInProcess(voters_properties(tmp_path)) as running:
        running.start().wait_for_leader()
        yield running


def append_part(client: Client, number: int, *values: bytes) -> WritePart:
    """Append a part of the write in one batch."""
    producer_id = KEY.write_id.part_producer_id(number)
    batch = build_batch(
        [Record(value=value, timestamp_ms=1_000 + number) for value in values],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    client.append(batch, transactional_id=KEY.write_id.transactional_id)
    return WritePart(
        producer_id=producer_id,
        record_count=len(values),
        content_checksum=read_header(batch).content_checksum or 0,
    )


def commit(client: Client, *parts: WritePart) -> None:
    batch = write_commit_batch(
        WriteCommit(parts=parts),
        producer_id=KEY.producer_id,
        producer_epoch=KEY.producer_epoch,
        base_sequence=KEY.base_sequence,
        timestamp_ms=1_000,
    )
    client.append(batch)


@contextmanager
def reading(nodes: NodesInProcess, read_from: ReadFrom) -> Iterator[Client]:
    with nodes.client() as client:
        settings = replace(client.settings, read_from=read_from, api_timeout_ms=40_000, request_timeout_ms=20_000)
    with Client(settings) as client:
        yield client


def fetched(client: Client, end: Offset) -> list[bytes]:
    """The rows of a client that fetches up to an offset, or as far as there are records."""
    values: list[bytes] = []
    offset = Offset(0)
    while offset < end:
        found = client.fetch(offset, max_bytes=1, max_wait_ms=0)
        aborted = AbortedFilter(found.aborted)
        batches = batches_in(found.records)
        if not batches:
            break
        values += [r.value or b"" for r in records_of([b for b in batches if not aborted.drops(b.header)])]
        offset = batches[-1].header.end_offset
    return values


def servers_of(nodes: NodesInProcess) -> str:
    endpoints = [nodes.endpoint(node_id) for node_id in nodes.configurations]
    return ",".join(f"{endpoint.host}:{endpoint.port}" for endpoint in endpoints)


def of_librdkafka(nodes: NodesInProcess, *, count: int) -> list[bytes]:
    """The first `count` rows of a consumer with `read_committed`, or those up to its end of the log."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers_of(nodes),
            "group.id": "none",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
        values: list[bytes] = []
        while len(values) < count:
            message = consumer.poll(30)
            assert message is not None, "neither a record nor the end of the log within 30 s"
            if message.error() is not None:
                break
            values.append(message.value() or b"")
        return values
    finally:
        consumer.close()


def views(nodes: NodesInProcess) -> dict[str, list[bytes]]:
    """What each kind of reader sees, once every node knows all that is committed."""
    leader = nodes.wait_for_leader()
    end = nodes.running[leader].core.log.end_offset
    cores = [nodes.running[node_id].core for node_id in nodes.configurations]
    eventually(lambda: all(core.high_watermark == end for core in cores), "every node knows what is committed")
    stable = {core.last_stable_offset for core in cores}
    assert len(stable) == 1, "it is a function of the committed log"
    found: dict[str, list[bytes]] = {}
    for read_from in (ReadFrom.LEADER, ReadFrom.ANY):
        with reading(nodes, read_from) as client:
            stable_offset = client.last_stable_offset()
            assert {stable_offset} == stable
            plan = client.plan_batch(Offset(0), client.epoch)
            assert plan.last_stable_offset == stable_offset
            found[f"fetches from {read_from}"] = fetched(client, end)
            options = ReadOptions.of({"kraft.bootstrap.servers": servers_of(nodes), "kraft.read.from": read_from.value})
            log_range = LogRange(
                start_offset=Offset(0),
                end_offset=stable_offset,
                cluster_id=client.cluster_id or "",
                epoch=client.epoch,
            )
            rows = [row for batch in read_range(options, log_range) for row in batch.column("value").to_pylist()]
            found[f"a batch read from {read_from}"] = rows
    found["librdkafka"] = of_librdkafka(nodes, count=len(ROWS))
    return found


@pytest.mark.rule("TXN-1", "TXN-2", "CLIENT-15", "READ-4")
@pytest.mark.parametrize("restarted", [False, True], ids=["running", "after a restart"])
def test_every_view_has_a_multipart_write_whole_or_not_at_all(nodes: NodesInProcess, restarted: bool) -> None:
    with nodes.client() as client, nodes.wire(nodes.wait_for_leader()) as wire:
        first = append_part(client, 1, *ROWS[:2])
        other = TransactionalProducer(wire, "other")
        other.send(b"other")
        commit(client, first, append_part(client, 2, *ROWS[2:]))
    if restarted:
        for node_id in nodes.configurations:
            nodes.stop(node_id)
        nodes.start()

    while_open = views(nodes)
    with nodes.wire(nodes.wait_for_leader()) as wire:
        again = TransactionalProducer(wire, "other")
        assert again.epoch > other.epoch, "a new producer has aborted the transaction"
    once_ended = views(nodes)

    assert while_open == {view: [] for view in while_open}
    assert once_ended == dict.fromkeys(while_open, ROWS)
