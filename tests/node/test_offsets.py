"""ListOffsets and OffsetForLeaderEpoch: offsets of the committed log by position, time and epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from raft.core.messages import BeginQuorumEpochRequest, OutgoingRequest
from raft.errors import ErrorCode
from raft.node.inbound import MAX_UNDER_WAY
from raft.wire.apis import LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from raft.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse, ListOffsetsResponsePartition
from raft.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochResponse,
    OffsetForLeaderEpochResponsePartition,
)
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import Pair, leading_pair
from tests.node.harness.peer import Answer, friendly
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import (
    epoch_end,
    epoch_end_request,
    list_offsets_request,
    listed,
    produce_request,
)
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

LATEST = -1
EARLIEST = -2
LARGEST = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
NEWEST = LIST_OFFSETS.versions.highest
FIRST_WITH_EPOCH = 4


def offset_of(wire: Wire, timestamp: int, version: int = NEWEST, *, epoch: int = -1) -> ListOffsetsResponsePartition:
    return listed(wire.ask(list_offsets_request(timestamp, epoch=epoch), version, ListOffsetsResponse))


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A leader that has committed records of times 100, 200 and 150 at the offsets 1 to 3, but not yet one of 900."""
    with leading_pair(tmp_path_factory.mktemp("timed")) as pair, pair.wire() as wire:
        for value, timestamp_ms in ((b"a", 100), (b"b", 200), (b"c", 150)):
            wire.send(produce_request(batch_of(value, timestamp_ms=timestamp_ms), timeout_ms=60_000), 9)
        pair.wait_for_log_end(4)
        pair.commit()
        wire.send(produce_request(batch_of(b"d", timestamp_ms=900), timeout_ms=60_000), 9)
        pair.wait_for_log_end(5)
        yield pair


@pytest.mark.parametrize("version", [*LIST_OFFSETS.versions])
@pytest.mark.parametrize(
    ("timestamp", "time_found", "offset"),
    [
        pytest.param(LATEST, -1, 4, id="latest is the end of what is committed"),
        pytest.param(EARLIEST, -1, 0, id="earliest"),
        pytest.param(EARLIEST_LOCAL, -1, 0, id="earliest on this disk"),
        pytest.param(LATEST_TIERED, -1, -1, id="latest elsewhere: nothing is"),
        pytest.param(LARGEST, None, 0, id="largest time: the leader's own record, of today"),
        pytest.param(900, None, 0, id="the first that is as young"),
        pytest.param(1 << 60, -1, -1, id="none is as young"),
    ],
)
@pytest.mark.rule("CLIENT-5")
def test_leader_finds_offsets(timed: Pair, version: int, timestamp: int, time_found: int | None, offset: int) -> None:
    with timed.wire() as wire:
        found = offset_of(wire, timestamp, version)

    assert (found.error_code, found.offset) == (ErrorCode.NONE, offset)
    assert found.leader_epoch == (timed.epoch if offset >= 0 and version >= FIRST_WITH_EPOCH else -1)
    if time_found is not None:
        assert found.timestamp == time_found


@pytest.mark.rule("CLIENT-5")
def test_latest_does_not_move_before_the_commit(leading: Pair) -> None:
    start = leading.commit()
    with leading.wire() as producer, leading.wire() as wire:
        producer.send(produce_request(batch_of(b"a")), 9)
        leading.wait_for_log_end(start + 1)
        before = offset_of(wire, LATEST)
        leading.commit()
        after = offset_of(wire, LATEST)

    assert (before.offset, after.offset) == (start, start + 1)


@pytest.mark.parametrize(
    ("version", "error"), [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE), (11, 78)]
)
@pytest.mark.parametrize("timestamp", [LATEST, LARGEST, 0])
@pytest.mark.rule("CLIENT-4", "HW-4")
def test_new_leader_does_not_know_the_end_yet(leading: Pair, version: int, error: int, timestamp: int) -> None:
    with leading.wire() as wire:
        unknown = offset_of(wire, timestamp, version)
        earliest = offset_of(wire, EARLIEST, version)

    assert (unknown.error_code, unknown.offset) == (error, -1)
    assert (earliest.error_code, earliest.offset) == (ErrorCode.NONE, 0)


@pytest.mark.parametrize("timestamp", [LATEST, EARLIEST, 0])
@pytest.mark.parametrize("version", [1, NEWEST])
@pytest.mark.rule("CLIENT-5")
def test_follower_names_the_leader_for_offsets(following: Pair, version: int, timestamp: int) -> None:
    with following.wire() as wire:
        found = offset_of(wire, timestamp, version)

    assert (found.error_code, found.offset) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


@pytest.mark.parametrize(
    ("behind", "error"), [(-1, ErrorCode.FENCED_LEADER_EPOCH), (0, ErrorCode.NONE), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
@pytest.mark.rule("CLIENT-1")
def test_epoch_of_the_client_is_checked(alone: NodesInProcess, behind: int, error: ErrorCode) -> None:
    epoch = alone.running[1].core.epoch + behind
    with alone.wire(1) as wire:
        found = offset_of(wire, LATEST, epoch=epoch)
        end = epoch_end(wire.ask(epoch_end_request(0, epoch=epoch), 4, OffsetForLeaderEpochResponse))

    assert (found.error_code, end.error_code) == (error, error)


@pytest.mark.parametrize("version", [1, NEWEST])
@pytest.mark.parametrize(("topic", "partition"), [("other", 0), ("__cluster_metadata", 1)])
def test_other_topics_have_no_offsets(alone: NodesInProcess, version: int, topic: str, partition: int) -> None:
    with alone.wire(1) as wire:
        request = list_offsets_request(LATEST, topic=topic, partition=partition)
        found = listed(wire.ask(request, version, ListOffsetsResponse))

    assert (found.partition_index, found.error_code) == (partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("timestamp", [LARGEST, 0])
def test_partition_is_refused_when_it_is_named_twice(alone: NodesInProcess, timestamp: int) -> None:
    once = list_offsets_request(timestamp)
    with alone.wire(1) as wire:
        response = wire.ask(replace(once, topics=once.topics * 2), NEWEST, ListOffsetsResponse)

    assert [topic.name for topic in response.topics] == [TOPIC, TOPIC]
    errors = [partition.error_code for topic in response.topics for partition in topic.partitions]
    assert errors == [ErrorCode.INVALID_REQUEST] * 2


def test_unknown_special_timestamp_is_refused(alone: NodesInProcess) -> None:
    with alone.wire(1) as wire:
        assert offset_of(wire, -99).error_code == ErrorCode.INVALID_REQUEST


EPOCH_VERSIONS = pytest.mark.parametrize("version", [*OFFSET_FOR_LEADER_EPOCH.versions])


@EPOCH_VERSIONS
def test_epoch_ends_at_the_high_watermark_at_most(timed: Pair, version: int) -> None:
    with timed.wire() as wire:
        present, before, future = (
            epoch_end(wire.ask(epoch_end_request(epoch), version, OffsetForLeaderEpochResponse))
            for epoch in (timed.epoch, 0, timed.epoch + 1)
        )

    assert present == OffsetForLeaderEpochResponsePartition(
        error_code=0, partition=0, leader_epoch=timed.epoch, end_offset=4
    )
    assert before == OffsetForLeaderEpochResponsePartition(error_code=0, partition=0, leader_epoch=0, end_offset=0)
    assert future == OffsetForLeaderEpochResponsePartition(error_code=0, partition=0, leader_epoch=-1, end_offset=-1)


@EPOCH_VERSIONS
def test_epoch_has_no_end_while_the_high_watermark_is_unknown(leading: Pair, version: int) -> None:
    with leading.wire() as wire:
        end = epoch_end(wire.ask(epoch_end_request(leading.epoch), version, OffsetForLeaderEpochResponse))

    assert (end.error_code, end.end_offset) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)


@EPOCH_VERSIONS
def test_follower_does_not_serve_the_end_offsets_of_epochs(following: Pair, version: int) -> None:
    with following.wire() as wire:
        end = epoch_end(wire.ask(epoch_end_request(0), version, OffsetForLeaderEpochResponse))

    assert end.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@EPOCH_VERSIONS
@pytest.mark.parametrize(("topic", "partition"), [("other", 0), ("__cluster_metadata", 1)])
def test_other_topics_have_no_epochs(alone: NodesInProcess, version: int, topic: str, partition: int) -> None:
    with alone.wire(1) as wire:
        request = epoch_end_request(0, topic=topic, partition=partition)
        end = epoch_end(wire.ask(request, version, OffsetForLeaderEpochResponse))

    assert (end.partition, end.error_code) == (partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


# Linearizable reads


def linearizable(*, timeout_ms: int = 0) -> ListOffsetsRequest:
    return list_offsets_request(LATEST, is_linearizable=True, timeout_ms=timeout_ms)


def ignoring_announcements(request: OutgoingRequest) -> Answer:
    """A voter that accepts no leader, because its process is suspended, say."""
    return None if isinstance(request, BeginQuorumEpochRequest) else friendly(request)


@pytest.mark.rule("READ-1", "READ-2")
def test_linearizable_end_waits_for_the_other_voter_to_accept_an_announcement(tmp_path: Path) -> None:
    with leading_pair(tmp_path) as pair, pair.wire() as client, pair.wire() as follower:
        end = pair.commit()
        pair.peer.play = ignoring_announcements
        client.send(linearizable(), NEWEST)
        pair.peer.wait_for_requests(BeginQuorumEpochRequest, times=2)
        for _ in range(3):
            pair.follow(end, wire=follower)
        assert client.is_silent(for_s=0.1), "these fetches may have been sent before the request"

        pair.peer.play = friendly
        pair.peer.hang_up()

        found = listed(client.receive(ListOffsetsResponse))
    assert (found.error_code, found.offset) == (ErrorCode.NONE, end)


@pytest.mark.rule("READ-3")
def test_linearizable_read_ends_at_its_timeout_when_the_other_voter_does_not_respond(tmp_path: Path) -> None:
    with leading_pair(tmp_path) as pair, pair.wire() as client:
        pair.commit()
        pair.peer.play = ignoring_announcements

        found = listed(client.ask(linearizable(timeout_ms=100), NEWEST, ListOffsetsResponse))

    assert (found.error_code, found.offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)


@pytest.mark.rule("READ-3")
def test_linearizable_reads_of_a_connection_are_bounded(tmp_path: Path) -> None:
    with leading_pair(tmp_path) as pair, pair.wire() as client:
        pair.commit()
        pair.peer.play = ignoring_announcements
        for _ in range(3 * MAX_UNDER_WAY):
            client.send(linearizable(timeout_ms=60_000), NEWEST)
        eventually(lambda: pair.pending_reads >= MAX_UNDER_WAY, "as many as a connection may have")

        assert client.is_silent(for_s=0.1)
        assert pair.pending_reads == MAX_UNDER_WAY


@pytest.mark.rule("READ-3")
def test_linearizable_reads_of_a_connection_that_is_gone_are_forgotten(tmp_path: Path) -> None:
    with leading_pair(tmp_path) as pair:
        pair.commit()
        pair.peer.play = ignoring_announcements
        with pair.wire() as client:
            for _ in range(10):
                client.send(linearizable(timeout_ms=60_000), NEWEST)
            eventually(lambda: pair.pending_reads == 10, "all of them wait")

        eventually(lambda: pair.pending_reads == 0, "none waits")


@pytest.mark.rule("READ-1")
def test_version_without_tagged_fields_is_not_linearizable(timed: Pair) -> None:
    with timed.wire() as wire:
        found = listed(wire.ask(linearizable(), 5, ListOffsetsResponse))

    assert (found.error_code, found.offset) == (ErrorCode.NONE, 4)
