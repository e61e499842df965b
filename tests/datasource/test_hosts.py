"""How long a task tries to connect, by the host on which it was planned, and what it says when it cannot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from datasource.batch_reader import KraftBatchReader
from datasource.hosts import Host, is_loopback
from datasource.options import ReadOptions, WriteOptions
from datasource.range_partition import RangePartition
from datasource.read_plan import LogRange
from datasource.stream_reader import KraftStreamReader
from datasource.stream_writer import KraftStreamWriter
from raft.errors import QuorumUnreachableError
from raft.local.ports import free_ports
from raft.types import Epoch, Offset

ELSEWHERE = Host(name="another", network="net:[1]")
RANGE = LogRange(start_offset=Offset(0), end_offset=Offset(1), cluster_id="id", epoch=Epoch(1))


def read_options(servers: str, **more: str) -> ReadOptions:
    return ReadOptions.of({"kraft.bootstrap.servers": servers, **more})


def partition(planned_on: Host) -> RangePartition:
    planned = RangePartition(RANGE)
    planned.planned_on = planned_on
    return planned


@pytest.mark.parametrize(
    ("planned_on", "servers", "limit_ms"),
    [
        pytest.param(Host.of_this_process(), "127.0.0.1:1", None, id="same host"),
        pytest.param(ELSEWHERE, "10.0.0.7:1,127.0.0.1:1", 10_000, id="another host"),
        pytest.param(ELSEWHERE, "127.0.0.1:1,localhost:2", 1_000, id="another host, but addresses of this one"),
        pytest.param(replace(Host.of_this_process(), network=""), "10.0.0.7:1", 10_000, id="another container"),
    ],
)
def test_task_tries_for_seconds_unless_it_runs_where_the_quorum_was_reached(
    planned_on: Host, servers: str, limit_ms: int | None
) -> None:
    options = partition(planned_on).options_for_this_host(read_options(servers))

    assert options.client.connect_timeout_ms == limit_ms


def test_limit_of_the_user_stays_when_it_is_lower() -> None:
    given = read_options("127.0.0.1:1", **{"kraft.socket.connection.setup.timeout.ms": "30"})

    assert partition(ELSEWHERE).options_for_this_host(given).client.connect_timeout_ms == 30


@pytest.mark.parametrize("reader", [KraftBatchReader, KraftStreamReader])
def test_task_on_another_host_says_which_addresses_it_tried_and_what_to_do(
    reader: type[KraftBatchReader] | type[KraftStreamReader],
) -> None:
    (port,) = free_ports(1)
    given = read_options(f"127.0.0.1:{port}", **{"kraft.socket.connection.setup.timeout.ms": "30"})

    with pytest.raises(QuorumUnreachableError) as refusal:
        next(reader(given).read(partition(ELSEWHERE)))

    assert str(refusal.value).startswith("no node of the quorum could be connected to in ")
    assert f" s: 127.0.0.1:{port}: Connection refused (from host " in str(refusal.value)
    assert 'start the quorum with QuorumService.start(listen="driver")' in str(refusal.value)


def test_query_that_was_written_before_waits_through_an_outage() -> None:
    writer = KraftStreamWriter(WriteOptions.of({"kraft.bootstrap.servers": "10.0.0.7:1"}))

    assert writer._options_of(0).client.connect_timeout_ms == 10_000
    assert writer._options_of(1).client.connect_timeout_ms is None


def test_system_without_namespaces_has_only_the_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("datasource.hosts._NETWORK", tmp_path / "missing")

    assert Host.of_this_process().network == ""
    assert Host.of_this_process().is_here


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("LOCALHOST", True), ("::1", True), ("10.127.0.1", False)],
)
def test_loopback_addresses_lead_to_the_host_itself(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
