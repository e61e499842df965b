"""The logs on the disks of nodes are compared byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from raft.records.control import leader_change_batch
from raft.records.header_fields import with_base_offset_and_epoch
from raft.types import Epoch, NodeId, Offset, OffsetAndEpoch
from tests.node.harness.batches import batch_of
from tests.workload.replica import Replica, differences

EPOCHS = "0\n1\n1 0\n"


def batches(*values: bytes) -> list[bytes]:
    """Return the first batch of a leader, and one batch for each value."""
    first = leader_change_batch(
        base_offset=Offset(0), epoch=Epoch(1), leader_id=NodeId(1), voters=(), granting_voters=(), timestamp_ms=1
    )
    data = [
        with_base_offset_and_epoch(batch_of(value), Offset(at), Epoch(1)) for at, value in enumerate(values, start=1)
    ]
    return [first, *data]


def replica_in(folder: Path, segments: Sequence[bytes], epochs: str = EPOCHS) -> Replica:
    partition = folder / "__cluster_metadata-0"
    partition.mkdir(parents=True)
    for number, segment in enumerate(segments):
        (partition / f"{number:020d}.log").write_bytes(segment)
    (partition / "leader-epoch-checkpoint").write_text(epochs)
    return Replica.read(folder)


def test_replica_has_the_batches_of_all_segments(tmp_path: Path) -> None:
    first, *others = batches(b"A", b"B")

    replica = replica_in(tmp_path, [first + others[0], others[1]])

    assert replica.records() == [(1, b"A"), (2, b"B")]
    assert replica.end == OffsetAndEpoch(epoch=Epoch(1), offset=Offset(3))
    assert replica.leader_changes == 0
    assert replica.torn_bytes == 0


def test_replica_counts_leaders_after_the_first_one(tmp_path: Path) -> None:
    again = leader_change_batch(
        base_offset=Offset(1), epoch=Epoch(5), leader_id=NodeId(2), voters=(), granting_voters=(), timestamp_ms=1
    )

    assert replica_in(tmp_path, [*batches(), again]).leader_changes == 1


def test_replicas_are_equal_when_only_their_segments_differ(tmp_path: Path) -> None:
    written = batches(b"A", b"B")

    one, other = replica_in(tmp_path / "1", written), replica_in(tmp_path / "2", [b"".join(written)])

    assert list(differences({1: one, 2: other})) == []


@pytest.mark.parametrize(
    ("values", "extra", "epochs", "stories"),
    [
        pytest.param([b"A", b"X"], b"", EPOCHS, ["node 1 has", "where node 3 has"], id="another value"),
        pytest.param([b"A"], b"", EPOCHS, ["node 3 has nothing"], id="a batch too few"),
        pytest.param([b"A", b"B", b"C"], b"", EPOCHS, ["node 1 has nothing"], id="a batch too many"),
        pytest.param([b"A", b"B"], b"torn", EPOCHS, ["node 3 ends with 4 bytes"], id="a torn end"),
        pytest.param([b"A", b"B"], b"", "0\n1\n2 0\n", ["the epochs of node 1 are"], id="other epochs"),
    ],
)
def test_differences_name_the_node_that_differs(
    tmp_path: Path, values: list[bytes], extra: bytes, epochs: str, stories: list[str]
) -> None:
    good = replica_in(tmp_path / "1", batches(b"A", b"B"))
    same = replica_in(tmp_path / "2", batches(b"A", b"B"))
    bad = replica_in(tmp_path / "3", [*batches(*values), extra], epochs)

    (found,) = differences({1: good, 2: same, 3: bad})

    assert all(story in found for story in stories), found
