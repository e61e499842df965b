"""A replica loads a snapshot when its leader cannot give it records (rules FETCH-23, SNAPSHOT-4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core.effects import (
    CheckSnapshot,
    HaltCause,
    InstallSnapshot,
    ReportFault,
    RoleChanged,
    SendRequest,
    SendResponse,
    StoreSnapshotPiece,
)
from raft.core.events import Failure
from raft.core.log_view import LogView
from raft.core.messages import FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse, RequestRefused
from raft.core.roles import Follower
from raft.core.voter_set import VoterSet
from raft.errors import ErrorCode
from raft.transactions import ProducerState, SnapshotSummary
from raft.types import Epoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from tests.core.builder import Node, a_config, a_follower, a_log, a_node
from tests.core.orders import appends, flushes, halts, sends, truncates
from tests.core.wording import (
    CLUSTER_ID,
    US,
    batch,
    begin_request,
    client_fetch,
    endpoint,
    fetch_response,
    led_by,
    our_fetch,
    point,
)

SERVER, SECOND_SERVER = -2, -3
"""The bootstrap servers, which are known by their addresses alone; the leader listens at both."""

SNAPSHOT = point(4, 100)


def an_observer(
    *,
    high_watermark: int | None = None,
    known_committed: int = 0,
    log: LogView | None = None,
    servers: tuple[int, ...] = (2,),
) -> Node:
    """An observer whose log ends at 10; the leader, node 2 of epoch 5, has responded to its first fetch."""
    config = a_config(VoterSet.static({}), bootstrap_servers=tuple(endpoint(server) for server in servers))
    node = a_node(epoch=5, config=config, known_committed=known_committed, log=log)
    node.gets(fetch_response(epoch=5, leader=2, high_watermark=high_watermark), of=SERVER)
    return node.count_from_here()


def a_loading_observer(*, servers: tuple[int, ...] = (2,)) -> Node:
    """An observer that has requested the first piece from its leader."""
    node = an_observer(servers=servers)
    node.gets(fetch_response(epoch=5, leader=2, snapshot=(4, 100)), of=2)
    return node.count_from_here()


def asks_for_piece(position: int, *, snapshot: OffsetAndEpoch = SNAPSHOT) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(
        cluster_id=CLUSTER_ID,
        replica=ReplicaKey(NodeId(US)),
        epoch=Epoch(5),
        snapshot=snapshot,
        position=position,
        max_bytes=1 << 20,
    )


def piece(
    content: bytes,
    position: int,
    *,
    size: int = 8,
    snapshot: OffsetAndEpoch = SNAPSHOT,
    error: int = ErrorCode.NONE,
    epoch: int = 5,
    leader: int | None = 2,
) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(
        error=error,
        leader=led_by(leader, epoch=epoch),
        snapshot=snapshot,
        size_bytes=size,
        position=position,
        piece=content,
    )


def stores_piece(content: bytes, position: int) -> StoreSnapshotPiece:
    return StoreSnapshotPiece(snapshot=SNAPSHOT, position=position, piece=content)


def contents_of(snapshot: OffsetAndEpoch) -> SnapshotSummary:
    return SnapshotSummary(end=snapshot, epochs=(), producers=ProducerState().image(snapshot.offset))


@pytest.mark.rule("FETCH-23")
def test_observer_fetches_the_snapshot_that_the_leader_offers() -> None:
    node = an_observer()

    effects = node.gets(fetch_response(epoch=5, leader=2, snapshot=(4, 100)), of=2)

    assert effects == [sends(asks_for_piece(0), to=2)]


@pytest.mark.rule("FETCH-23")
def test_observer_stores_piece_after_piece_and_then_begins_its_log_at_the_end() -> None:
    node = a_loading_observer()

    first = node.gets(piece(b"12345", 0), of=2)
    last = node.gets(piece(b"678", 5), of=2)
    checked = node.has_checked(SNAPSHOT)
    after_flush = node.has_flushed()

    assert first == [stores_piece(b"12345", 0), sends(asks_for_piece(5), to=2)]
    assert last == [stores_piece(b"678", 5), CheckSnapshot(snapshot=SNAPSHOT)]
    assert checked == [InstallSnapshot(contents=contents_of(SNAPSHOT)), flushes(100)]
    assert after_flush == [sends(our_fetch(epoch=5, log_end=(4, 100), high_watermark=100), to=2, number=1)]
    assert (node.core.log.start_offset, node.core.log.end, node.core.log.epochs) == (100, SNAPSHOT, ())
    assert node.high_watermark == 100


@pytest.mark.rule("FETCH-23")
def test_observer_appends_behind_the_snapshot() -> None:
    node = a_loading_observer()
    node.gets(piece(b"12345678", 0), of=2)
    node.has_checked(SNAPSHOT)
    node.has_flushed()
    node.count_from_here()
    record = batch(100, epoch=5)

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=[record], high_watermark=101), of=2)

    assert effects == [appends(record), flushes(101)]
    assert (node.core.log.epoch_at(Offset(100)), node.core.log.last_epoch, node.high_watermark) == (4, 5, 101)


def test_flush_from_before_the_snapshot_does_not_count_for_the_log_after_it() -> None:
    node = an_observer()
    node.gets(fetch_response(epoch=5, leader=2, batches=[batch(10, epoch=5)]), of=2)
    stale = node.last_flush
    node.has_flushed()
    node.gets(fetch_response(epoch=5, leader=2, snapshot=(5, 12)), of=2)
    node.gets(piece(b"12345678", 0, snapshot=point(5, 12)), of=2)
    node.has_checked(point(5, 12))
    node.count_from_here()

    assert node.handle(stale, now_ms=200) == []
    assert node.has_flushed(now_ms=200) == [sends(our_fetch(epoch=5, log_end=(5, 12), high_watermark=12), to=2)]


def test_diverging_response_after_a_snapshot_truncates_the_log_to_it() -> None:
    node = a_loading_observer()
    node.gets(piece(b"12345678", 0), of=2)
    node.has_checked(SNAPSHOT)
    node.has_flushed()
    node.gets(fetch_response(epoch=5, leader=2, batches=[batch(100, epoch=5)], high_watermark=100), of=2)
    node.has_flushed()
    node.count_from_here()

    effects = node.gets(fetch_response(epoch=5, leader=2, diverging=(4, 100)), of=2)

    assert effects == [truncates(100), sends(our_fetch(epoch=5, log_end=(4, 100), high_watermark=100), to=2)]


@pytest.mark.rule("FETCH-23", "TIMER-2")
def test_voter_loads_a_snapshot_and_each_piece_extends_its_fetch_timeout() -> None:
    node = a_follower(of=2, epoch=5)
    node.gets(fetch_response(epoch=5, leader=2, snapshot=(4, 100)), of=2, now_ms=300)

    node.gets(piece(b"12345", 0), of=2, now_ms=900)

    assert isinstance(node.role, Follower)
    assert node.role.fetch_deadline_ms == 2900
    node.gets(piece(b"678", 5), of=2, now_ms=950)
    assert node.has_checked(SNAPSHOT, now_ms=960) == [InstallSnapshot(contents=contents_of(SNAPSHOT)), flushes(100)]
    assert node.high_watermark == 100


@pytest.mark.rule("SNAPSHOT-4")
def test_replica_requests_nothing_while_a_snapshot_is_checked() -> None:
    node = a_loading_observer()
    node.gets(piece(b"12345678", 0), of=2)

    assert node.waits(until=10_000) == []


@pytest.mark.rule("SNAPSHOT-4")
def test_damaged_snapshot_is_not_loaded_and_the_leader_is_asked_again_later() -> None:
    node = a_loading_observer()
    node.gets(piece(b"12345678", 0), of=2)

    effects = node.has_checked(SNAPSHOT, is_whole=False)

    fault = "leader 2 sent a snapshot at offset 100 of epoch 4 that is torn or damaged"
    assert effects == [ReportFault(message=fault)]
    assert isinstance(node.role, Follower)
    assert node.role.loading is None
    assert node.core.log.end_offset == 10


@pytest.mark.rule("SNAPSHOT-4")
def test_checked_snapshot_is_not_loaded_when_another_leader_is_followed_by_then() -> None:
    node = a_loading_observer()
    node.gets(piece(b"12345678", 0), of=2)
    node.receives(begin_request(epoch=6, leader=3))

    assert not [effect for effect in node.has_checked(SNAPSHOT) if isinstance(effect, InstallSnapshot)]
    assert node.core.log.end_offset == 10


@pytest.mark.rule("SNAPSHOT-4")
@pytest.mark.parametrize("is_second_whole", [True, False])
def test_only_the_last_download_counts_when_a_snapshot_was_downloaded_again_before_it_was_checked(
    is_second_whole: bool,
) -> None:
    node = a_follower(of=2, epoch=5)
    node.gets(fetch_response(epoch=5, leader=2, snapshot=(4, 100)), of=2, now_ms=300)
    node.gets(piece(b"12345678", 0), of=2, now_ms=310)
    node.receives(begin_request(epoch=6, leader=3), now_ms=320)
    node.gets(fetch_response(epoch=6, leader=3, snapshot=(4, 100)), of=3, now_ms=330)
    node.gets(piece(b"12345xyz", 0, epoch=6, leader=3), of=3, now_ms=340)

    of_first = node.has_checked(SNAPSHOT, now_ms=350)
    of_second = node.has_checked(SNAPSHOT, is_whole=is_second_whole, now_ms=360)

    assert of_first == []
    assert any(isinstance(effect, InstallSnapshot) for effect in of_second) == is_second_whole


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(piece(b"", 0, error=ErrorCode.SNAPSHOT_NOT_FOUND), id="not found"),
        pytest.param(piece(b"", 0, error=ErrorCode.POSITION_OUT_OF_RANGE), id="position out of range"),
        # Kafka 4.3.1 fails while it writes a partition's error, and sends this response instead.
        pytest.param(RequestRefused(error=ErrorCode.UNKNOWN_SERVER_ERROR), id="unknown server error"),
    ],
)
@pytest.mark.rule("FETCH-23")
def test_observer_fetches_records_again_when_the_snapshot_is_not_found(
    response: FetchSnapshotResponse | RequestRefused,
) -> None:
    node = a_loading_observer()

    effects = [*node.gets(response, of=2, now_ms=100), *node.waits(until=120)]

    assert isinstance(effects[0], ReportFault)
    assert effects[1:] == [sends(our_fetch(epoch=5), to=2)]


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(piece(b"1", 3), id="another position"),
        pytest.param(piece(b"1", 0, snapshot=point(4, 90)), id="another snapshot"),
        pytest.param(piece(b"", 0), id="nothing"),
        pytest.param(piece(b"123456789", 0), id="more than there is"),
    ],
)
def test_piece_that_was_not_requested_is_not_stored(response: FetchSnapshotResponse) -> None:
    node = a_loading_observer()

    effects = node.gets(response, of=2)

    assert [type(effect) for effect in effects] == [ReportFault]
    assert isinstance(node.role, Follower)
    assert node.role.loading is None


def test_piece_of_an_older_epoch_changes_nothing() -> None:
    node = a_loading_observer()
    before = node.role

    assert node.gets(piece(b"12345678", 0, epoch=4), of=2) == []
    assert node.role == before


def test_observer_fetches_records_from_a_new_leader_first() -> None:
    node = a_loading_observer()

    node.gets(piece(b"", 0, epoch=6, leader=3, error=ErrorCode.FENCED_LEADER_EPOCH), of=2)

    assert isinstance(node.role, Follower)
    assert (node.role.leader_id, node.role.loading) == (3, None)


def test_piece_is_requested_again_when_its_response_is_lost() -> None:
    node = a_loading_observer()
    node.gets(piece(b"12345", 0), of=2)
    node.count_from_here()

    node.fails_to_reach(2, now_ms=200)
    # Meanwhile it fetches from another node: the bootstrap server is the leader, which offers the same snapshot again.
    effects = node.waits(until=220)

    assert [effect.request for effect in effects if isinstance(effect, SendRequest)] == [asks_for_piece(5)]


def test_observer_continues_to_load_when_the_leader_offers_the_same_snapshot_at_another_address() -> None:
    node = a_loading_observer(servers=(2, 8))
    node.gets(piece(b"12345", 0), of=2)
    node.fails_to_reach(2, now_ms=200)
    node.count_from_here()

    effects = node.gets(fetch_response(epoch=5, leader=2, snapshot=(4, 100)), of=SECOND_SERVER, now_ms=220)

    assert effects == [sends(asks_for_piece(5), to=2)]


def test_observer_stops_loading_when_the_leader_sends_records() -> None:
    node = a_loading_observer(servers=(2, 8))
    node.fails_to_reach(2, now_ms=200)
    records = fetch_response(epoch=5, leader=2, batches=[batch(10, epoch=5, records=95)], high_watermark=105)

    node.gets(records, of=SECOND_SERVER, now_ms=210)

    assert isinstance(node.role, Follower)
    assert node.role.loading is None, "the snapshot ends below the high watermark by now"
    assert node.high_watermark == 105


def test_observer_fetches_again_when_a_piece_names_more_endpoints_of_the_leader() -> None:
    node = a_loading_observer()
    moved = replace(piece(b"12345678", 0), leader=led_by(2, epoch=5, at=(endpoint(2), endpoint(9))))

    effects = node.gets(moved, of=2, now_ms=100)

    assert [type(effect) for effect in effects] == [RoleChanged]
    assert node.waits(until=120) == [sends(our_fetch(epoch=5), to=2)]


@pytest.mark.rule("GEN-8")
def test_observer_backs_off_when_a_piece_does_not_come_from_its_leader() -> None:
    node = a_loading_observer()

    assert node.gets(piece(b"12345678", 0, leader=None), of=2, now_ms=100) == []
    assert node.waits(until=119) == []
    assert node.waits(until=120) == [sends(asks_for_piece(0), to=2)]


def test_snapshot_that_ends_below_what_is_committed_stops_the_node() -> None:
    node = an_observer(high_watermark=10)

    effects = node.gets(fetch_response(epoch=5, leader=2, snapshot=(4, 9)), of=2)

    reason = "the leader's snapshot at offset 9 of epoch 4 ends below the high watermark 10"
    assert effects == [halts(HaltCause.COMMITTED_RECORDS_LOST, reason)]


@pytest.mark.rule("LOG-21")
def test_snapshot_that_ends_below_what_was_committed_before_the_start_stops_the_node() -> None:
    node = an_observer(known_committed=10)

    effects = node.gets(fetch_response(epoch=5, leader=2, snapshot=(4, 9)), of=2)

    reason = "the leader's snapshot at offset 9 of epoch 4 ends below the high watermark 10"
    assert effects == [halts(HaltCause.COMMITTED_RECORDS_LOST, reason)]


@pytest.mark.rule("DIVERGE-7", "LOG-16")
def test_observer_stops_rather_than_truncate_below_the_snapshot_at_which_its_log_begins() -> None:
    node = an_observer(log=a_log([(5, 100)], 110, start=100))

    effects = node.gets(fetch_response(epoch=5, leader=2, diverging=(3, 50)), of=2)

    reason = "the leader's log diverges from ours at 50, below the high watermark 100: committed records would be lost"
    assert effects == [halts(HaltCause.COMMITTED_RECORDS_LOST, reason)]
    assert node.core.log.end_offset == 110


def test_snapshot_of_a_later_epoch_than_the_leaders_is_not_loaded() -> None:
    node = an_observer()

    effects = node.gets(fetch_response(epoch=5, leader=2, snapshot=(6, 100)), of=2)

    message = "leader 2 of epoch 5 offers a snapshot at offset 100 of epoch 6, a later one"
    assert effects == [ReportFault(message=message)]
    assert isinstance(node.role, Follower)
    assert node.role.loading is None


def test_bytes_that_a_snapshot_replaced_are_not_committed() -> None:
    node = an_observer()
    node.gets(fetch_response(epoch=5, leader=2, batches=[batch(10, epoch=5, records=10)]), of=2)
    node.has_flushed()
    node.gets(fetch_response(epoch=5, leader=2, snapshot=(5, 12)), of=2)
    node.gets(piece(b"12345678", 0, snapshot=point(5, 12)), of=2)
    node.has_checked(point(5, 12))
    node.has_flushed()

    node.gets(fetch_response(epoch=5, leader=2, batches=[batch(12, epoch=5)], high_watermark=13), of=2)

    assert node.core.readable_bytes(read_committed=True) == 100


def test_client_gets_out_of_range_for_offsets_before_the_snapshot() -> None:
    node = a_loading_observer()
    node.gets(piece(b"12345678", 0), of=2)
    node.has_checked(SNAPSHOT)

    (reply,) = node.receives(client_fetch(offset=50))

    assert isinstance(reply, SendResponse)
    assert isinstance(reply.response, FetchResponse)
    assert (reply.response.error, reply.response.log_start_offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, 100)


# A voter beside a running cluster


@pytest.mark.rule("ERROR-7")
def test_voter_stops_when_it_meets_a_controller_of_a_kafka_cluster() -> None:
    node = a_follower(of=2, epoch=5)

    effects = node.fails_to_reach(2, Failure.KAFKA_CONTROLLER)

    reason = (
        "node 2 is a controller of an Apache Kafka cluster, and this node is set up to vote beside it: "
        "it could win an election that only a controller may win"
    )
    assert effects == [halts(HaltCause.KAFKA_CONTROLLER, reason)]
