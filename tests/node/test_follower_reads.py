"""A follower serves clients only what it knows to be committed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from raft.core import messages as core
from raft.errors import ErrorCode
from raft.records.batch import build_batch
from raft.records.batches import read_batches
from raft.records.record import Record
from raft.types import Epoch, LeaderAndEpoch, NodeId, Offset
from raft.wire.messages.fetch import FetchResponse
from raft.wire.messages.nodes import LeaderIdAndEpoch
from tests.node.harness.batches import values_in
from tests.node.harness.pair import Pair, following_pair
from tests.node.harness.peer import Answer, friendly
from tests.node.harness.requests import fetch_request, fetched
from tests.node.harness.waiting import eventually

EPOCH = Epoch(5)
VALUES = [b"a", b"b", b"c", b"d"]


def _batch(at: int) -> bytes:
    return build_batch([Record(value=VALUES[at], timestamp_ms=1)], base_offset=Offset(at), epoch=EPOCH)


def play_leader_of_four_records(request: core.OutgoingRequest) -> Answer:
    """All four at once; two are committed."""
    if not isinstance(request, core.FetchRequest) or request.epoch != EPOCH:
        return friendly(request)
    if request.fetch_offset == len(VALUES):
        return None
    records = b"".join(_batch(at) for at in range(len(VALUES)))
    return core.FetchResponse(
        leader=LeaderAndEpoch(epoch=EPOCH, leader_id=NodeId(2)),
        high_watermark=Offset(2),
        batches=tuple(read_batches(records)),
    )


@pytest.fixture(scope="module")
def follower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A follower with four records, of which it knows two to be committed."""
    with following_pair(tmp_path_factory.mktemp("follower"), play=play_leader_of_four_records) as pair:
        eventually(lambda: pair.log_end == len(VALUES) and pair.high_watermark == 2, "four records, two committed")
        yield pair


@pytest.mark.parametrize("version", [4, 12, 18])
@pytest.mark.rule("CLIENT-2", "FETCH-29")
def test_follower_serves_what_is_committed(follower: Pair, version: int) -> None:
    with follower.wire() as wire:
        partition = fetched(wire.ask(fetch_request(0), version, FetchResponse))

    assert (partition.error_code, partition.high_watermark) == (ErrorCode.NONE, 2)
    assert values_in(partition.records) == VALUES[:2]


@pytest.mark.rule("CLIENT-2")
def test_client_at_the_end_waits_at_a_follower_too(follower: Pair) -> None:
    with follower.wire() as wire:
        partition = fetched(wire.ask(fetch_request(2, max_wait_ms=100), 18, FetchResponse))

    assert (partition.error_code, partition.records) == (ErrorCode.NONE, b"")


@pytest.mark.parametrize("version", [4, 18])
@pytest.mark.parametrize("offset", [3, 4, 1_000])
@pytest.mark.rule("CLIENT-3")
def test_follower_sends_no_out_of_range_above_its_high_watermark(follower: Pair, version: int, offset: int) -> None:
    with follower.wire() as wire:
        response = wire.ask(fetch_request(offset, max_wait_ms=5_000), version, FetchResponse)

    assert fetched(response).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    if version == 18:
        assert fetched(response).current_leader == LeaderIdAndEpoch(leader_id=2, leader_epoch=5)
        assert [node.node_id for node in response.node_endpoints] == [2]


def test_follower_sends_out_of_range_before_its_log(follower: Pair) -> None:
    with follower.wire() as wire:
        partition = fetched(wire.ask(fetch_request(-5), 18, FetchResponse))

    assert partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
