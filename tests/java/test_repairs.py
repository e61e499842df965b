"""A voter of ours with a damaged log repairs itself from a leader that is one of Kafka's nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.records.batches import read_batches
from raft.types import NodeId
from tests.java.kafka import Kafka
from tests.java.mixed_quorum import Kind, MixedQuorum
from tests.node.harness.damage import flip_bit
from tests.node.harness.waiting import eventually

pytestmark = pytest.mark.java

_OURS = NodeId(3)
_SCRUBS = {"raft.scrub.bytes.per.second": "100000000", "raft.scrub.interval.ms": "100"}
_BYTES = 20_000


def _settings(_node_id: NodeId, kind: Kind) -> dict[str, str]:
    return _SCRUBS if kind is Kind.OURS else {}


def _java_leader(quorum: MixedQuorum) -> NodeId:
    """Return a leader of Kafka's. Ours hands over when it stops."""
    leadership = quorum.wait_for_leader()
    while leadership.leader_id == _OURS:
        quorum.nodes[_OURS].terminate()
        quorum.nodes[_OURS].start()
        leadership = quorum.wait_for_leader(after=leadership.epoch)
    return leadership.leader_id


@pytest.mark.rule("LOG-26", "LOG-31")
@pytest.mark.parametrize("place", [2, 15, 70], ids=["an offset", "an epoch", "a record"])
def test_damaged_voter_repairs_itself_from_a_leader_of_kafkas(kafka: Kafka, tmp_path: Path, place: int) -> None:
    voters = [Kind.JAVA, Kind.JAVA, Kind.OURS]
    with MixedQuorum(kafka, tmp_path, voters, settings=_settings, has_proxies=False) as quorum:
        leader_id = _java_leader(quorum)
        leader, ours = quorum.nodes[leader_id], quorum.nodes[_OURS]
        eventually(lambda: ours.segment.stat().st_size > _BYTES, "a log")
        sound = ours.segment.read_bytes()[: _BYTES // 2]
        batches = list(read_batches(sound))

        flip_bit(ours.segment, sum(batch.header.size_bytes for batch in batches[:-5]) + place)
        ours.wait_until_printed("repaired ")

        assert ours.segment.read_bytes().startswith(sound)
        assert leader.segment.read_bytes().startswith(sound)
        assert f"of segment {ours.segment} from node {leader_id}" in ours.output
        assert quorum.wait_for_leader().leader_id == leader_id
