"""Real nodes serve their metrics and their health over HTTP."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from raft.errors import ConfigError, StorageError
from raft.metrics import application, monitoring, node_collector
from raft.storage.directory import ReplicaDirectory
from raft.wire.messages.produce import ProduceResponse
from tests.metrics.http_client import Answer
from tests.metrics.scraped import get, metrics_port, scrape, with_metrics
from tests.metrics.test_raft_families import PREFIX, named_in_the_rules
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import TOPIC, voters_properties
from tests.node.harness.requests import produce_request
from tests.node.harness.waiting import eventually
from tests.workload.committed import read_all

LEADER_ONLY = {"number_of_observers", "uncommitted_voter_change"}


def a_follower(nodes: NodesInProcess) -> int:
    return next(node_id for node_id in nodes.running if node_id != nodes.leader())


@pytest.mark.rule("METRIC-1", "METRIC-6")
def test_scrape_has_the_19_metrics_of_the_rules(measured: NodesInProcess) -> None:
    expected = {name.replace("-", "_") for name in named_in_the_rules()}
    leader, follower = measured.wait_for_leader(), a_follower(measured)

    for node_id, left_out in ((leader, set[str]()), (follower, LEADER_ONLY)):
        found = scrape(measured, node_id)
        assert {name for name in found.names if name.startswith(PREFIX)} == {PREFIX + name for name in expected}
        sampled = {name.removeprefix(PREFIX) for name in found.sample_names if name.startswith(PREFIX)}
        assert sampled == expected - left_out


def test_leader_and_followers_agree_in_what_they_serve(measured: NodesInProcess) -> None:
    leader, follower = measured.wait_for_leader(), a_follower(measured)
    led, followed = scrape(measured, leader), scrape(measured, follower)

    assert led.value(f"{PREFIX}current_state", current_state="leader") == 1
    assert followed.value(f"{PREFIX}current_state", current_state="follower") == 1
    for found in (led, followed):
        assert found.value(f"{PREFIX}current_leader") == leader
        assert found.value(f"{PREFIX}current_epoch") == measured.running[leader].core.epoch
        assert found.value(f"{PREFIX}number_of_voters") == 3
    others = {str(node_id) for node_id in measured.running} - {str(leader)}
    assert {labels["voter"] for labels in led.labels_of("kraft_voter_behind_records")} == others
    assert not list(followed.labels_of("kraft_voter_behind_records"))
    assert followed.value("kraft_behind_records") is not None
    assert led.value("kraft_behind_records") is None


def test_appends_and_fetches_are_counted_on_all_sides(measured: NodesInProcess) -> None:
    leader, follower = measured.wait_for_leader(), a_follower(measured)
    before, followed_before = scrape(measured, leader), scrape(measured, follower)
    batch = batch_of(b"one", b"two")

    with measured.client() as client:
        appended = client.append(batch)
        values = [record.value for record in read_all(client)]

    end_offset = appended.base_offset + 2
    eventually(
        lambda: scrape(measured, follower).value(f"{PREFIX}high_watermark") == end_offset, "a follower that has all"
    )
    after, followed = scrape(measured, leader), scrape(measured, follower)

    def rise(name: str, **labels: str) -> float:
        return (after.value(name, **labels) or 0) - (before.value(name, **labels) or 0)

    topic = {"topic": TOPIC}
    assert values[-2:] == [b"one", b"two"]
    assert rise("kafka_server_brokertopicmetrics_bytesin_total", **topic) == len(batch)
    assert rise("kafka_server_brokertopicmetrics_messagesin_total", **topic) == 2
    assert rise("kafka_server_brokertopicmetrics_bytesout_total", **topic) >= len(batch)
    assert rise("kafka_server_brokertopicmetrics_replicationbytesout_total", **topic) >= 2 * len(batch)
    assert rise("kraft_records_out_total", receiver="client") >= 2
    assert rise("kraft_records_out_total", receiver="replica") >= 4
    assert rise("kafka_network_requestmetrics_totaltimems_count", request="Produce") == 1
    assert rise("kafka_network_requestmetrics_totaltimems_count", request="FetchConsumer") >= 1
    assert rise("kafka_network_requestmetrics_totaltimems_count", request="FetchFollower") >= 2
    assert rise("kafka_log_logflushstats_logflushrateandtimems_count") >= 1
    assert rise("kraft_commit_latency_seconds_count") == 1
    assert after.value(f"{PREFIX}commit_latency_max") is not None
    assert (followed.value("kraft_records_fetched_total") or 0) - (
        followed_before.value("kraft_records_fetched_total") or 0
    ) == 2
    assert after.value("kafka_log_log_logendoffset", topic=TOPIC, partition="0") == end_offset
    assert (after.value("kafka_log_log_size", topic=TOPIC, partition="0") or 0) >= len(batch)
    assert (after.value("kraft_disk_free_bytes") or 0) > 0


def test_refused_requests_are_counted_by_cause(measured: NodesInProcess) -> None:
    follower = a_follower(measured)
    name, labels = (
        "kafka_network_requestmetrics_errors_total",
        {"request": "Produce", "error": "NOT_LEADER_OR_FOLLOWER"},
    )
    before = scrape(measured, follower).value(name, **labels) or 0

    with measured.wire(follower) as wire:
        wire.send(produce_request(batch_of(b"not here")), 9)
        wire.receive(ProduceResponse)

    assert scrape(measured, follower).value(name, **labels) == before + 1


def test_dropped_connections_are_counted_by_cause(measured: NodesInProcess) -> None:
    leader = measured.wait_for_leader()
    name = "kraft_connections_dropped_total"
    before = scrape(measured, leader).value(name, cause="invalid-request") or 0

    with measured.wire(leader) as wire:
        wire.send_bytes(b"\0\0\0\x04\0\0\0\0")
        assert wire.is_closed_by_node()

    eventually(
        lambda: scrape(measured, leader).value(name, cause="invalid-request") == before + 1, "the count has risen"
    )


def test_connections_are_counted_by_kind(measured: NodesInProcess) -> None:
    leader = measured.wait_for_leader()
    name = "kafka_server_socket_server_metrics_connection_count"

    with measured.wire(leader):
        eventually(
            lambda: scrape(measured, leader).value(name, listener="CONTROLLER", kind="client"), "a client is connected"
        )

    assert (scrape(measured, leader).value(name, listener="CONTROLLER", kind="voter") or 0) >= 2
    assert (scrape(measured, leader).value("kraft_outbound_connections") or 0) >= 2


def test_parked_fetches_are_counted(measured: NodesInProcess) -> None:
    leader = measured.wait_for_leader()

    eventually(
        lambda: (
            scrape(measured, leader).value(
                "kafka_server_delayedoperationpurgatory_purgatorysize", delayedoperation="Fetch"
            )
            == 2
        ),
        "the fetches of both followers are parked",
    )


def test_nodes_of_one_process_have_registries_of_their_own(measured: NodesInProcess) -> None:
    states = [list(scrape(measured, node_id).labels_of(f"{PREFIX}current_state")) for node_id in measured.running]

    assert sorted(each["current_state"] for (each,) in states) == ["follower", "follower", "leader"]


def test_nodes_of_a_quorum_are_ready(measured: NodesInProcess) -> None:
    leader = measured.wait_for_leader()

    for node_id in measured.running:
        eventually(lambda node_id=node_id: get(measured, node_id, "/readyz").status == 200, "a node that is ready")  # type: ignore[misc]
        fields = get(measured, node_id, "/readyz").fields()
        assert (fields["ready"], fields["node"], fields["leader"]) == (True, node_id, leader)
        assert get(measured, node_id, "/healthz").fields()["lives"] is True
    fields = get(measured, a_follower(measured), "/readyz").fields()
    assert (fields["state"], fields["behindRecords"]) == ("follower", 0)
    assert fields["behindMs"] >= 0


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NodesInProcess]:
    """Nodes that a test may stop."""
    monkeypatch.setattr(application, "FRESH_S", 0.0)
    with NodesInProcess(with_metrics(voters_properties(tmp_path))) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


def test_follower_that_is_cut_off_is_not_ready(others: NodesInProcess) -> None:
    follower = a_follower(others)
    leader = others.wait_for_leader()
    # The leader comes last: without it, the two followers would elect another one.
    for node_id in [*set(others.running) - {follower, leader}, leader]:
        others.stop(node_id)

    def cut_off() -> Answer | None:
        answer = get(others, follower, "/readyz")
        return None if answer.status == 200 else answer

    answer = eventually(cut_off, "its fetch timeout has expired")

    assert answer.status == 503
    assert answer.fields()["ready"] is False
    assert answer.fields()["reason"] == "it knows no leader that it could follow"

    def elections(ballot: str) -> float:
        return scrape(others, follower).value("kraft_elections_total", ballot=ballot) or 0

    pre_votes, votes = elections("pre-vote"), elections("standard")
    eventually(lambda: elections("pre-vote") > pre_votes, "it asks for pre-votes again")
    assert elections("standard") == votes, "it has not won a pre-vote"


@contextmanager
def stopped_loop(nodes: NodesInProcess) -> Iterator[None]:
    """Let the event loop not turn meanwhile."""
    release = threading.Event()

    async def block() -> None:
        release.wait()

    blocked = nodes.thread.begin(block())
    try:
        yield
    finally:
        release.set()
        blocked.result()


def test_node_whose_loop_does_not_turn_does_not_live(others: NodesInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "HEALTHY_S", 0.6)

    with stopped_loop(others):
        answer = eventually(
            lambda: found if (found := get(others, 1, "/healthz")).status == 503 else None, "it does not live"
        )
        found = scrape(others, 1)
        ready = get(others, 1, "/readyz")

    assert str(answer.fields()["reason"]).startswith("the event loop has not turned for ")
    assert (found.value("kraft_event_loop_age_seconds") or 0) > 0.6
    assert f"{PREFIX}current_leader" not in found.names, "no old state is served"
    assert (ready.status, ready.fields()["reason"]) == (
        503,
        f"the event loop did not respond within {monitoring._WAIT_S:g} s",
    )
    eventually(lambda: get(others, 1, "/healthz").status == 200, "it lives again")


def test_scrape_goes_on_without_the_figures_of_a_disk_that_has_an_error(
    measured: NodesInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_directory: ReplicaDirectory) -> None:
        raise StorageError("the disk has an error")

    monkeypatch.setattr(node_collector, "look_at", fail)

    found = scrape(measured, 1)

    assert found.value("kafka_log_log_size", topic=TOPIC, partition="0") is None
    assert found.value("kafka_log_log_logendoffset", topic=TOPIC, partition="0") is not None
    monkeypatch.undo()
    assert get(measured, 1, "/healthz").status == 200, "the node goes on"


def test_node_does_not_start_when_the_port_of_its_metrics_is_in_use(measured: NodesInProcess, tmp_path: Path) -> None:
    port = metrics_port(measured, 1)
    configurations = voters_properties(tmp_path, voters=1, metrics__listeners=f"HTTP://127.0.0.1:{port}")

    with (
        NodesInProcess(configurations) as nodes,
        pytest.raises(ConfigError, match=r"^metrics\.listeners: cannot listen"),
    ):
        nodes.start()


def test_node_without_the_key_serves_nothing(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path, voters=1)) as nodes:
        nodes.start().wait_for_leader()

        assert nodes.running[1].parts._monitoring is None


def test_node_loads_the_library_only_where_it_serves_metrics() -> None:
    program = "import sys, raft.node.node; sys.exit('prometheus_client' in sys.modules)"

    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_snapshots_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "FRESH_S", 0.0)
    configurations = voters_properties(
        tmp_path, voters=1, cleanup__policy="delete", metadata__log__max__record__bytes__between__snapshots="1"
    )
    with NodesInProcess(with_metrics(configurations)) as nodes:
        nodes.start().wait_for_leader()
        assert scrape(nodes, 1).value("kraft_snapshots") == 0
        assert scrape(nodes, 1).value("kafka_server_snapshotemitter_latestsnapshotgeneratedbytes") is None
        with nodes.client() as client:
            client.append(batch_of(b"x"))

        eventually(lambda: scrape(nodes, 1).value("kraft_snapshots"), "a snapshot")
        found = scrape(nodes, 1)

    assert (found.value("kafka_server_snapshotemitter_latestsnapshotgeneratedbytes") or 0) > 0
    assert found.value("kafka_server_snapshotemitter_latestsnapshotgeneratedagems") is not None
    assert (found.value("kraft_snapshot_duration_seconds_count") or 0) >= 1
    assert (found.value("kraft_snapshot_end_offset") or 0) > 0
