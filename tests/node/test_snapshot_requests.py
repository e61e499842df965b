"""FetchSnapshot of a snapshot that a leader has made: its pieces, its bounds, and the memory that they take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from raft.errors import ErrorCode
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.wire.apis import FETCH_SNAPSHOT
from raft.wire.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotRequestPartition,
    FetchSnapshotRequestTopic,
    FetchSnapshotResponse,
    FetchSnapshotResponsePartition,
    SnapshotId,
)
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.pair import OTHER, US, Pair, leading_pair
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.node.harness.requests import produce_request
from tests.node.harness.waiting import eventually

PIECE_BYTES = 40_000
BUDGET_BYTES = 100_000
STATE_BYTES = 150_000
OBSERVER = 9

EVERY_VERSION = pytest.mark.parametrize("version", [*FETCH_SNAPSHOT.versions])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A leader that has made a snapshot of several pieces."""
    settings = {
        "cleanup__policy": "compact",
        "metadata__log__max__record__bytes__between__snapshots": "1000",
        "controller__quorum__fetch__snapshot__max__bytes": str(PIECE_BYTES),
        "queued__max__request__bytes": str(BUDGET_BYTES),
        "message__max__bytes": str(BUDGET_BYTES),
    }
    with leading_pair(tmp_path_factory.mktemp("served"), **settings) as pair:
        start = pair.commit()
        with pair.wire() as wire:
            for number in range(10):
                records = [Record(key=b"%d" % number, value=bytes(STATE_BYTES // 10))]
                wire.send(produce_request(build_batch(records), timeout_ms=60_000), 9)
                pair.wait_for_log_end(start + number + 1)
                pair.commit()
                wire.receive(ProduceResponse)
        # The last one has all records: none is appended any more.
        eventually(lambda: snapshot_of(pair).name.startswith(f"{pair.log_end:020d}-"), "a snapshot")
        yield pair


def snapshot_of(pair: Pair) -> Path:
    """Return the newest snapshot of the leader."""
    folder = Path(pair.nodes.configurations[US]["log.dirs"])
    return max(folder.glob("*-0/*.checkpoint"), default=Path())


def request_of(
    pair: Pair,
    position: int,
    *,
    max_bytes: int = 1 << 30,
    replica_id: int = OBSERVER,
    end_offset: int | None = None,
    epoch: int | None = None,
) -> FetchSnapshotRequest:
    name = snapshot_of(pair).name
    partition = FetchSnapshotRequestPartition(
        partition=0,
        current_leader_epoch=pair.epoch,
        snapshot_id=SnapshotId(
            end_offset=int(name[:20]) if end_offset is None else end_offset,
            epoch=int(name[21:31]) if epoch is None else epoch,
        ),
        position=position,
    )
    topic = FetchSnapshotRequestTopic(name=TOPIC, partitions=(partition,))
    return FetchSnapshotRequest(cluster_id=CLUSTER_ID, replica_id=replica_id, max_bytes=max_bytes, topics=(topic,))


def piece_in(response: FetchSnapshotResponse) -> FetchSnapshotResponsePartition:
    """Return the only partition of a response without an error for all of it."""
    assert response.error_code == ErrorCode.NONE
    ((partition,),) = (topic.partitions for topic in response.topics)
    return partition


def ask(pair: Pair, request: FetchSnapshotRequest, version: int = 1) -> FetchSnapshotResponsePartition:
    with pair.wire() as wire:
        return piece_in(wire.ask(request, version, FetchSnapshotResponse))


@EVERY_VERSION
@pytest.mark.parametrize("replica_id", [OTHER, OBSERVER, -1], ids=["voter", "observer", "observer without an id"])
@pytest.mark.rule("FETCH-18")
def test_pieces_are_those_of_the_file(served: Pair, version: int, replica_id: int) -> None:
    content = snapshot_of(served).read_bytes()
    assert len(content) > STATE_BYTES
    received = b""
    with served.wire() as wire:
        while len(received) < len(content):
            request = request_of(served, len(received), replica_id=replica_id)
            piece = piece_in(wire.ask(request, version, FetchSnapshotResponse))
            assert piece.error_code == ErrorCode.NONE
            assert (piece.position, piece.size) == (len(received), len(content))
            assert piece.snapshot_id == request.topics[0].partitions[0].snapshot_id
            assert len(piece.unaligned_records or b"") == min(PIECE_BYTES, len(content) - len(received))
            received += piece.unaligned_records or b""

    assert received == content


@pytest.mark.parametrize(
    ("max_bytes", "expected"),
    [(-(1 << 31), 1), (0, 1), (7, 7), (PIECE_BYTES, PIECE_BYTES), ((1 << 31) - 1, PIECE_BYTES)],
)
@pytest.mark.rule("FETCH-18")
def test_piece_has_one_byte_at_least_and_no_more_than_the_configuration_allows(
    served: Pair, max_bytes: int, expected: int
) -> None:
    piece = ask(served, request_of(served, 3, max_bytes=max_bytes))

    assert piece.unaligned_records == snapshot_of(served).read_bytes()[3 : 3 + expected]


@EVERY_VERSION
@pytest.mark.parametrize("position", ["-2**63", "-1", "size", "size + 1", "2**63 - 1"])
@pytest.mark.rule("FETCH-18")
def test_position_outside_of_the_snapshot_is_out_of_range(served: Pair, version: int, position: str) -> None:
    size = snapshot_of(served).stat().st_size

    piece = ask(served, request_of(served, eval(position, {"size": size})), version)

    assert (piece.error_code, piece.unaligned_records) == (ErrorCode.POSITION_OUT_OF_RANGE, b"")


@EVERY_VERSION
@pytest.mark.parametrize(
    ("end_offset", "epoch"),
    [
        pytest.param(0, 0, id="that of formatting"),
        pytest.param(1, None, id="another end"),
        pytest.param(None, 900, id="another epoch"),
        pytest.param(-1, -1, id="no id"),
        pytest.param(-(1 << 63), -(1 << 31), id="the lowest id"),
        pytest.param((1 << 63) - 1, (1 << 31) - 1, id="the highest id"),
    ],
)
@pytest.mark.rule("FETCH-18")
def test_snapshot_that_does_not_exist_is_not_found_whatever_the_position(
    served: Pair, version: int, end_offset: int | None, epoch: int | None
) -> None:
    for position in (0, -1, 1 << 62):
        piece = ask(served, request_of(served, position, end_offset=end_offset, epoch=epoch), version)

        assert (piece.error_code, piece.unaligned_records) == (ErrorCode.SNAPSHOT_NOT_FOUND, b"")


@EVERY_VERSION
@pytest.mark.parametrize(("later", "error"), [(-1, ErrorCode.FENCED_LEADER_EPOCH), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)])
@pytest.mark.rule("FETCH-18")
def test_epoch_is_compared_before_the_snapshot_is_read(
    served: Pair, version: int, later: int, error: ErrorCode
) -> None:
    request = request_of(served, 0)
    (topic,) = request.topics
    (partition,) = topic.partitions
    other = replace(partition, current_leader_epoch=served.epoch + later)

    piece = ask(served, replace(request, topics=(replace(topic, partitions=(other,)),)), version)

    assert (piece.error_code, piece.unaligned_records) == (error, b"")
    assert (piece.current_leader.leader_id, piece.current_leader.leader_epoch) == (US, served.epoch)


# Memory


def taken_bytes(pair: Pair) -> int:
    """How many bytes of responses the leader counts."""
    return pair.nodes.thread.look(lambda: pair.nodes.running[US].parts.replica.context.responses._taken_bytes)


@pytest.fixture
def full_budget(served: Pair) -> Iterator[None]:
    """Other responses take all memory meanwhile."""
    responses = served.nodes.running[US].parts.replica.context.responses
    permit = served.nodes.thread.look(lambda: responses.ask(BUDGET_BYTES, lambda: None))
    yield
    served.nodes.thread.look(lambda: responses.release(permit))
    eventually(lambda: taken_bytes(served) == 0, "the responses are released")


def test_bytes_are_released_when_the_response_was_received(served: Pair) -> None:
    for position in (0, -1):
        ask(served, request_of(served, position))
        eventually(lambda: taken_bytes(served) == 0, "its bytes are released")


def test_observer_waits_for_memory_and_voter_does_not(served: Pair, full_budget: None) -> None:
    responses = served.nodes.running[US].parts.replica.context.responses
    with served.wire() as observer:
        observer.send(request_of(served, 0), 1)
        eventually(lambda: responses.is_awaited, "the observer waits")

        of_voter = ask(served, request_of(served, 0, replica_id=OTHER))

        assert of_voter.unaligned_records == snapshot_of(served).read_bytes()[:PIECE_BYTES]
        assert responses.is_awaited
    eventually(lambda: not responses.is_awaited, "the observer that left is dropped")


def test_observers_that_wait_get_their_pieces_one_after_the_other(served: Pair) -> None:
    responses = served.nodes.running[US].parts.replica.context.responses
    permit = served.nodes.thread.look(lambda: responses.ask(BUDGET_BYTES, lambda: None))
    content = snapshot_of(served).read_bytes()
    wires = [served.wire() for _ in range(20)]
    try:
        for number, wire in enumerate(wires):
            wire.send(request_of(served, number), 1)
        eventually(lambda: responses.is_awaited, "they wait")
        served.nodes.thread.look(lambda: responses.release(permit))

        for number, wire in enumerate(wires):
            piece = piece_in(wire.receive(FetchSnapshotResponse))
            assert piece.unaligned_records == content[number : number + PIECE_BYTES]
    finally:
        for wire in wires:
            wire.__exit__(None, None, None)
    eventually(lambda: taken_bytes(served) == 0, "the responses are released")
