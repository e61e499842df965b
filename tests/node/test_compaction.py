"""A quorum with cleanup.policy=compact makes snapshots by itself, cuts its log, and readers see the state."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.client import Client
from raft.records.batch import build_batch
from raft.records.record import Record
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually
from tests.workload.committed import read_all

KEYS = 50
ROUNDS = 40


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[NodesInProcess]:
    configurations = voters_properties(
        tmp_path,
        cleanup__policy="compact",
        metadata__log__max__record__bytes__between__snapshots="20000",
        metadata__max__retention__bytes="30000",
        min__cleanable__dirty__ratio="0.1",
    )
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


def write(client: Client, model: dict[bytes, bytes], round_: int) -> None:
    """Write each key once; one key is deleted in each round."""
    records = []
    for number in range(KEYS):
        key, value = b"key-%d" % number, b"%d of round %d" % (number, round_)
        is_deleted = number == round_ % KEYS
        records.append(Record(key=key, value=None if is_deleted else value))
        if is_deleted:
            model.pop(key, None)
        else:
            model[key] = value
    client.append(build_batch(records))


def state(client: Client) -> dict[bytes, bytes]:
    """What a reader sees that begins at the first offset."""
    found: dict[bytes, bytes] = {}
    for record in read_all(client):
        assert record.key is not None
        if record.value is None:
            found.pop(record.key, None)
        else:
            found[record.key] = record.value
    return found


def start_offset(nodes: NodesInProcess, node_id: int) -> int:
    return nodes.thread.look(lambda: int(nodes.running[node_id].core.log.start_offset))


@pytest.mark.rule("SNAPSHOT-1", "SNAPSHOT-3", "READ-7", "FETCH-18", "DIVERGE-10")
def test_quorum_keeps_the_newest_record_of_each_key(nodes: NodesInProcess) -> None:
    model: dict[bytes, bytes] = {}
    with nodes.client() as client:
        for round_ in range(ROUNDS):
            write(client, model, round_)
        eventually(lambda: all(start_offset(nodes, each) for each in nodes.running), "logs that were cut")
        records = read_all(client)

        assert state(client) == model
        assert len(records) < ROUNDS * KEYS

        # A voter that lost its disk cannot get the records of the log's beginning: it loads a snapshot.
        follower = next(each for each in nodes.running if each != nodes.leader())
        nodes.stop(follower)
        shutil.rmtree(nodes.configurations[follower]["log.dirs"])
        write(client, model, ROUNDS)
        nodes.start(follower)
        end = client.last_stable_offset()
        eventually(lambda: (nodes.running[follower].core.high_watermark or 0) >= end, "a follower that has caught up")

        assert start_offset(nodes, follower) > 0
        assert state(client) == model
