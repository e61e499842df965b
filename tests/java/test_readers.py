"""A client that reads from any node, in quorums and clusters with nodes of Kafka, which serve Fetch while they lead.

The records are equal to those of the leader, whichever program that runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from raft.client import Client, ClientSettings, ReadFrom
from raft.records.batches import read_batches
from raft.types import Batch, Endpoint, NodeId, Offset
from tests.java.cluster import KafkaCluster
from tests.java.kafka import Kafka
from tests.java.mixed_quorum import Fault, Kind, Leadership, MixedQuorum
from tests.java.observer import Observer, kraft_observer
from tests.java.workload import Workload
from tests.spark.session import spark as spark
from tests.spark.streams import Delivered

pytestmark = [pytest.mark.java, pytest.mark.rule("READ-4", "READ-5")]

_JAVA, _OURS = Kind.JAVA, Kind.OURS


@dataclass(frozen=True, slots=True)
class Found:
    """What a client read, and the nodes besides the leader that sent it."""

    batches: list[Batch]
    readers: set[Endpoint | None]


def read(servers: tuple[Endpoint, ...], read_from: ReadFrom, start: Offset, end: Offset) -> Found:
    """Read the batches between two offsets, some at a time."""
    found = Found([], set())
    settings = ClientSettings(bootstrap_servers=servers, read_from=read_from, api_timeout_ms=30_000)
    with Client(settings) as client:
        offset = start
        while offset < end:
            fetched = client.fetch(offset, max_bytes=20_000)
            batches = [each for each in read_batches(fetched.records) if each.header.base_offset < end]
            found.batches.extend(batches)
            found.readers.add(fetched.reader)
            offset = batches[-1].header.end_offset if batches else offset
    return found


def last_stable_offset(*servers: Endpoint) -> Offset:
    with Client(ClientSettings(bootstrap_servers=servers, api_timeout_ms=30_000)) as client:
        return client.last_stable_offset()


# Quorums of both


_ONE_OF_KAFKAS = pytest.param([_JAVA, _OURS, _OURS], id="1 of Kafka's and 2 of ours")
_TWO_OF_KAFKAS = pytest.param([_JAVA, _JAVA, _OURS], id="2 of Kafka's and 1 of ours")


@pytest.fixture(scope="module")
def mixed(
    kafka: Kafka, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[MixedQuorum]:
    """A quorum of voters of these kinds, observed by a node of ours."""
    with MixedQuorum(kafka, tmp_path_factory.mktemp("mixed"), request.param, _OURS) as quorum:
        quorum.wait_for_leader()
        yield quorum


def let_lead(quorum: MixedQuorum, kind: Kind) -> Leadership:
    """Replace the leader by a node of this kind, unless it is one: the voters of the other kind miss some records."""
    before = quorum.wait_for_leader()
    if quorum.kinds[before.leader_id] is kind:
        return before
    behind = [quorum.nodes[each] for each in {*quorum.voters} - {*quorum.of_kind(kind), before.leader_id}]
    for node in behind:
        node.suspend()
    Workload(quorum).run(before.leader_id, 0.5)
    quorum.inject(before.leader_id, Fault.SUSPENDED)
    for node in behind:
        node.resume()
    quorum.wait_for_leader(after=before.epoch)
    quorum.end_fault()
    leadership = quorum.wait_for_leader()
    assert quorum.kinds[leadership.leader_id] is kind
    return leadership


def endpoints(quorum: MixedQuorum, node_ids: list[NodeId]) -> tuple[Endpoint, ...]:
    return tuple(quorum.nodes[node_id].client_endpoint for node_id in node_ids)


@pytest.mark.parametrize("kind", [_JAVA, _OURS], ids=["Kafka's node leads", "a node of ours leads"])
@pytest.mark.parametrize("mixed", [_ONE_OF_KAFKAS, _TWO_OF_KAFKAS], indirect=True)
def test_records_are_those_of_the_leader_and_only_our_followers_send_them(mixed: MixedQuorum, kind: Kind) -> None:
    leadership = let_lead(mixed, kind)
    Workload(mixed).run(leadership.leader_id, 0.5)
    servers = endpoints(mixed, mixed.of_kind(_OURS))
    end = last_stable_offset(*servers)

    of_leader = read(servers, ReadFrom.LEADER, Offset(1), end)
    of_any = read(servers, ReadFrom.ANY, Offset(1), end)

    assert mixed.wait_for_leader() == leadership, "the leader is the same all the time"
    assert of_leader.readers == {None}
    assert of_any.batches == of_leader.batches
    assert of_any.batches[-1].header.end_offset >= end
    ours = endpoints(mixed, [each for each in mixed.of_kind(_OURS) if each != leadership.leader_id])
    plain = {Endpoint(endpoint.host, endpoint.port) for endpoint in ours}
    assert of_any.readers <= plain | {None}
    assert of_any.readers & plain


@pytest.mark.parametrize("kind", [_JAVA, _OURS], ids=["Kafka's node leads", "a node of ours leads"])
@pytest.mark.parametrize("mixed", [_TWO_OF_KAFKAS], indirect=True)
def test_records_are_read_from_the_leader_when_no_other_node_of_ours_runs(mixed: MixedQuorum, kind: Kind) -> None:
    leadership = let_lead(mixed, kind)
    Workload(mixed).run(leadership.leader_id, 0.3)
    leader = endpoints(mixed, [leadership.leader_id])
    of_ours = [each for each in mixed.of_kind(_OURS) if each != leadership.leader_id]
    servers = endpoints(mixed, of_ours[:1]) + leader
    end = last_stable_offset(*servers)
    expected = read(servers, ReadFrom.LEADER, Offset(1), end)
    settings = ClientSettings(bootstrap_servers=servers, read_from=ReadFrom.ANY, api_timeout_ms=30_000)

    with Client(settings) as client:
        first = client.fetch(Offset(1), max_bytes=20_000)
        for node_id in of_ours:
            mixed.nodes[node_id].suspend()
        try:
            alone = client.fetch(Offset(1), max_bytes=20_000)
        finally:
            for node_id in of_ours:
                mixed.nodes[node_id].resume()
    mixed.wait_for_leader()

    assert first.reader is not None
    assert alone.reader is None
    (of_one, *_), (of_two, *_) = read_batches(alone.records), read_batches(first.records)
    assert of_one == of_two == expected.batches[0]


# Clusters of Kafka


@pytest.fixture(scope="module")
def cluster(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A cluster without snapshots."""
    with KafkaCluster(kafka, tmp_path_factory.mktemp("cluster")).start() as running:
        running.create_topics("first", partitions=30)
        yield running


@pytest.fixture
def observer(cluster: KafkaCluster, tmp_path: Path) -> Iterator[Observer]:
    """A node of ours that has everything."""
    with kraft_observer(tmp_path, cluster.controller) as observer:
        observer.wait_for_end(last_stable_offset(cluster.controller))
        yield observer


def test_observer_of_ours_serves_the_metadata_and_spares_the_controller(
    cluster: KafkaCluster, observer: Observer
) -> None:
    servers = (cluster.controller, observer.client_endpoint)
    end = last_stable_offset(*servers)

    of_controller = read(servers, ReadFrom.LEADER, Offset(1), end)
    of_observer = read(servers, ReadFrom.ANY, Offset(1), end)

    assert of_controller.readers == {None}
    assert of_observer.batches == of_controller.batches
    assert Endpoint(observer.endpoint.host, observer.endpoint.port) in of_observer.readers


def test_controller_serves_the_metadata_when_no_observer_of_ours_runs(cluster: KafkaCluster) -> None:
    servers = (cluster.controller, cluster.broker)
    end = last_stable_offset(*servers)

    found = read(servers, ReadFrom.ANY, Offset(1), end)

    assert found.readers == {None}
    assert found.batches == read(servers, ReadFrom.LEADER, Offset(1), end).batches


def test_controller_serves_the_metadata_when_the_observer_is_suspended(
    cluster: KafkaCluster, observer: Observer
) -> None:
    settings = ClientSettings(
        bootstrap_servers=(cluster.controller, observer.client_endpoint),
        read_from=ReadFrom.ANY,
        request_timeout_ms=6_000,
        api_timeout_ms=30_000,
    )
    with Client(settings) as client:
        first = client.fetch(Offset(1), max_bytes=1_000)
        observer.suspend()
        try:
            second = client.fetch(Offset(1), max_bytes=1_000)
        finally:
            observer.resume()

    assert (first.reader is None, second.reader is None) == (False, True)
    (of_first, *_), (of_second, *_) = read_batches(first.records), read_batches(second.records)
    assert of_first == of_second


@pytest.mark.spark
def test_spark_reads_the_metadata_from_an_observer(
    spark: SparkSession, cluster: KafkaCluster, observer: Observer, tmp_path: Path
) -> None:
    options = {
        "kraft.bootstrap.servers": f"{cluster.controller},{observer.client_endpoint}",
        "startingOffsets": "earliest",
    }
    delivered: dict[str, list[str | None]] = {}
    for read_from in ("any", "leader"):
        stream = spark.readStream.format("kraft").options(**options, **{"kraft.read.from": read_from}).load()
        sink = Delivered(stream.selectExpr("offset", "hex(value) value"), tmp_path / read_from)
        sink.run()
        cluster.create_topics(f"while-read-from-{read_from}")
        sink.run()
        delivered[read_from] = sink.values

    # The controller writes a record from time to time by itself, so the second read may have more.
    first, second = delivered["any"], delivered["leader"]
    assert len(first) > 30
    assert second[: len(first)] == first
