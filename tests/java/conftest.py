"""Fixtures of the tests against Kafka's programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.java.installation import installed_kafka
from tests.java.kafka import Kafka
from tests.java.kraft import kraft_quorum
from tests.node.harness.properties import quorum_properties, with_client_listeners
from tests.processes.node_quorum import NodeQuorum


@pytest.fixture(scope="session")
def kafka() -> Kafka:
    """Kafka's programs."""
    return installed_kafka()


@pytest.fixture(scope="session")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeQuorum]:
    """Three voters for all tests, which listen for clients apart; each test reads the records that it wrote."""
    folder = tmp_path_factory.mktemp("quorum")
    with NodeQuorum(folder, with_client_listeners(quorum_properties(folder, 3, {}))).start() as running:
        running.settle()
        yield running


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[NodeQuorum]:
    """Three voters for one test, which may kill nodes."""
    with kraft_quorum(tmp_path).start() as running:
        running.settle()
        yield running
