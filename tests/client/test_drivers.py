"""Both drivers of a session, blocking and asyncio, against real nodes and misbehaving ones."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from raft.client import WRITES_LEVEL, calls
from raft.client.session import Deadline, Session
from raft.client.steps import Ask, Operation, Pause, Reply
from raft.errors import (
    ConfigError,
    ErrorCode,
    LowerEpochError,
    OffsetOutOfRangeError,
    QuorumUnavailableError,
    RequestError,
)
from raft.local.ports import free_ports
from raft.types import Endpoint, Epoch, Offset, OffsetAndEpoch
from raft.wire.frames import encode_response
from raft.wire.messages.api_versions import ApiVersionsResponse
from raft.wire.messages.metadata import MetadataRequest
from tests.client.driving import Drive, settings_of
from tests.node.harness.batches import batch_of, values_in
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import leading_pair
from tests.node.harness.peer import serving_all
from tests.node.harness.properties import CLUSTER_ID, HOST, voters_properties

LATEST = -1


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    """A quorum of three nodes."""
    with NodesInProcess(voters_properties(tmp_path_factory.mktemp("nodes"))) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


def asked(drive: Drive, place: Endpoint, *, timeout_ms: int = 5_000) -> Reply:
    """The outcome of one request to one node."""

    def ask(_session: Session, _deadline: Deadline) -> Operation[Reply]:
        return (yield Ask(endpoint=place, request=MetadataRequest(topics=None), timeout_ms=timeout_ms))

    outcome: Reply = drive(settings_of(place)).call(ask)
    return outcome


def test_client_appends_and_reads_through_any_node(drive: Drive, nodes: NodesInProcess) -> None:
    for node_id in nodes.running:
        driver = drive(settings_of(nodes.endpoint(node_id)))
        appended = driver.call(calls.append, batch_of(b"a", b"b"))

        got = driver.call(calls.fetch_committed, appended.base_offset, max_bytes=1 << 20, max_wait_ms=1_000)

        assert values_in(got.records) == [b"a", b"b"]
        assert got.last_stable_offset == appended.base_offset + 2


def test_client_can_be_used_again_after_it_was_closed(drive: Drive, nodes: NodesInProcess) -> None:
    driver = drive(settings_of(nodes.endpoint(1)))
    before = driver.call(calls.find_offset, LATEST)
    driver.close()

    assert driver.call(calls.find_offset, LATEST) == before


def test_offset_out_of_range_is_an_error_with_the_range(drive: Drive, nodes: NodesInProcess) -> None:
    driver = drive(settings_of(nodes.endpoint(1)))

    with pytest.raises(OffsetOutOfRangeError, match="offset 99999 is out of range: the log holds 0 to "):
        driver.call(calls.fetch_committed, Offset(99_999), max_bytes=1, max_wait_ms=0)


def test_refused_append_is_an_error_with_the_reason(drive: Drive, nodes: NodesInProcess) -> None:
    driver = drive(settings_of(nodes.endpoint(1)))

    with pytest.raises(RequestError) as refused:
        driver.call(calls.append, b"no batch")

    assert refused.value.code == ErrorCode.INVALID_RECORD
    assert str(refused.value) == "INVALID_RECORD: 8 bytes of records are not exactly one batch"


def test_reader_with_a_timeout_below_its_wait_gets_no_records_and_no_error(drive: Drive, nodes: NodesInProcess) -> None:
    driver = drive(settings_of(nodes.endpoint(1), api_timeout_ms=300))
    end = driver.call(calls.find_offset, LATEST)

    assert driver.call(calls.fetch_committed, end.offset, max_bytes=1, max_wait_ms=60_000).records == b""


def test_refused_connection_is_the_failure(drive: Drive) -> None:
    outcome = asked(drive, Endpoint(HOST, free_ports(1)[0]))

    assert (outcome.response, outcome.failure) == (None, "Connection refused")


def test_impossible_host_is_the_failure(drive: Drive) -> None:
    outcome = asked(drive, Endpoint("a..b", 9093))

    assert "label empty" in (outcome.failure or "")


def test_host_with_a_nul_is_a_failure(drive: Drive) -> None:
    outcome = asked(drive, Endpoint("nowhere.invalid\0", 9093))

    assert outcome.response is None
    assert outcome.failure, "in words, and no ValueError of asyncio's"


@pytest.mark.parametrize("port", [-1, 65_536])
def test_impossible_port_is_a_failure(drive: Drive, port: int) -> None:
    outcome = asked(drive, Endpoint(HOST, port))

    assert outcome.response is None
    assert outcome.failure, "in words, and no OverflowError of the socket's"


def test_pause_takes_its_time_and_has_no_response(drive: Drive) -> None:
    def pause(_session: Session, deadline: Deadline) -> Operation[tuple[Deadline, Reply]]:
        outcome = yield Pause(duration_ms=100)
        return deadline, outcome

    deadline, outcome = drive(settings_of(Endpoint(HOST, 1))).call(pause)

    assert outcome == Reply(now_ms=outcome.now_ms)
    assert outcome.now_ms - deadline.started_ms >= 99
    assert deadline.timeout_ms == 10_000


def test_another_cluster_is_refused(drive: Drive, nodes: NodesInProcess) -> None:
    driver = drive(replace(settings_of(nodes.endpoint(1)), cluster_id="another"))

    with pytest.raises(ConfigError, match=f"the quorum has cluster id {CLUSTER_ID}, expected another"):
        driver.call(calls.find_offset, LATEST)


@contextmanager
def sending(data: bytes) -> Iterator[Endpoint]:
    """A node that sends these bytes on each connection, and closes it."""
    with socket.create_server((HOST, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(data)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Endpoint(HOST, server.getsockname()[1])
        finally:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
            thread.join()


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        pytest.param(b"", "closed", id="closed at once"),
        pytest.param(encode_response(serving_all(), 4, correlation_id=0)[:-5], "closed", id="truncated in the middle"),
        pytest.param(b"\x00\x00\x00\x04\x00\x00\x00\x00", "cannot decode", id="incomplete"),
        pytest.param(b"\xff" * 100, "a frame of -1 bytes", id="rubbish"),
        pytest.param(encode_response(serving_all(), 4, correlation_id=9), "a response to request 9", id="to another"),
        pytest.param(
            encode_response(ApiVersionsResponse(error_code=31, api_keys=()), 4, correlation_id=0),
            "CLUSTER_AUTHORIZATION_FAILED",
            id="refused",
        ),
    ],
)
def test_invalid_response_is_the_failure(drive: Drive, data: bytes, trouble: str) -> None:
    with sending(data) as place:
        outcome = asked(drive, place)

    assert outcome.response is None
    assert trouble in (outcome.failure or "")


SERVING_NOTHING = encode_response(ApiVersionsResponse(error_code=0, api_keys=()), 4, correlation_id=0)


def test_node_that_serves_nothing_is_a_failure_of_the_search(drive: Drive) -> None:
    with sending(SERVING_NOTHING) as place:
        driver = drive(settings_of(place, api_timeout_ms=300))

        with pytest.raises(QuorumUnavailableError, match="does not serve DescribeCluster in any version known here"):
            driver.call(calls.find_offset, LATEST)


def test_search_goes_on_with_the_next_node_when_one_serves_nothing(drive: Drive, nodes: NodesInProcess) -> None:
    with sending(SERVING_NOTHING) as place:
        driver = drive(settings_of(place, nodes.endpoint(1)))

        assert driver.call(calls.find_offset, LATEST).offset >= 0


def test_client_goes_to_the_next_leader_when_the_first_one_stops_responding(drive: Drive, tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path)) as nodes:
        old = nodes.start().wait_for_leader()
        driver = drive(settings_of(*(nodes.endpoint(node_id) for node_id in nodes.running), request_timeout_ms=500))
        first = driver.call(calls.append, batch_of(b"before"))
        nodes.stop(old)

        second = driver.call(calls.append, batch_of(b"after"))
        got = driver.call(calls.fetch_committed, first.base_offset, max_bytes=1 << 20, max_wait_ms=100)

    assert second.base_offset > first.base_offset
    assert values_in(got.records) == [b"before", b"after"]


def test_append_that_is_not_committed_is_unknown(drive: Drive, tmp_path: Path) -> None:
    with leading_pair(tmp_path) as pair:
        start = pair.commit()
        driver = drive(settings_of(pair.nodes.endpoint(1), api_timeout_ms=600, request_timeout_ms=200))

        with pytest.raises(QuorumUnavailableError, match="no response from the leader within 600 ms"):
            driver.call(calls.append, batch_of(b"lost", producer_id=9))
        pair.commit()
        there = driver.call(calls.append, batch_of(b"lost", producer_id=9))

    assert there.base_offset == start, "it was sent several times and is there once"


def test_blocking_client_has_every_call(nodes: NodesInProcess) -> None:
    with nodes.client() as client:
        producer_id = client.new_producer_id()
        appended = client.append(batch_of(b"v", producer_id=producer_id))
        described = client.describe_quorum()

        assert client.cluster_id == CLUSTER_ID
        assert client.epoch == described.leader_epoch
        assert client.feature_level() == WRITES_LEVEL
        assert client.log_start_offset() == 0
        assert client.last_stable_offset() == appended.base_offset + 1
        assert values_in(client.fetch(appended.base_offset).records) == [b"v"]
        assert client.end_of_epoch(client.epoch) == OffsetAndEpoch(
            epoch=client.epoch, offset=client.last_stable_offset()
        )
        assert client.find_offset(1 << 60) is None
        assert {voter.node_id for voter in described.voters} == {1, 2, 3}


def test_client_that_knows_a_higher_epoch_does_not_accept_the_leader(nodes: NodesInProcess) -> None:
    with nodes.client(api_timeout_ms=300) as client:
        client.start_over(epoch=Epoch(99))
        with pytest.raises(LowerEpochError, match=r"knows a leader of epoch \d+, but epoch 99 was seen"):
            client.last_stable_offset()

        client.start_over()
        client.last_stable_offset()
        assert 0 < client.epoch < 99


def test_client_that_starts_over_accepts_only_the_cluster_it_is_given(nodes: NodesInProcess) -> None:
    with nodes.client() as client:
        client.last_stable_offset()
        client.start_over(cluster_id="of others")

        with pytest.raises(ConfigError, match=f"the quorum has cluster id {CLUSTER_ID}, expected of others"):
            client.last_stable_offset()


def test_timeout_is_the_failure_when_a_node_never_responds(drive: Drive) -> None:
    with socket.create_server((HOST, 0)) as silent:
        outcome = asked(drive, Endpoint(HOST, silent.getsockname()[1]), timeout_ms=100)

    assert (outcome.response, outcome.failure) == (None, "no response in time")
