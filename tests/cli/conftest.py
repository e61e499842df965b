"""A quorum for commands, and ways to run them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.client import Client
from raft.records.batch import build_batch
from raft.records.record import Record
from tests.cli.in_process import KraftInProcess
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> KraftInProcess:
    """Runs commands inside this process."""
    monkeypatch.setenv("COLUMNS", "200")
    return KraftInProcess(monkeypatch, capsys)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[NodesInProcess]:
    """A quorum of one node, new for each test."""
    with NodesInProcess(voters_properties(tmp_path / "nodes", voters=1)) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


@pytest.fixture
def client(nodes: NodesInProcess) -> Iterator[Client]:
    """A client of that quorum."""
    with nodes.client() as client:
        yield client


@pytest.fixture
def server(nodes: NodesInProcess) -> str:
    """Where that quorum is."""
    return str(nodes.endpoint(1))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    """A quorum whose log holds, from offset 1 on: four records of all kinds in one batch, and one in another."""
    with NodesInProcess(voters_properties(tmp_path_factory.mktemp("library"), voters=1)) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            client.append(
                build_batch(
                    [
                        Record(value=b"plain", timestamp_ms=1_000),
                        Record(key=b"k", value="b\xe4r".encode(), timestamp_ms=2_000),
                        Record(key=b"\xff", value=b"\xfe", headers=(("h", b"1"), ("h", None)), timestamp_ms=3_000),
                        Record(key=b"gone", value=None, timestamp_ms=4_000),
                    ]
                )
            )
            client.append(build_batch([Record(value=b"", timestamp_ms=5_000)]))
        yield nodes


@pytest.fixture
def shelf(library: NodesInProcess) -> str:
    """Where the library is."""
    return str(library.endpoint(1))
