"""A voter whose log is damaged while it runs hands over, serves nothing damaged, and repairs itself from the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.types import Offset
from tests.java.librdkafka import consume
from tests.node.harness.batches import batch_of, batches_in, values_in
from tests.node.harness.damage import flip_bit
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually
from tests.processes.node_quorum import NodeQuorum

SEGMENT_BYTES = 8 << 20
VALUE_BYTES = 900_000
VALUES = [bytes([65 + at]) * VALUE_BYTES for at in range(24)]
"""They fill two segments and a part of a third one. The first is not in the memory of the nodes any more."""

SCRUBS = {"raft.scrub.bytes.per.second": "200000000", "raft.scrub.interval.ms": "100"}
NO_SCRUB = {"raft.scrub.bytes.per.second": "0"}


def quorum_of(folder: Path, settings: dict[str, str]) -> NodeQuorum:
    of_all = {"metadata.log.segment.bytes": str(SEGMENT_BYTES), **settings}
    configurations = {node_id: {**own, **of_all} for node_id, own in voters_properties(folder).items()}
    return NodeQuorum(folder, configurations)


def fill(quorum: NodeQuorum) -> None:
    """Append the values, and wait until all nodes have them on disk."""
    with quorum.client() as client:
        for value in VALUES:
            client.append(batch_of(value))
    eventually(lambda: len({tuple(sizes_of(quorum, node_id)) for node_id in quorum.nodes}) == 1, "all have everything")


def sizes_of(quorum: NodeQuorum, node_id: int) -> list[int]:
    return [segment.stat().st_size for segment in quorum.nodes[node_id].segments()]


def values_read(quorum: NodeQuorum) -> list[bytes | None]:
    """Return all values, by one client of this project."""
    found: list[bytes | None] = []
    offset = Offset(0)
    with quorum.client() as client:
        while len(found) < len(VALUES):
            fetched = client.fetch(offset)
            found += values_in(fetched.records)
            offset = batches_in(fetched.records)[-1].header.end_offset if fetched.records else offset
    return found


def first_segments(quorum: NodeQuorum) -> set[bytes]:
    return {node.segments()[0].read_bytes() for node in quorum.nodes.values()}


@pytest.mark.parametrize(
    ("settings", "position"),
    [
        pytest.param(SCRUBS, 3_000_000, id="records, found by the scrub"),
        pytest.param(NO_SCRUB, 3_000_000, id="records, found by a read"),
        pytest.param(SCRUBS, 2, id="an offset, found by the scrub"),
    ],
)
@pytest.mark.rule("LOG-26", "LOG-29", "LOG-30", "LOG-31", "READ-9")
def test_leader_with_a_flipped_bit_hands_over_and_repairs_itself_while_clients_read_everything(
    tmp_path: Path, settings: dict[str, str], position: int
) -> None:
    with quorum_of(tmp_path, settings).start() as quorum:
        fill(quorum)
        damaged_id = quorum.leader_id()
        damaged = quorum.nodes[damaged_id]
        sound = damaged.segments()[0].read_bytes()

        flip_bit(damaged.segments()[0], position)
        read = values_read(quorum)
        leader_id = eventually(lambda: other_leader(quorum, damaged_id), "another node leads")
        consumed = [record.value for record in consume(quorum.bootstrap_servers, None, {"check.crcs": True})]
        damaged.wait_until_printed("repaired ")

        assert read == VALUES
        assert consumed == VALUES
        assert first_segments(quorum) == {sound}
        assert f"from node {leader_id}" in line_of(damaged.output, "repaired ")
        assert "its log is damaged, and node" in line_of(damaged.output, "Leader -> Resigned")
        assert all(quorum.nodes[node_id].is_running for node_id in quorum.nodes)


def other_leader(quorum: NodeQuorum, node_id: int) -> int | None:
    leader_id = quorum.leader_id()
    return leader_id if leader_id != node_id else None


def line_of(output: str, text: str) -> str:
    return next(line for line in output.splitlines() if text in line)


@pytest.mark.rule("LOG-29", "LOG-31")
def test_follower_with_a_flipped_bit_repairs_itself_and_the_leader_stays(tmp_path: Path) -> None:
    with quorum_of(tmp_path, SCRUBS).start() as quorum:
        fill(quorum)
        leader_id = quorum.leader_id()
        follower = next(node for node_id, node in quorum.nodes.items() if node_id != leader_id)
        sound = follower.segments()[0].read_bytes()

        flip_bit(follower.segments()[0], 3_000_000)
        follower.wait_until_printed("repaired ")

        assert first_segments(quorum) == {sound}
        assert quorum.leader_id() == leader_id
