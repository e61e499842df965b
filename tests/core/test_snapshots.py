"""A node offers and serves its snapshots, and cuts its log (rules SNAPSHOT, FETCH-13, FETCH-18, DIVERGE-10, READ-7)."""

from __future__ import annotations

import pytest

from raft.core.effects import DeleteBeforeSnapshot, Effect, RollLog, SendResponse
from raft.core.events import DeleteBeforeSnapshotRequested, SnapshotDue, SnapshotMade
from raft.core.messages import FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse, RequestRefused
from raft.core.roles import Leader, Resigned, Role
from raft.errors import ErrorCode
from raft.types import Epoch, NodeId, OffsetAndEpoch, ReplicaKey
from tests.core.builder import Node, a_follower, a_leader, a_log
from tests.core.wording import CLUSTER_ID, client_fetch, fetch_request, fetch_response, point

LOG = a_log([(1, 0), (3, 4)], 10)
"""Epoch 1 up to offset 4, then epoch 3 up to 10; the leaders below begin epoch 5 at 10."""

EARLY, LATE = point(3, 6), point(3, 8)


def a_cut_leader(*, shows_records: bool = False) -> Node:
    """A leader of epoch 5 whose log begins at 6, with snapshots at 6 and 8."""
    node = a_leader(epoch=5, high_watermark_known=True, log=a_log([(1, 0), (3, 4)], 10))
    for snapshot in (EARLY, LATE):
        node.handle(SnapshotMade(snapshot=snapshot), now_ms=10)
    cut(node, EARLY, shows_records=shows_records)
    return node.count_from_here()


def cut(node: Node, start: OffsetAndEpoch, *, shows_records: bool = False) -> list[Effect]:
    return node.handle(DeleteBeforeSnapshotRequested(start=start, shows_records=shows_records), now_ms=10)


def offered(node: Node, *, offset: int, last_epoch: int) -> OffsetAndEpoch | None:
    """The snapshot in the response to a replica."""
    request = fetch_request(by=2, epoch=5, offset=offset, last_epoch=last_epoch, max_wait_ms=0)
    (reply,) = [effect for effect in node.receives(request) if isinstance(effect, SendResponse)]
    assert isinstance(reply.response, FetchResponse)
    assert reply.response.error == ErrorCode.NONE
    return reply.response.snapshot


def test_snapshot_begins_with_a_new_segment_at_the_end_of_the_log() -> None:
    node = a_follower(of=2, epoch=5, log=a_log([(1, 0), (3, 4)], 10))

    (effect,) = node.handle(SnapshotDue(), now_ms=10)

    assert isinstance(effect, RollLog)
    assert effect.producers.end_offset == 10


@pytest.mark.rule("DIVERGE-10", "FETCH-13")
@pytest.mark.parametrize(
    ("offset", "last_epoch", "expected"),
    [
        pytest.param(0, 0, LATE, id="it has nothing"),
        pytest.param(5, 3, LATE, id="before the log"),
        pytest.param(6, 1, LATE, id="at the start with another epoch"),
        pytest.param(7, 1, LATE, id="with an epoch before that of the start"),
        pytest.param(6, 3, None, id="at the start"),
        pytest.param(9, 3, None, id="behind the start"),
    ],
)
def test_replica_gets_the_newest_snapshot_when_the_log_does_not_reach_back(
    offset: int, last_epoch: int, expected: OffsetAndEpoch | None
) -> None:
    assert offered(a_cut_leader(), offset=offset, last_epoch=last_epoch) == expected


@pytest.mark.rule("FETCH-13")
def test_replica_without_records_gets_a_snapshot_although_the_log_is_whole() -> None:
    node = a_leader(epoch=5, high_watermark_known=True, log=a_log([(1, 0), (3, 4)], 10))
    node.handle(SnapshotMade(snapshot=EARLY), now_ms=10)

    assert offered(node, offset=0, last_epoch=0) == EARLY
    assert offered(node, offset=3, last_epoch=1) is None


def test_older_snapshot_takes_no_place_of_a_newer_one() -> None:
    node = a_cut_leader()

    node.handle(SnapshotMade(snapshot=EARLY), now_ms=20)

    assert offered(node, offset=0, last_epoch=0) == LATE


@pytest.mark.rule("SNAPSHOT-3")
def test_log_is_cut_once_and_its_epochs_stay() -> None:
    node = a_cut_leader()

    again, later = cut(node, EARLY), cut(node, LATE)

    assert (again, later) == ([], [DeleteBeforeSnapshot(start=LATE)])
    assert node.core.log.start == LATE
    assert [(start.epoch, start.start_offset) for start in node.core.log.epochs] == [(1, 0), (3, 4), (5, 10)]


@pytest.mark.rule("SNAPSHOT-3")
def test_node_stops_rather_than_cut_what_is_not_committed() -> None:
    node = a_follower(of=2, epoch=5, log=a_log([(1, 0), (3, 4)], 10))
    node.gets(fetch_response(epoch=5, leader=2, high_watermark=7), of=2)

    with pytest.raises(AssertionError, match="a log start at offset 8 of epoch 3, committed and durable up to 7"):
        cut(node, LATE)


@pytest.mark.rule("READ-7")
@pytest.mark.parametrize(
    ("shows_records", "offset", "error", "log_start"),
    [
        pytest.param(False, 5, ErrorCode.OFFSET_OUT_OF_RANGE, 6, id="before the log"),
        pytest.param(False, 6, ErrorCode.NONE, 6, id="at the start of the log"),
        pytest.param(True, 0, ErrorCode.NONE, 0, id="before the first record of the snapshot"),
        pytest.param(True, 5, ErrorCode.NONE, 0, id="in the snapshot"),
    ],
)
def test_client_reads_the_snapshot_as_the_head_of_the_log_where_records_are_kept(
    shows_records: bool, offset: int, error: ErrorCode, log_start: int
) -> None:
    node = a_cut_leader(shows_records=shows_records)

    (reply,) = node.receives(client_fetch(offset=offset))

    assert isinstance(reply, SendResponse)
    assert isinstance(reply.response, FetchResponse)
    assert (reply.response.error, reply.response.log_start_offset) == (error, log_start)
    assert (reply.read is not None) is (error == ErrorCode.NONE)


def asks(*, by: int = 2, epoch: int = 5, cluster: str | None = CLUSTER_ID) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(
        cluster_id=cluster,
        replica=ReplicaKey(NodeId(by)),
        epoch=Epoch(epoch),
        snapshot=LATE,
        position=7,
        max_bytes=100,
    )


@pytest.mark.rule("FETCH-18")
@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        pytest.param(5, ErrorCode.NONE, id="this epoch"),
        pytest.param(4, ErrorCode.FENCED_LEADER_EPOCH, id="an older epoch"),
        pytest.param(6, ErrorCode.UNKNOWN_LEADER_EPOCH, id="a later epoch"),
    ],
)
def test_leader_checks_the_epoch_of_a_request_for_a_snapshot(epoch: int, error: ErrorCode) -> None:
    (reply,) = a_cut_leader().receives(asks(epoch=epoch))

    assert isinstance(reply, SendResponse)
    assert isinstance(reply.response, FetchSnapshotResponse)
    assert (reply.response.error, reply.response.snapshot, reply.response.position) == (error, LATE, 7)
    assert reply.response.leader.leader_id == 1


@pytest.mark.rule("FETCH-18")
def test_only_the_leader_serves_a_snapshot() -> None:
    node = a_follower(of=2, epoch=5)

    (reply,) = [effect for effect in node.receives(asks(by=3)) if isinstance(effect, SendResponse)]

    assert isinstance(reply.response, FetchSnapshotResponse)
    assert reply.response.error == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.rule("FETCH-18", "CLUSTERID-3")
def test_request_of_another_cluster_for_a_snapshot_is_refused() -> None:
    (reply,) = a_cut_leader().receives(asks(cluster="another"))

    assert isinstance(reply, SendResponse)
    assert reply.response == RequestRefused(error=ErrorCode.INCONSISTENT_CLUSTER_ID)


@pytest.mark.rule("FETCH-17", "FETCH-18")
def test_leader_stays_while_a_majority_loads_its_snapshot() -> None:
    node = a_cut_leader()

    for now_ms in range(1_000, 12_000, 1_000):
        node.receives(asks(), now_ms=now_ms)

    roles: list[Role] = [node.role]
    node.receives(asks(by=9), now_ms=16_000)
    roles.append(node.role)
    assert [type(role) for role in roles] == [Leader, Resigned], "an observer is no voter"
