"""Nodes that all tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import Pair, following_pair, leading_pair
from tests.node.harness.properties import voters_properties
from tests.node.harness.requests import produce_request
from tests.processes.node_quorum import NodeQuorum


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    """A quorum of one node, which leads."""
    with NodesInProcess(voters_properties(tmp_path_factory.mktemp("alone"), voters=1)) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


@pytest.fixture(scope="module")
def strict_about_size(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    """A quorum of one node that accepts batches of up to 4000 bytes."""
    configurations = voters_properties(tmp_path_factory.mktemp("size"), voters=1, message__max__bytes="4000")
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


@pytest.fixture(scope="module")
def strict_about_records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    """A quorum of one node that accepts only what Java's followers can read."""
    configurations = voters_properties(tmp_path_factory.mktemp("strict"), voters=1, raft__records__strict="true")
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    """A quorum of three nodes with a leader."""
    with NodesInProcess(voters_properties(tmp_path_factory.mktemp("three"))) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


@pytest.fixture
def leading(tmp_path: Path) -> Iterator[Pair]:
    """A leader whose only follower is the test."""
    with leading_pair(tmp_path) as pair:
        yield pair


@pytest.fixture
def following(tmp_path: Path) -> Iterator[Pair]:
    """A follower whose leader is the test."""
    with following_pair(tmp_path) as pair:
        yield pair


@pytest.fixture(scope="module")
def uncommitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A leader with a batch that is not committed, after others that are."""
    with leading_pair(tmp_path_factory.mktemp("uncommitted")) as pair, pair.wire() as producer:
        producer.send(produce_request(batch_of(b"committed"), timeout_ms=600_000), 9)
        pair.wait_for_log_end(2)
        start = pair.commit()
        producer.send(produce_request(batch_of(b"not"), timeout_ms=600_000), 9)
        pair.wait_for_log_end(start + 1)
        yield pair


@pytest.fixture(scope="session")
def same_trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeQuorum]:
    """Three processes for the whole session: starting them is what takes longest."""
    folder = tmp_path_factory.mktemp("trio")
    with NodeQuorum(folder, voters_properties(folder)).start() as trio:
        yield trio


@pytest.fixture
def trio(same_trio: NodeQuorum) -> NodeQuorum:
    """Three processes, all of them running."""
    return same_trio.start()
