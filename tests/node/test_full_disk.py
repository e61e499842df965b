"""All disks of a quorum are full but for the reserve: no node stops, and records are taken again when there is room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.client import Client
from raft.errors import QuorumUnavailableError
from raft.storage.disk import DiskFiles
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties
from tests.workload.committed import read_all

ROOMY = 1 << 40


class Disks:
    """How much the nodes find free on their disks."""

    free_bytes = ROOMY


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> Disks:
    disks = Disks()
    monkeypatch.setattr(DiskFiles, "free_bytes", lambda _: disks.free_bytes)
    return disks


@pytest.fixture
def nodes(tmp_path: Path, disks: Disks) -> Iterator[NodesInProcess]:
    with NodesInProcess(voters_properties(tmp_path)) as nodes:
        yield nodes.start(1, 2, 3)


def append_until_refused(client: Client) -> None:
    """Append until the leader says that its disk is full; before that, an append may wait for the followers' disks."""
    while True:
        try:
            client.append(batch_of(b"meanwhile"))
        except QuorumUnavailableError as error:
            if "raft.reserve.bytes" in str(error):
                raise


@pytest.mark.rule("LOG-24")
def test_full_disks_stop_no_node(nodes: NodesInProcess, disks: Disks) -> None:
    with nodes.client(api_timeout_ms=4_000) as client:
        client.append(batch_of(b"before"))
        disks.free_bytes = 1_000_000

        with pytest.raises(QuorumUnavailableError) as refusal:
            append_until_refused(client)

        disks.free_bytes = ROOMY
        client.append(batch_of(b"after"))
        values = [record.value for record in read_all(client)]

    assert "raft.reserve.bytes" in str(refusal.value)
    assert (values[0], values[-1], set(values[1:-1])) == (b"before", b"after", {b"meanwhile"})
    assert set(nodes.running) == {1, 2, 3}
