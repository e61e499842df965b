"""A quorum with nodes of the last release and of this tree, and a downgrade."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.errors import RequestError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Offset
from raft.writers import WriteKey
from tests.node.harness.properties import voters_properties
from tests.processes.node_quorum import NodeQuorum
from tests.upgrade.release import Release
from tests.upgrade.versions import restart, serve_of, stop, values_of


@pytest.fixture
def quorum(release: Release, tmp_path: Path) -> Iterator[NodeQuorum]:
    """Three nodes of the release."""
    with NodeQuorum(tmp_path, voters_properties(tmp_path), command=serve_of(release)).start() as quorum:
        yield quorum


def append(quorum: NodeQuorum, *values: bytes) -> None:
    with quorum.client() as client:
        client.append(build_batch([Record(value=value) for value in values]))


def write_once(quorum: NodeQuorum, query: str, version: int, value: bytes) -> Offset:
    """Append a keyed write, and return its offset: that of the first one if it is a repetition."""
    write = WriteKey(query, version)
    batch = build_batch(
        [Record(value=value)],
        producer_id=write.producer_id,
        producer_epoch=write.producer_epoch,
        base_sequence=write.base_sequence,
    )
    with quorum.client() as client:
        return client.append(batch).base_offset


def test_quorum_goes_back_to_the_old_release_as_long_as_nothing_new_was_used(
    quorum: NodeQuorum, tmp_path: Path, release: Release
) -> None:
    append(quorum, b"by the old release")
    first = write_once(quorum, "query", 1, b"once")

    for node_id in quorum.nodes:
        restart(quorum, node_id, tmp_path)
    append(quorum, b"by this one")
    assert write_once(quorum, "query", 1, b"once") == first
    second = write_once(quorum, "query", 2, b"once more")
    for node_id in quorum.nodes:
        restart(quorum, node_id, tmp_path, release)

    assert write_once(quorum, "query", 2, b"once more") == second
    with pytest.raises(RequestError, match="DUPLICATE_RESOURCE"):
        write_once(quorum, "query", 2, b"other rows")
    assert values_of(quorum) == [b"by the old release", b"once", b"by this one", b"once more"]
    for node_id in quorum.nodes:
        restart(quorum, node_id, tmp_path)
    assert write_once(quorum, "query", 2, b"once more") == second
    assert len(values_of(quorum)) == 4


@pytest.mark.rule("READ-2")
def test_voter_of_the_old_release_confirms_an_upgraded_leader_for_linearizable_reads(
    quorum: NodeQuorum, tmp_path: Path, release: Release
) -> None:
    append(quorum, b"before")
    old, *upgraded = quorum.nodes
    for node_id in upgraded:
        restart(quorum, node_id, tmp_path)
    if quorum.leader_id() == old:
        restart(quorum, old, tmp_path, release)
    leader_id = quorum.leader_id()
    (other,) = set(upgraded) - {leader_id}

    stop(quorum, other)
    append(quorum, b"after")

    assert quorum.leader_id() == leader_id
    assert values_of(quorum) == [b"before", b"after"]
