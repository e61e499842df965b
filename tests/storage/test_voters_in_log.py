"""A voter does not start with a log that names other voters than its configuration (CONTROL-10)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from raft.errors import ConfigError
from raft.records.batches import read_batches
from raft.snapshots.state_batches import footer_batch
from raft.storage.opened_directory import ReplicaIdentity
from raft.storage.trusted_segments import TRUSTED_SEGMENTS_NAME
from raft.types import ElectionState, Epoch, NodeId, Offset, OffsetAndEpoch
from tests.memory_files.files import MemoryFiles
from tests.records.voters import KRAFT_VERSION, VOTERS, control_batch, voters_value
from tests.storage.logs import batch
from tests.storage.test_directory import PARTITION, identity, opened

SNAPSHOT = OffsetAndEpoch(offset=Offset(500), epoch=Epoch(3))
SNAPSHOT_HEADER = (3, bytes.fromhex("0000000000000000000500"))


def node(node_id: int, *voters: int) -> ReplicaIdentity:
    return replace(identity(node_id=node_id), voters=tuple(map(NodeId, voters)))


def observer_of(*logged: int) -> MemoryFiles:
    """The files of observer 4 after a clean stop; its log names voters, and its only segment is trusted."""
    files = MemoryFiles()
    directory = opened(files, node(4, *logged))
    directory.store_election_state(ElectionState(epoch=Epoch(1)))
    directory.log.append(
        list(read_batches(control_batch((KRAFT_VERSION, b"\0\0\0\1\0"), (VOTERS, voters_value(*logged)))))
    )
    directory.log.append([batch(2)])
    directory.write_checkpoints()
    directory.close()
    assert files.exists(f"{PARTITION}/{TRUSTED_SEGMENTS_NAME}")
    return files


def observer_with_a_snapshot_of(*logged: int) -> MemoryFiles:
    """The files of observer 4, whose log begins with a snapshot of Kafka that names voters."""
    files = MemoryFiles()
    directory = opened(files, node(4, *logged))
    directory.store_election_state(ElectionState(epoch=Epoch(3)))
    header = control_batch(SNAPSHOT_HEADER, (KRAFT_VERSION, b"\0\0\0\1\0"), (VOTERS, voters_value(*logged)), epoch=3)
    directory.store_snapshot_piece(SNAPSHOT, 0, header + footer_batch(Epoch(3)))
    contents = directory.check_snapshot(SNAPSHOT)
    assert contents is not None, "it is whole"
    directory.install_snapshot(contents)
    directory.close()
    return files


@pytest.mark.parametrize(
    ("files_of", "where"),
    [
        pytest.param(observer_of, "at offset 0", id="in the log"),
        pytest.param(observer_with_a_snapshot_of, f"in the snapshot at {SNAPSHOT}", id="in the snapshot before it"),
    ],
)
@pytest.mark.rule("CONTROL-10", "LOG-25")
def test_voter_refuses_to_start_with_a_log_that_names_other_voters(
    files_of: Callable[..., MemoryFiles], where: str
) -> None:
    files = files_of(1, 2, 3)
    expected = (
        f"the log names the voters [1, 2, 3], the configuration [1, 2, 4], {where}. A voter counts majorities by its "
        "configuration: set controller.quorum.voters of all voters to those of the log, or give this node an empty "
        "directory"
    )

    for _ in range(2):
        with pytest.raises(ConfigError, match=re.escape(expected)):
            opened(files, node(4, 1, 2, 4))


@pytest.mark.parametrize("files_of", [observer_of, observer_with_a_snapshot_of])
@pytest.mark.parametrize(
    "who", [pytest.param(node(4, 1, 2, 3), id="observer"), pytest.param(node(3, 3, 2, 1), id="voter of the log")]
)
@pytest.mark.rule("CONTROL-10")
def test_other_nodes_start_with_that_log(files_of: Callable[..., MemoryFiles], who: ReplicaIdentity) -> None:
    files = files_of(1, 2, 3)
    owner = files.read("meta.properties").replace(b"node.id=4", b"node.id=%d" % who.node_id)
    files.remove("meta.properties")
    file = files.create("meta.properties")
    file.append(owner)
    file.close()

    directory = opened(files, who)

    assert directory.log.end_offset in (3, 500)
    directory.close()
