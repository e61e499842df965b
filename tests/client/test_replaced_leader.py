"""A leader is cut off from the other voters, still takes itself for the leader, and is asked by clients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from raft.client import Client, ClientSettings, calls
from raft.records.batch import build_batch
from raft.records.control import write_commit_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import WriteCommit, WritePart
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from raft.writers import WriteKey
from tests.client.driving import Drive
from tests.network.network import Network
from tests.node.harness.properties import SHORT_TIMEOUTS, quorum_properties
from tests.processes.node_quorum import NodeQuorum

REPLACED = 1
OTHERS = (2, 3)
KEY = WriteKey("a query", 3)
PART = KEY.write_id.part_producer_id(1)
BATCH = build_batch([Record(value=b"a")], producer_id=PART, producer_epoch=0, base_sequence=0, is_transactional=True)


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[ClientSettings]:
    """Settings of a client that knows the replaced leader only. It does not resign before the test ends."""
    with Network() as network:
        configurations = quorum_properties(tmp_path, 3, SHORT_TIMEOUTS, advertise=network.open)
        configurations[REPLACED]["controller.quorum.fetch.timeout.ms"] = "600000"
        for node_id in OTHERS:
            # The first election is won by the node with the shortest timeout.
            configurations[node_id]["controller.quorum.election.timeout.ms"] = "2000"
        with NodeQuorum(tmp_path, configurations).start() as quorum:
            assert quorum.leader_id() == REPLACED
            quorum.settle()
            network.cut({each for other in OTHERS for each in ((REPLACED, other), (other, REPLACED))})
            yield replace(quorum.settings(), bootstrap_servers=(quorum.nodes[REPLACED].client_endpoint,))


@pytest.fixture
def successor(asked: ClientSettings) -> Iterator[Client]:
    """A client that has appended a part through the next leader."""
    with Client(asked) as client:
        # Only the next leader can answer this, so the leader that was replaced does not get the part.
        client.last_stable_offset()
        client.append(BATCH, transactional_id=KEY.write_id.transactional_id)
        yield client


@pytest.mark.rule("TXN-11")
def test_write_whose_parts_only_the_next_leader_has_is_committed(
    drive: Drive, asked: ClientSettings, successor: Client
) -> None:
    checksum = read_header(BATCH).content_checksum
    assert checksum is not None, "parts have one"
    commit = write_commit_batch(
        WriteCommit(parts=(WritePart(producer_id=PART, record_count=1, content_checksum=checksum),)),
        producer_id=KEY.producer_id,
        producer_epoch=KEY.producer_epoch,
        base_sequence=KEY.base_sequence,
        timestamp_ms=1_000,
    )

    committed = drive(asked).call(calls.append, commit)

    assert not committed.is_superseded
    assert successor.last_stable_offset() > committed.base_offset


@pytest.mark.rule("TXN-11")
def test_parts_that_only_the_next_leader_has_are_aborted(
    drive: Drive, asked: ClientSettings, successor: Client
) -> None:
    held = successor.last_stable_offset()

    drive(asked).call(calls.abort_write, KEY.write_id)

    assert successor.last_stable_offset() > held + 1


@pytest.mark.rule("READ-1")
def test_latest_includes_what_only_the_next_leader_has(drive: Drive, asked: ClientSettings, successor: Client) -> None:
    successor.abort_write(KEY.write_id)

    found = drive(asked).call(calls.find_offset, LATEST_TIMESTAMP)

    assert found is not None
    assert found.offset == successor.last_stable_offset()
