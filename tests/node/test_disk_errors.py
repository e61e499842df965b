"""A node whose disk reports an error stops with that error, and the rest of the quorum continues."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from raft.errors import QuorumUnavailableError
from tests.node.harness.batches import batch_of
from tests.node.harness.properties import voters_properties
from tests.processes.node_process import NodeProcess, client_of
from tests.processes.node_quorum import NodeQuorum
from tests.workload.appenders import Appenders
from tests.workload.committed import read_all

FULL_BYTES = 100_000


def limit_files(node: NodeProcess, size_bytes: int) -> None:
    """From now on the kernel refuses to let a file of this node grow past a size, as a full disk would."""
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (size_bytes, resource.RLIM_INFINITY))


@pytest.mark.parametrize("whose", ["leader", "follower"])
@pytest.mark.rule("LOG-17")
def test_node_stops_and_the_quorum_continues_when_its_log_cannot_be_written(trio: NodeQuorum, whose: str) -> None:
    full = trio.leader() if whose == "leader" else trio.follower()
    limit_files(full, full.segment.stat().st_size + FULL_BYTES)
    output_before = len(full.output)
    with Appenders(trio.client) as appenders, trio.client() as client:
        while full.is_running:
            client.append(batch_of(b"x" * 20_000))
        appenders.wait_for_progress()
        exit_code = full.wait()
        full.start().wait_until_serving()
        appenders.wait_for_progress()

    assert exit_code == 1
    words = f"cannot write {full.segment}: File too large"
    lines = full.output[output_before:].splitlines()
    assert [line for line in lines if line.startswith("kraft: ")] == [f"kraft: {words}"]
    assert any(line.endswith(f"stops: {words}") for line in lines)
    assert "Traceback" not in full.output
    with trio.client() as client:
        appenders.check(read_all(client))


@pytest.mark.rule("LOG-17", "STATE-5")
def test_node_stops_when_its_vote_cannot_be_stored(trio: NodeQuorum) -> None:
    broken = trio.follower()
    in_the_way = broken.segment.parent / "quorum-state.tmp"
    in_the_way.mkdir()
    trio.leader().kill()

    exit_code = broken.wait()
    in_the_way.rmdir()

    assert exit_code == 1
    last_line = broken.output.splitlines()[-1]
    assert last_line.startswith("kraft: cannot ")
    assert "quorum-state.tmp" in last_line


@pytest.mark.rule("LOG-17")
def test_append_that_a_full_disk_refused_is_not_acknowledged(tmp_path: Path) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()
    with NodeProcess(properties, tmp_path / "process").start() as node:
        node.wait_until_serving()
        with client_of(node, api_timeout_ms=2_000) as client:
            client.append(batch_of(b"a"))
            limit_files(node, node.segment.stat().st_size + 10)
            with pytest.raises(QuorumUnavailableError):
                client.append(batch_of(b"b"))
        assert node.wait() == 1
        node.start().wait_until_serving()
        with client_of(node) as client:
            values = [record.value for record in read_all(client)]

    assert values == [b"a"]
