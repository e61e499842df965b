"""Fetch of clients: whole and committed batches, at once or as soon as there are some."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from raft.errors import ErrorCode
from raft.runtime.requests import fetch as fetch_module
from raft.types import ZERO_UUID, Uuid
from raft.wire.apis import FETCH
from raft.wire.messages.fetch import EpochEndOffset, FetchRequest, FetchResponse, FetchResponsePartition
from raft.wire.messages.nodes import LeaderIdAndEpoch
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.batches import batch_of, batches_in, values_in
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import Pair
from tests.node.harness.properties import CLUSTER_ID
from tests.node.harness.requests import (
    OTHER_TOPIC_ID,
    TOPIC_ID,
    fetch_request,
    fetched,
    produce_request,
    produced,
)
from tests.node.harness.wire import Wire

NEWEST = FETCH.versions.highest
FIRST_WITH_LEADER = 12
FIRST_BY_ID = 13
LONG_MS = 3_600_000
"""Longer than a test may take."""


@pytest.fixture(autouse=True)
def fetch_that_waits_wrongly_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_module, "LONGEST_WAIT_MS", LONG_MS)


EVERY_VERSION = pytest.mark.parametrize("version", [*FETCH.versions])


def fetch(wire: Wire, request: FetchRequest, version: int = NEWEST) -> FetchResponsePartition:
    return fetched(wire.ask(request, version, FetchResponse))


def append(nodes: NodesInProcess, *values: bytes) -> int:
    """Append one batch and return its offset; it is committed."""
    with nodes.wire(1) as wire:
        appended = produced(wire.ask(produce_request(batch_of(*values)), 9, ProduceResponse))
    assert appended.error_code == ErrorCode.NONE
    return appended.base_offset


@EVERY_VERSION
@pytest.mark.rule("CLIENT-1", "CLIENT-2")
def test_client_reads_what_is_committed(alone: NodesInProcess, version: int) -> None:
    start = append(alone, b"a", b"b")
    append(alone, b"c")
    node = alone.running[1]

    with alone.wire(1) as wire:
        response = wire.ask(fetch_request(start), version, FetchResponse)

    partition = fetched(response)
    assert values_in(partition.records) == [b"a", b"b", b"c"]
    assert (partition.error_code, partition.high_watermark) == (ErrorCode.NONE, start + 3)
    assert partition.last_stable_offset == start + 3
    assert partition.log_start_offset == (0 if version >= 5 else -1)
    assert response.session_id == 0, "no fetch sessions are kept"
    epoch = LeaderIdAndEpoch(leader_id=1, leader_epoch=node.core.epoch)
    assert partition.current_leader == (epoch if version >= FIRST_WITH_LEADER else LeaderIdAndEpoch())


@EVERY_VERSION
@pytest.mark.parametrize(
    ("topic", "topic_id", "partition", "is_ours"),
    [
        pytest.param("other", OTHER_TOPIC_ID, 0, False, id="another topic"),
        pytest.param("other", ZERO_UUID, 0, False, id="no id"),
        pytest.param("__cluster_metadata", TOPIC_ID, 1, True, id="another partition"),
    ],
)
@pytest.mark.rule("CLIENT-1")
def test_other_topics_are_unknown(
    alone: NodesInProcess, version: int, topic: str, topic_id: Uuid, partition: int, is_ours: bool
) -> None:
    with alone.wire(1) as wire:
        request = fetch_request(0, topic=topic, topic_id=topic_id, partition=partition, max_wait_ms=LONG_MS)
        refused = fetch(wire, request, version)

    by_id = version >= FIRST_BY_ID and not is_ours
    assert refused.error_code == (ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert (refused.partition_index, refused.records) == (partition, b"")


@pytest.mark.parametrize("version", [version for version in FETCH.versions if version >= 9])
@pytest.mark.parametrize(
    ("behind", "error"), [(-1, ErrorCode.FENCED_LEADER_EPOCH), (0, ErrorCode.NONE), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
@pytest.mark.rule("CLIENT-1")
def test_epoch_of_the_client_is_checked(alone: NodesInProcess, version: int, behind: int, error: ErrorCode) -> None:
    epoch = alone.running[1].core.epoch

    with alone.wire(1) as wire:
        assert fetch(wire, fetch_request(0, epoch=epoch + behind), version).error_code == error


@pytest.mark.rule("CLIENT-2")
def test_batch_is_returned_whole_from_the_middle(alone: NodesInProcess) -> None:
    start = append(alone, b"a", b"b", b"c")

    with alone.wire(1) as wire:
        partition = fetch(wire, fetch_request(start + 2))

    (batch,) = batches_in(partition.records)
    assert (batch.header.base_offset, batch.header.last_offset) == (start, start + 2)


@pytest.mark.parametrize("max_bytes", [0, -1, 1, 100])
@pytest.mark.rule("CLIENT-2")
def test_client_gets_at_least_one_batch(alone: NodesInProcess, max_bytes: int) -> None:
    start = append(alone, b"x" * 500)
    append(alone, b"y")

    with alone.wire(1) as wire:
        assert values_in(fetch(wire, fetch_request(start, max_bytes=max_bytes)).records) == [b"x" * 500]


def test_client_gets_no_more_batches_than_fit(alone: NodesInProcess) -> None:
    start = append(alone, b"x" * 500)
    for _ in range(9):
        append(alone, b"x" * 500)
    batch_bytes = len(batch_of(b"x" * 500))

    with alone.wire(1) as wire:
        partition = fetch(wire, fetch_request(start, max_bytes=3 * batch_bytes + 100))

    assert len(batches_in(partition.records)) == 3


@pytest.mark.rule("CLIENT-2")
def test_client_waits_for_the_next_commit(alone: NodesInProcess) -> None:
    end = append(alone, b"old") + 1
    with alone.wire(1) as wire:
        wire.send(fetch_request(end, max_wait_ms=LONG_MS), NEWEST)
        is_silent_before = wire.is_silent(for_s=0.1)
        append(alone, b"new")

        partition = fetched(wire.receive(FetchResponse))

    assert is_silent_before
    assert values_in(partition.records) == [b"new"]


@pytest.mark.rule("CLIENT-2")
def test_client_gets_no_records_when_none_is_committed_in_time(alone: NodesInProcess) -> None:
    end = append(alone, b"old") + 1
    started_s = time.monotonic()

    with alone.wire(1) as wire:
        partition = fetch(wire, fetch_request(end, max_wait_ms=150))

    assert time.monotonic() - started_s >= 0.14
    assert (partition.error_code, partition.records, partition.high_watermark) == (ErrorCode.NONE, b"", end)


@pytest.mark.rule("CLIENT-2")
def test_client_waits_until_there_is_enough(alone: NodesInProcess) -> None:
    start = append(alone, b"1" * 100)
    with alone.wire(1) as wire:
        wire.send(fetch_request(start, max_wait_ms=LONG_MS, min_bytes=400), NEWEST)
        is_silent_before = wire.is_silent(for_s=0.1)
        append(alone, b"2" * 100)
        append(alone, b"3" * 100)

        partition = fetched(wire.receive(FetchResponse))

    assert is_silent_before
    assert values_in(partition.records) == [b"1" * 100, b"2" * 100, b"3" * 100]


@pytest.mark.rule("CLIENT-2")
def test_client_gets_fewer_bytes_than_min_bytes_when_its_max_wait_ends(alone: NodesInProcess) -> None:
    start = append(alone, b"little")

    with alone.wire(1) as wire:
        partition = fetch(wire, fetch_request(start, max_wait_ms=150, min_bytes=10_000))

    assert values_in(partition.records) == [b"little"]


@pytest.mark.rule("CLIENT-2")
def test_client_does_not_wait_for_more_than_fits(alone: NodesInProcess) -> None:
    start = append(alone, b"x" * 600)
    append(alone, b"y" * 600)
    request = fetch_request(start, min_bytes=1_000, max_bytes=1_000, max_wait_ms=LONG_MS)

    with alone.wire(1) as wire:
        partition = fetch(wire, request)

    assert values_in(partition.records) == [b"x" * 600], "the next batch is there already, and too large"


@EVERY_VERSION
@pytest.mark.parametrize("isolation_level", [0, 1])
@pytest.mark.rule("CLIENT-2", "CLIENT-3")
def test_client_never_sees_what_is_not_committed(uncommitted: Pair, version: int, isolation_level: int) -> None:
    start = uncommitted.high_watermark or 0
    before = replace(fetch_request(start - 1), isolation_level=isolation_level)
    between = replace(fetch_request(start), isolation_level=isolation_level)

    with uncommitted.wire() as wire:
        committed = fetch(wire, before, version)
        nothing = fetch(wire, between, version)

    assert [batch.header.last_offset for batch in batches_in(committed.records)] == [start - 1]
    assert (nothing.error_code, nothing.records, nothing.high_watermark) == (ErrorCode.NONE, b"", start)


@pytest.mark.parametrize("version", [version for version in FETCH.versions if version >= 12])
@pytest.mark.rule("CLIENT-10")
def test_client_is_served_as_a_client_when_its_fetch_looks_like_an_observers(uncommitted: Pair, version: int) -> None:
    start, epoch = uncommitted.high_watermark or 0, uncommitted.epoch
    request = fetch_request(start, epoch=epoch, last_fetched_epoch=epoch, cluster_id=CLUSTER_ID)

    with uncommitted.wire() as wire:
        assert fetch(wire, request, version).records == b""


@pytest.mark.parametrize("offset", [-1, -(1 << 63), 1_000, (1 << 63) - 1])
@pytest.mark.rule("CLIENT-3")
def test_offset_outside_the_log_is_out_of_range(uncommitted: Pair, offset: int) -> None:
    with uncommitted.wire() as wire:
        refused = fetch(wire, fetch_request(offset, max_wait_ms=LONG_MS))

    assert (refused.error_code, refused.records) == (ErrorCode.OFFSET_OUT_OF_RANGE, b"")
    assert (refused.log_start_offset, refused.high_watermark) == (0, uncommitted.high_watermark)


@pytest.mark.rule("CLIENT-3")
def test_client_between_high_watermark_and_log_end_waits_for_the_commit(leading: Pair) -> None:
    start = leading.commit()
    with leading.wire() as producer, leading.wire() as wire:
        producer.send(produce_request(batch_of(b"a", b"b")), 9)
        leading.wait_for_log_end(start + 2)
        wire.send(fetch_request(start + 1, max_wait_ms=LONG_MS), NEWEST)
        is_silent_before = wire.is_silent(for_s=0.1)
        leading.commit()

        assert is_silent_before
        assert values_in(fetched(wire.receive(FetchResponse)).records) == [b"a", b"b"]


@pytest.mark.rule("CLIENT-4")
def test_client_of_a_leader_without_a_high_watermark_waits_and_gets_nothing(leading: Pair) -> None:
    with leading.wire() as wire:
        partition = fetch(wire, fetch_request(0, max_wait_ms=100))

    assert (partition.error_code, partition.records, partition.high_watermark) == (ErrorCode.NONE, b"", -1)


@pytest.mark.rule("FETCH-12", "GEN-4")
def test_waiting_client_gets_an_error_when_the_leader_is_replaced(leading: Pair) -> None:
    end = leading.commit()
    with leading.wire() as wire:
        wire.send(fetch_request(end, max_wait_ms=LONG_MS), NEWEST)
        assert wire.is_silent(for_s=0.1)
        leading.announce_itself(epoch=leading.epoch + 1)

        response = wire.receive(FetchResponse)

    assert fetched(response).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetched(response).current_leader == LeaderIdAndEpoch(leader_id=2, leader_epoch=leading.epoch)
    assert [(node.node_id, node.port) for node in response.node_endpoints] == [(2, leading.nodes.endpoint(2).port)]


@pytest.mark.rule("CLIENT-1")
def test_client_gets_the_diverging_epoch_when_its_log_diverges(uncommitted: Pair) -> None:
    request = fetch_request(1, last_fetched_epoch=uncommitted.epoch - 1)

    with uncommitted.wire() as wire:
        partition = fetch(wire, request)

    assert (partition.error_code, partition.records) == (ErrorCode.NONE, b"")
    assert partition.diverging_epoch == EpochEndOffset(epoch=uncommitted.epoch - 1, end_offset=0)


def test_response_has_all_partitions_of_the_request(alone: NodesInProcess) -> None:
    start = append(alone, b"ours")
    ours, other = fetch_request(start), fetch_request(0, partition=1)

    with alone.wire(1) as wire:
        response = wire.ask(replace(ours, topics=(*other.topics, *ours.topics)), NEWEST, FetchResponse)

    codes = [partition.error_code for topic in response.responses for partition in topic.partitions]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE]
    assert values_in(response.responses[1].partitions[0].records) == [b"ours"]


def test_client_gets_an_empty_response_after_max_wait_when_it_names_no_partition(alone: NodesInProcess) -> None:
    started_s = time.monotonic()

    with alone.wire(1) as wire:
        response = wire.ask(replace(fetch_request(0, max_wait_ms=100), topics=()), NEWEST, FetchResponse)

    assert time.monotonic() - started_s >= 0.09
    assert (response.error_code, response.responses) == (ErrorCode.NONE, ())
