"""Plans of a client's next batch, in this project's tagged field of OffsetForLeaderEpoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from raft.errors import ErrorCode
from raft.records.header_fields import read_fields
from raft.wire.apis import OFFSET_FOR_LEADER_EPOCH
from raft.wire.messages.offset_for_leader_epoch import (
    BatchPlan,
    BatchPlanRequest,
    LogPosition,
    OffsetForLeaderEpochResponse,
)
from tests.node.harness.batches import batch_of
from tests.node.harness.pair import Pair, leading_pair
from tests.node.harness.requests import epoch_end, epoch_end_request, produce_request
from tests.node.harness.wire import Wire

pytestmark = pytest.mark.rule("CLIENT-15")

NEWEST = OFFSET_FOR_LEADER_EPOCH.versions.highest
ONE = batch_of(b"a")
TWO = batch_of(b"b", b"c")
UNCOMMITTED = batch_of(b"d")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A leader that has committed its own control record, `ONE` at offset 1 and `TWO` at 2, but not yet offset 4."""
    with leading_pair(tmp_path_factory.mktemp("written")) as pair, pair.wire() as wire:
        for batch in (ONE, TWO):
            wire.send(produce_request(batch, timeout_ms=60_000), 9)
        pair.wait_for_log_end(4)
        pair.commit()
        wire.send(produce_request(UNCOMMITTED, timeout_ms=60_000), 9)
        pair.wait_for_log_end(5)
        yield pair


def plan_of(wire: Wire, asked: BatchPlanRequest) -> BatchPlan:
    return epoch_end(wire.ask(epoch_end_request(1, plan=asked), NEWEST, OffsetForLeaderEpochResponse)).batch_plan


def place(pair: Pair, offset: int, batch: bytes) -> LogPosition:
    return LogPosition(offset=offset, epoch=pair.epoch, checksum=read_fields(batch).checksum)


def test_plan_has_the_bounds_and_the_records_before_both_positions(written: Pair) -> None:
    with written.wire() as wire:
        plan = plan_of(wire, BatchPlanRequest(start_offset=2))

    assert plan == BatchPlan(
        log_start_offset=0, last_stable_offset=4, start=place(written, 2, ONE), end=place(written, 4, TWO)
    )


@pytest.mark.parametrize(
    ("asked", "end"),
    [
        pytest.param(BatchPlanRequest(start_offset=1, max_records=2), 3, id="in the middle of a batch"),
        pytest.param(BatchPlanRequest(start_offset=1, end_offset=3), 3, id="of offsets"),
        pytest.param(BatchPlanRequest(start_offset=1, max_records=2, end_offset=2), 2, id="the lower one of both"),
        pytest.param(BatchPlanRequest(start_offset=0, max_records=1), 2, id="control records do not count"),
        pytest.param(BatchPlanRequest(start_offset=0, max_records=1 << 62), 4, id="more than there is"),
        pytest.param(BatchPlanRequest(start_offset=3, end_offset=1), 3, id="an end before the start"),
        pytest.param(BatchPlanRequest(start_offset=4, max_records=1), 4, id="nothing is left"),
    ],
)
def test_plan_keeps_to_the_limits(written: Pair, asked: BatchPlanRequest, end: int) -> None:
    with written.wire() as wire:
        assert plan_of(wire, asked).end.offset == end


ONE_BYTES = len(ONE)
TWO_BYTES = len(TWO)


@pytest.mark.parametrize(
    ("asked", "end", "size_bytes"),
    [
        pytest.param(BatchPlanRequest(start_offset=1, max_bytes=1), 2, ONE_BYTES, id="less than a record batch"),
        pytest.param(
            BatchPlanRequest(start_offset=1, max_bytes=ONE_BYTES + TWO_BYTES - 1), 2, ONE_BYTES, id="a byte too few"
        ),
        pytest.param(
            BatchPlanRequest(start_offset=1, max_bytes=ONE_BYTES + TWO_BYTES),
            4,
            ONE_BYTES + TWO_BYTES,
            id="all that is committed",
        ),
        pytest.param(
            BatchPlanRequest(start_offset=1, max_bytes=1 << 20, max_records=2),
            3,
            ONE_BYTES + TWO_BYTES,
            id="fewer records, in the middle of a batch",
        ),
        pytest.param(
            BatchPlanRequest(start_offset=1, max_bytes=ONE_BYTES, max_records=2), 2, ONE_BYTES, id="fewer bytes"
        ),
        pytest.param(BatchPlanRequest(start_offset=3, max_bytes=1), 4, TWO_BYTES, id="the rest of a batch"),
        pytest.param(BatchPlanRequest(start_offset=4, max_bytes=1), 4, 0, id="nothing is left"),
    ],
)
def test_plan_keeps_to_the_limit_of_bytes(written: Pair, asked: BatchPlanRequest, end: int, size_bytes: int) -> None:
    with written.wire() as wire:
        plan = plan_of(wire, asked)

    assert (plan.end.offset, plan.size_bytes) == (end, size_bytes)


def test_plan_has_no_size_when_bytes_are_not_limited(written: Pair) -> None:
    with written.wire() as wire:
        assert plan_of(wire, BatchPlanRequest(start_offset=1)).size_bytes == -1


def test_no_record_precedes_the_start_of_the_log(written: Pair) -> None:
    with written.wire() as wire:
        assert plan_of(wire, BatchPlanRequest(start_offset=0)).start == LogPosition(offset=0, epoch=0)


def test_plan_that_starts_past_what_is_committed_has_bounds_only(written: Pair) -> None:
    with written.wire() as wire:
        plan = plan_of(wire, BatchPlanRequest(start_offset=5))

    assert plan == BatchPlan(log_start_offset=0, last_stable_offset=4)


def test_node_plans_no_batch_without_a_request_or_for_several_partitions(written: Pair) -> None:
    once = epoch_end_request(1, plan=BatchPlanRequest(start_offset=0))
    with written.wire() as wire:
        unasked = epoch_end(wire.ask(epoch_end_request(1), NEWEST, OffsetForLeaderEpochResponse))
        twice = wire.ask(replace(once, topics=once.topics * 2), NEWEST, OffsetForLeaderEpochResponse)

    partitions = [unasked, *(partition for topic in twice.topics for partition in topic.partitions)]
    assert [partition.batch_plan for partition in partitions] == [BatchPlan()] * 3
    assert [partition.end_offset for partition in partitions] == [4] * 3


def test_plan_is_refused_with_the_epoch(written: Pair) -> None:
    request = epoch_end_request(1, epoch=written.epoch + 1, plan=BatchPlanRequest(start_offset=0))
    with written.wire() as wire:
        response = epoch_end(wire.ask(request, NEWEST, OffsetForLeaderEpochResponse))

    assert (response.error_code, response.batch_plan) == (ErrorCode.UNKNOWN_LEADER_EPOCH, BatchPlan())
