"""What the tests against Kafka's programs start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.local import LocalQuorum
from tests.java.installation import installed_kafka
from tests.java.kafka import Kafka
from tests.java.kraft import KraftNodes
from tests.node.harness.settling import settled


@pytest.fixture(scope="session")
def kafka() -> Kafka:
    """Kafka's programs."""
    return installed_kafka()


@pytest.fixture(scope="session")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalQuorum]:
    """Three voters that live through all tests; each test reads what it wrote itself."""
    with LocalQuorum.start(tmp_path_factory.mktemp("quorum")) as running:
        yield running


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[KraftNodes]:
    """Three voters of one test's own, for it to kill."""
    with KraftNodes(tmp_path) as running:
        with running.client() as client:
            settled(client, running.running)
        yield running
