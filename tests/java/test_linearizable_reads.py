"""Kafka's voters confirm a leader of ours for linearizable reads, also where they are a majority."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.client import Client, ClientSettings
from raft.records.batch import build_batch
from raft.records.record import Record
from tests.java.kafka import Kafka
from tests.java.mixed_quorum import Fault, Kind, MixedQuorum

pytestmark = pytest.mark.java

_MOST_ELECTIONS = 20


@pytest.mark.rule("READ-2")
def test_end_of_the_log_is_linearizable_in_a_quorum_with_a_majority_of_kafkas_voters(
    kafka: Kafka, tmp_path: Path
) -> None:
    with MixedQuorum(kafka, tmp_path, [Kind.JAVA, Kind.JAVA, Kind.OURS]) as quorum:
        _elect_ours(quorum)
        (ours,) = quorum.of_kind(Kind.OURS)
        with Client(ClientSettings(bootstrap_servers=(quorum.nodes[ours].client_endpoint,))) as client:
            appended = client.append(build_batch([Record(value=b"value", timestamp_ms=1)])).base_offset

            assert client.last_stable_offset() > appended


def _elect_ours(quorum: MixedQuorum) -> None:
    """Suspend each leader of Kafka's until the others have elected another one, and ours is elected."""
    leadership = quorum.wait_for_leader()
    for _ in range(_MOST_ELECTIONS):
        if quorum.kinds[leadership.leader_id] is Kind.OURS:
            return
        quorum.inject(leadership.leader_id, Fault.SUSPENDED)
        leadership = quorum.wait_for_leader(after=leadership.epoch)
        quorum.end_fault()
        leadership = quorum.wait_for_leader()
    raise AssertionError(f"ours is not the leader after {_MOST_ELECTIONS} elections: {leadership}")
