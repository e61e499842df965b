"""What the files have for information only, and what is in them before an election (rules STATE-9, BOOT-2)."""

import json

import pytest

from raft.storage.election_state import ElectionStateFile
from raft.storage.meta_properties import claim_directory
from raft.types import ElectionState, Epoch, NodeId
from tests.memory_files.files import MemoryFiles

VOTERS = (NodeId(1), NodeId(2), NodeId(3))
STORED = {"clusterId": "", "leaderId": 2, "leaderEpoch": 7, "votedId": -1, "appliedOffset": 0, "data_version": 0}


@pytest.mark.parametrize(
    "voters",
    [
        pytest.param([{"voterId": 1}, {"voterId": 2}, {"voterId": 3}], id="the configured ones"),
        pytest.param([{"voterId": 8}, {"voterId": 9}], id="others"),
        pytest.param([], id="none"),
    ],
)
@pytest.mark.rule("STATE-9")
def test_voters_in_the_file_change_nothing_of_what_is_read(voters: list[dict[str, int]]) -> None:
    files = MemoryFiles()
    files.put("quorum-state", json.dumps({**STORED, "currentVoters": voters}).encode())

    state = ElectionStateFile(files, "quorum-state", voters=VOTERS).read()

    assert state == ElectionState(epoch=Epoch(7), leader_id=NodeId(2))


@pytest.mark.rule("STATE-9")
def test_configured_voters_take_the_place_of_those_in_the_file_when_it_is_written() -> None:
    files = MemoryFiles()
    files.put("quorum-state", json.dumps({**STORED, "currentVoters": [{"voterId": 9}]}).encode())
    file = ElectionStateFile(files, "quorum-state", voters=VOTERS)

    file.write(file.read())

    assert json.loads(files.read("quorum-state"))["currentVoters"] == [{"voterId": voter} for voter in VOTERS]


@pytest.mark.rule("BOOT-2")
def test_directory_has_its_cluster_id_before_any_node_is_elected() -> None:
    files = MemoryFiles()

    owner = claim_directory(files, cluster_id="given beforehand", node_id=NodeId(1), entropy=bytes(16))

    assert owner.cluster_id == "given beforehand"
    assert files.names_in("") == ["meta.properties"]
