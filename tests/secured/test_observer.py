"""A node of ours observes a cluster of Apache Kafka whose controller uses TLS, SASL and an authorizer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.types import Offset
from tests.java.kafka import Kafka
from tests.java.test_kafka_cluster import read_log
from tests.secured.secured_cluster import LISTENERS, SERVER_ID, SecuredCluster

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def cluster(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with SecuredCluster(kafka, tmp_path_factory.mktemp("cluster")).start() as running:
        yield running


@pytest.mark.parametrize("listener", [pytest.param(name, id=protocol) for name, protocol in LISTENERS.items()])
def test_observer_and_client_read_the_metadata_of_a_cluster(
    cluster: SecuredCluster, listener: str, tmp_path: Path
) -> None:
    with cluster.observer(listener, tmp_path) as observer, cluster.client(listener) as client:
        observer.wait_for_end(client.last_stable_offset())
        cluster.create_topics(f"while-followed-over-{listener.lower()}")
        end_offset = client.last_stable_offset()
        observer.wait_for_end(end_offset)
        kept = observer.batches()
        leader_id = client.describe_quorum().leader_id
        read = read_log(client, Offset(kept[0].header.base_offset))

    assert leader_id == SERVER_ID
    assert kept[: len(read)] == read[: len(kept)]
    assert kept[-1].header.end_offset >= end_offset
    assert any(f"while-followed-over-{listener.lower()}".encode() in batch.payload for batch in kept)
