"""Fixtures of the tests in which Kafka's programs use TLS and SASL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.java.installation import installed_kafka
from tests.java.kafka import Kafka
from tests.secured.judges import Aiokafka, Console, Judge, Librdkafka
from tests.secured.secured_quorum import SecuredQuorum


@pytest.fixture(scope="session")
def kafka() -> Kafka:
    """Kafka's programs."""
    return installed_kafka()


@pytest.fixture(scope="session")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredQuorum]:
    """Three voters for all tests; each test reads the records that it wrote."""
    with SecuredQuorum(tmp_path_factory.mktemp("secured")).start() as running:
        running.settle()
        yield running


@pytest.fixture
def judges(kafka: Kafka, tmp_path: Path) -> dict[str, Judge]:
    """The programs that judge, by name."""
    return {"Java": Console(kafka, tmp_path), "librdkafka": Librdkafka(), "aiokafka": Aiokafka()}
