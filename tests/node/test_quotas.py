"""Client quotas of a node: who is told to wait, for how long its connection is muted, and who is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.security.quotas import Quotas
from raft.wire.messages.fetch import FetchResponse
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import quorum_properties
from tests.node.harness.requests import fetch_request, produce_request
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire
from tests.workload.committed import read_all

CREDIT_BYTES = 100_000
"""Ten seconds of 10,000 bytes."""

QUOTAS = """
[[quota]]
user = "<default>"
producer_byte_rate = 10_000
consumer_byte_rate = 10_000
"""


@pytest.fixture
def quotas(tmp_path: Path) -> Path:
    """The file with the quotas."""
    path = tmp_path / "quotas.toml"
    path.write_text(QUOTAS)
    return path


def with_quotas(folder: Path, voters: int, quotas: Path) -> NodesInProcess:
    """Voters with quotas, not started yet."""
    return NodesInProcess(quorum_properties(folder / "quorum", voters, {"raft.quotas.file": str(quotas)}))


@pytest.fixture
def nodes(tmp_path: Path, quotas: Path) -> Iterator[NodesInProcess]:
    """One voter with quotas, which leads however its clock jumps."""
    with with_quotas(tmp_path, 1, quotas) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


def write(wire: Wire, size_bytes: int) -> int:
    """Append a batch; return the throttle, in milliseconds."""
    return wire.ask(produce_request(batch_of(os.urandom(size_bytes))), 9, ProduceResponse).throttle_time_ms


def is_silent(wire: Wire) -> bool:
    """Whether no response comes."""
    wire.stop_waiting_after(0.2)
    with pytest.raises(TimeoutError):
        wire.frame()
    wire.stop_waiting_after(10)
    return True


@pytest.mark.rule("QUOTA-2", "QUOTA-3")
def test_connection_of_a_throttled_producer_is_muted_for_as_long_as_its_response_says(nodes: NodesInProcess) -> None:
    with nodes.wire(nodes.wait_for_leader()) as wire, nodes.wire(nodes.wait_for_leader()) as other:
        within = write(wire, CREDIT_BYTES // 2)
        beyond = write(wire, CREDIT_BYTES)
        wire.send(MetadataRequest(topics=None), 9)

        assert within == 0
        assert 4_500 <= beyond <= 5_500
        assert is_silent(wire)
        assert other.ask(MetadataRequest(topics=None), 9, MetadataResponse).throttle_time_ms == 0, (
            "it has no such quota"
        )
        nodes.thread.jump(beyond / 1000)
        assert wire.receive(MetadataResponse).throttle_time_ms == 0
        assert 8_000 <= write(other, CREDIT_BYTES) <= 11_000, "both share the quota of their user"


@pytest.mark.rule("QUOTA-2")
def test_throttled_consumer_gets_what_it_asked_for_and_waits_then(nodes: NodesInProcess) -> None:
    with nodes.wire(nodes.wait_for_leader()) as wire:
        for _ in range(3):
            nodes.thread.jump(write(wire, CREDIT_BYTES // 2) / 1000)
        first = wire.ask(fetch_request(1, max_bytes=1), 12, FetchResponse)
        rest = wire.ask(fetch_request(2), 12, FetchResponse)
        wire.send(fetch_request(1, max_bytes=1), 12)

        assert first.throttle_time_ms == 0
        assert 4_500 <= rest.throttle_time_ms <= 5_500
        assert len(rest.responses[0].partitions[0].records or b"") > CREDIT_BYTES
        assert is_silent(wire)
        nodes.thread.jump(rest.throttle_time_ms / 1000)
        assert wire.receive(FetchResponse).responses[0].partitions[0].records


def set_quotas(nodes: NodesInProcess, quotas: Path, text: str) -> None:
    """Write the file, and wait until the nodes have read it."""
    quotas.write_text(text)
    expected = Quotas.parse(text)
    read = [node.parts.security.quotas for node in nodes.running.values()]
    eventually(lambda: all(each is not None and each() == expected for each in read), "the nodes have read it")


@pytest.mark.rule("QUOTA-4")
def test_our_client_waits_while_it_is_throttled_and_loses_nothing(nodes: NodesInProcess, quotas: Path) -> None:
    set_quotas(nodes, quotas, '[[quota]]\nuser = "<default>"\nproducer_byte_rate = 1e6\nconsumer_byte_rate = 1e6\n')
    values = [os.urandom(1_000_000) for _ in range(12)]

    with nodes.client(api_timeout_ms=1_000) as client:
        for value in values:
            client.append(batch_of(value))
        found = [record.value for record in read_all(client)]

    counted = nodes.running[1].parts._quotas
    assert found == values
    assert counted is not None
    assert {kind.value for kind, _ in counted.throttled} == {"producer_byte_rate", "consumer_byte_rate"}
    assert sum(throttled.seconds for throttled in counted.throttled.values()) > 2


@pytest.mark.rule("QUOTA-7")
def test_voters_are_never_throttled(tmp_path: Path, quotas: Path) -> None:
    """A node has the same user as the clients here, whose quota is far too small for the log."""
    quotas.write_text('[[quota]]\nuser = "<default>"\nconsumer_byte_rate = 1\n')
    with with_quotas(tmp_path, 3, quotas) as nodes:
        leader = nodes.start().wait_for_leader()
        with nodes.wire(leader) as wire:
            for _ in range(5):
                write(wire, 200_000)
            throttle_ms = wire.ask(fetch_request(1), 12, FetchResponse).throttle_time_ms
        end = nodes.thread.look(lambda: nodes.running[leader].core.high_watermark or 0)

        assert throttle_ms > 100_000, "the client is"
        eventually(
            lambda: all((node.core.high_watermark or 0) >= end for node in nodes.running.values()),
            "the followers have everything",
        )


@pytest.mark.rule("QUOTA-5")
def test_changed_file_is_used_without_a_restart(nodes: NodesInProcess, quotas: Path) -> None:
    with nodes.wire(nodes.wait_for_leader()) as wire:
        set_quotas(nodes, quotas, "")

        assert [write(wire, CREDIT_BYTES) for _ in range(3)] == [0, 0, 0]


@pytest.mark.rule("QUOTA-3")
def test_append_without_a_response_mutes_its_connection_too(nodes: NodesInProcess) -> None:
    with nodes.wire(1) as wire:
        for _ in range(2):
            wire.send(produce_request(batch_of(os.urandom(CREDIT_BYTES)), acks=0), 9)
            wire.forget_oldest()
        eventually(lambda: (nodes.running[1].core.high_watermark or 0) >= 3, "both are committed")
        wire.send(MetadataRequest(topics=None), 9)

        assert is_silent(wire)
        nodes.thread.jump(11)
        assert wire.receive(MetadataResponse).brokers


@pytest.mark.rule("QUOTA-2", "QUOTA-3")
def test_response_says_the_throttle_of_the_request_that_exceeds_the_quota_of_processor_time(
    nodes: NodesInProcess, quotas: Path
) -> None:
    quotas.write_text('[[quota]]\nuser = "<default>"\nrequest_percentage = 0.01\n')
    with nodes.wire(nodes.wait_for_leader()) as wire:
        # The file is read again within a second or so; a millisecond is a credit.
        throttle_time_ms = eventually(
            lambda: wire.ask(MetadataRequest(topics=None), 9, MetadataResponse).throttle_time_ms, "a throttle"
        )

    assert 0 < throttle_time_ms <= 1_000
