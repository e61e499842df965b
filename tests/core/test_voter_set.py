"""Who is a voter (rule GEN-14), and the defaults of a node's configuration."""

from __future__ import annotations

import pytest

from raft.core.voter_set import VoterSet
from raft.types import NodeId, ReplicaKey, Uuid
from tests.core.builder import a_config, voter_set, voter_set_with_directories
from tests.core.wording import endpoint


@pytest.mark.rule("GEN-14")
@pytest.mark.parametrize(
    ("replica", "votes"),
    [
        pytest.param(ReplicaKey(NodeId(2), Uuid("disk-2")), True, id="this disk"),
        pytest.param(ReplicaKey(NodeId(2), Uuid("disk-0")), False, id="another disk"),
        pytest.param(ReplicaKey(NodeId(2)), False, id="no disk"),
        pytest.param(ReplicaKey(NodeId(9), Uuid("disk-2")), False, id="another id"),
    ],
)
def test_voter_with_a_directory_id_is_known_by_both(replica: ReplicaKey, votes: bool) -> None:
    assert voter_set_with_directories().is_voter(replica) is votes


@pytest.mark.rule("GEN-14", "BOOT-8")
@pytest.mark.parametrize("directory", [None, Uuid("disk-2"), Uuid("disk-0")])
def test_voter_without_a_directory_id_is_known_by_its_id_alone(directory: Uuid | None) -> None:
    assert voter_set().is_voter(ReplicaKey(NodeId(2), directory))


def test_static_voters_are_ordered_by_id() -> None:
    voters = VoterSet.static({NodeId(3): endpoint(3), NodeId(1): endpoint(1)})

    assert voters.ids == (1, 3)
    assert voters.others(NodeId(1)) == (3,)
    assert voters.key(NodeId(3)) == ReplicaKey(NodeId(3))
    assert voters.endpoints(NodeId(3)) == (endpoint(3),)
    assert voters.endpoints(NodeId(9)) == ()
    assert len(voters) == 2


@pytest.mark.rule("TIMER-1", "TIMER-4", "TIMER-5")
def test_config_has_the_defaults_of_kafka() -> None:
    config = a_config()

    assert config.election_timeout_ms == 1000
    assert config.fetch_timeout_ms == 2000
    assert config.election_backoff_max_ms == 1000
    assert config.request_timeout_ms == 2000
    assert config.retry_backoff_ms == 20
    assert config.fetch_max_bytes == 1048576
    assert (config.check_quorum_ms, config.begin_interval_ms) == (3000, 1000)


@pytest.mark.rule("GEN-14")
def test_config_counts_only_this_disk_as_a_voter() -> None:
    voters = voter_set_with_directories()

    assert a_config(voters, directory="disk-1").is_voter
    assert not a_config(voters, directory="disk-0").is_voter
    assert not a_config(voters, directory="disk-1").is_only_voter
    assert a_config((1,)).is_only_voter
    assert not a_config((2,)).is_only_voter
