"""A node whose log is damaged stands aside, serves nothing damaged, and repairs its log (rules LOG-29 to LOG-31)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from raft.core.damage import REPAIR_PAUSE_MS
from raft.core.effects import Effect, RepairLog, ReportFault, RoleChanged, SendRequest, SendResponse
from raft.core.events import DamageReported, RepairEnded
from raft.core.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RepairFetchRequest,
    VoteRequest,
)
from raft.errors import ErrorCode
from raft.types import Batch, Damaged, DamagedRange, Epoch, NodeId, Offset, OffsetAndEpoch
from tests.core.builder import ELECTION_TIMEOUT_MS, Node, a_follower, a_leader, an_unattached
from tests.core.orders import reads
from tests.core.wording import CLUSTER_ID, batch, client_fetch, fetch_request, fetch_response, key, our_end_request

END = 11
"""The log end of the leader: it has appended the begin of its epoch."""


def damage(*ranges: tuple[int, int], kind: Damaged = Damaged.BATCHES) -> DamageReported:
    return DamageReported(
        ranges=tuple(
            DamagedRange(kind=kind, start_offset=Offset(start), end_offset=Offset(end)) for start, end in ranges
        )
    )


def sent(effects: Iterable[Effect], kind: type) -> list[SendRequest]:
    return [each for each in effects if isinstance(each, SendRequest) and isinstance(each.request, kind)]


# Standing aside


def leads(fetches: Iterable[tuple[int, int, bool]], *, report: DamageReported) -> list[Effect]:
    """Return what a leader does that finds damage, after fetches of (voter, offset, is damaged)."""
    node = a_leader(epoch=5)
    for voter, offset, is_damaged in fetches:
        request = fetch_request(by=voter, epoch=5, offset=offset, last_epoch=5)
        node.receives(replace(request, is_damaged=is_damaged), now_ms=100)
    return node.count_from_here().handle(report, now_ms=110)


@pytest.mark.parametrize("kind", list(Damaged))
@pytest.mark.parametrize(
    ("fetches", "successors"),
    [
        pytest.param([(2, END, False), (3, END, False)], (2, 3), id="both are sound"),
        pytest.param([(2, END, True), (3, END, False)], (3, 2), id="the sound one comes first"),
        pytest.param([(2, END, False)], (2, 3), id="only one has fetched"),
    ],
)
@pytest.mark.rule("LOG-30", "END-3")
def test_leader_with_damage_resigns_at_once_when_a_sound_voter_can_win(
    fetches: list[tuple[int, int, bool]], successors: tuple[int, ...], kind: Damaged
) -> None:
    effects = leads(fetches, report=damage((0, 4), kind=kind))

    assert [each.request for each in sent(effects, object)] == [our_end_request(epoch=5, successors=successors)] * 2
    (change,) = [each for each in effects if isinstance(each, RoleChanged)]
    assert change.reason == f"its log is damaged, and node {successors[0]} is sound"


@pytest.mark.parametrize(
    "fetches",
    [
        pytest.param([], id="no voter fetches"),
        pytest.param([(2, END, True), (3, END, True)], id="all logs are damaged"),
        pytest.param([(2, END, True), (3, 10, False)], id="the sound voter lacks records of a majority"),
    ],
)
@pytest.mark.rule("LOG-30")
def test_leader_with_damage_leads_on_when_no_sound_voter_can_win(fetches: list[tuple[int, int, bool]]) -> None:
    assert not any(isinstance(effect, RoleChanged) for effect in leads(fetches, report=damage((0, 4))))


@pytest.mark.rule("LOG-30")
def test_leader_leads_on_when_its_damage_is_gone() -> None:
    assert leads([(2, END, False)], report=damage()) == []


@pytest.mark.rule("LOG-30")
def test_leader_with_damage_resigns_when_a_sound_voter_has_caught_up() -> None:
    node = a_leader(epoch=5)
    node.handle(damage((0, 4)), now_ms=100)
    request = fetch_request(by=2, epoch=5, offset=END, last_epoch=5)

    before = node.receives(replace(request, is_damaged=True), now_ms=110)
    after = node.receives(request, now_ms=120)

    assert not any(isinstance(effect, RoleChanged) for effect in before)
    assert any(isinstance(effect, RoleChanged) for effect in after)


def rounds(node: Node, *, until_ms: int) -> list[int]:
    """Let time pass, and return the times at which the node asks for pre-votes."""
    asked: list[int] = []
    while (deadline_ms := node.core.deadline_ms) is not None and deadline_ms <= until_ms:
        if sent(node.waits(until=deadline_ms), VoteRequest):
            asked.append(deadline_ms)
    return asked


@pytest.mark.rule("LOG-30")
def test_voter_with_damage_leaves_two_rounds_to_others() -> None:
    node = an_unattached(epoch=5)
    node.handle(damage((0, 4)), now_ms=0)

    assert rounds(node, until_ms=5000)[0] == 5 * ELECTION_TIMEOUT_MS


@pytest.mark.rule("LOG-30")
def test_only_voter_leads_although_its_log_is_damaged() -> None:
    node = an_unattached(epoch=5, voters=(1,))
    node.handle(damage((0, 4)), now_ms=0)

    node.waits(until=2 * ELECTION_TIMEOUT_MS)

    assert node.role_name == "Leader"


# Reads


def read_of(effects: Iterable[Effect]) -> tuple[int, object]:
    """Return error and range of the only response."""
    (response,) = [each for each in effects if isinstance(each, SendResponse)]
    assert isinstance(response.response, FetchResponse)
    return response.response.error, response.read


@pytest.mark.parametrize(
    ("offset", "error", "read"),
    [
        (0, ErrorCode.NONE, reads(0, 4)),
        (3, ErrorCode.NONE, reads(3, 4)),
        (4, ErrorCode.STORAGE_ERROR, None),
        (5, ErrorCode.STORAGE_ERROR, None),
        (6, ErrorCode.NONE, reads(6, 8)),
        (8, ErrorCode.STORAGE_ERROR, None),
        (9, ErrorCode.NONE, reads(9, 10)),
    ],
)
@pytest.mark.rule("LOG-30", "CLIENT-2")
def test_client_gets_what_lies_before_the_damage_and_an_error_within(offset: int, error: int, read: object) -> None:
    node = a_follower(of=2, epoch=5, high_watermark=10)
    node.handle(damage((4, 6), (8, 9)), now_ms=50)

    effects = node.receives(client_fetch(offset=offset), now_ms=100)

    assert read_of(effects) == (error, read)


@pytest.mark.rule("LOG-30")
def test_client_does_not_wait_for_more_bytes_than_lie_before_the_damage() -> None:
    node = a_follower(of=2, epoch=5, high_watermark=10)
    node.handle(damage((4, 6)), now_ms=50)

    effects = node.receives(replace(client_fetch(offset=0, max_wait_ms=500), wait_until_bytes=1 << 20), now_ms=100)

    assert read_of(effects) == (ErrorCode.NONE, reads(0, 4))


@pytest.mark.parametrize(
    ("offset", "error", "read"),
    [(0, ErrorCode.NONE, reads(0, 4)), (4, ErrorCode.STORAGE_ERROR, None), (6, ErrorCode.NONE, reads(6, END))],
)
@pytest.mark.rule("LOG-30")
def test_replica_gets_no_damaged_records_of_its_leader(offset: int, error: int, read: object) -> None:
    node = a_leader(epoch=5)
    node.handle(damage((4, 6)), now_ms=50)

    effects = node.receives(fetch_request(by=9, epoch=5, offset=offset, last_epoch=3 if offset else 0), now_ms=100)

    assert read_of(effects) == (error, read)


@pytest.mark.rule("LOG-30")
def test_snapshot_of_a_sound_log_is_no_damage_for_readers_and_is_not_served() -> None:
    node = a_leader(epoch=5, voters=(1,))
    node.handle(damage((0, 8), kind=Damaged.SNAPSHOT), now_ms=50)
    request = FetchSnapshotRequest(
        cluster_id=CLUSTER_ID,
        replica=key(9),
        epoch=Epoch(5),
        snapshot=OffsetAndEpoch(offset=Offset(8), epoch=Epoch(3)),
        position=0,
        max_bytes=100,
    )

    (response,) = [each for each in node.receives(request, now_ms=100) if isinstance(each, SendResponse)]

    assert read_of(node.receives(client_fetch(offset=0), now_ms=100))[0] == ErrorCode.NONE
    assert isinstance(response.response, FetchSnapshotResponse)
    assert response.response.error == ErrorCode.STORAGE_ERROR


# Repairs


def follows(*ranges: tuple[int, int], high_watermark: int = 10) -> Node:
    """A follower that has fetched, and has found damage; its usual fetch is in flight."""
    node = a_follower(of=2, epoch=5, high_watermark=high_watermark)
    node.handle(damage(*ranges), now_ms=50)
    return node


def usual(node: Node, *, now_ms: int, high_watermark: int = 10) -> list[Effect]:
    """The leader responds to the usual fetch with nothing new."""
    return node.gets(fetch_response(epoch=5, leader=2, high_watermark=high_watermark), of=2, now_ms=now_ms)


def repair_of(start: int, end: int, *, last_epoch: int = 3) -> RepairFetchRequest:
    return RepairFetchRequest(
        cluster_id=CLUSTER_ID,
        epoch=Epoch(5),
        damaged=DamagedRange(start_offset=Offset(start), end_offset=Offset(end)),
        last_fetched_epoch=Epoch(last_epoch),
        max_bytes=1 << 20,
    )


def asked(effects: Iterable[Effect]) -> list[object]:
    return [each.request for each in effects if isinstance(each, SendRequest)]


def batches(*places: tuple[int, int], epoch: int = 3) -> list[Batch]:
    """Batches of (base offset, number of records)."""
    return [batch(base, epoch=epoch, records=count) for base, count in places]


@pytest.mark.rule("LOG-31")
def test_follower_repairs_a_range_and_fetches_as_usual_between() -> None:
    node = follows((4, 6), (8, 9))
    right = batches((4, 1), (5, 1))

    first = usual(node, now_ms=100)
    ordered = node.gets(fetch_response(epoch=5, leader=2, batches=right), of=2, now_ms=110)
    node.handle(damage((8, 9)), now_ms=120)
    ended = node.handle(RepairEnded(is_repaired=True), now_ms=120)
    second = usual(node, now_ms=130)

    assert asked(first) == [repair_of(4, 6)]
    assert [each for each in ordered if isinstance(each, RepairLog)] == [
        RepairLog(batches=tuple(right), source=NodeId(2))
    ]
    (between,) = asked(ordered)
    assert isinstance(between, FetchRequest)
    assert between.is_damaged
    assert asked(ended) == []
    assert asked(second) == [repair_of(8, 9)]


@pytest.mark.rule("LOG-31", "TIMER-2")
def test_response_with_records_for_a_repair_does_not_extend_the_fetch_timeout() -> None:
    node = follows((4, 6))
    usual(node, now_ms=100)
    before = node.role

    node.gets(fetch_response(epoch=5, leader=2, batches=batches((4, 2))), of=2, now_ms=110)

    assert node.role == before


@pytest.mark.rule("LOG-31")
def test_range_above_the_high_watermark_is_not_repaired_before_it_is_committed() -> None:
    node = follows((4, 6), high_watermark=5)

    before = usual(node, now_ms=100, high_watermark=5)
    after = usual(node, now_ms=200, high_watermark=6)

    assert [type(each) for each in asked(before)] == [FetchRequest]
    assert asked(after) == [repair_of(4, 6)]


@pytest.mark.rule("LOG-31")
def test_follower_asks_its_leader_only_after_a_response() -> None:
    node = a_follower(of=2, epoch=5)
    node.handle(damage((4, 6)), now_ms=50)

    effects = node.fails_to_reach(2, now_ms=100)

    assert not any(isinstance(each, RepairFetchRequest) for each in asked(effects))


@pytest.mark.parametrize(
    ("sent_batches", "taken"),
    [
        pytest.param([(4, 1)], 1, id="a part of the range"),
        pytest.param([(4, 2), (6, 1)], 1, id="more than the range"),
        pytest.param([(4, 1), (6, 1)], 1, id="a gap"),
        pytest.param([(4, 1), (5, 2)], 1, id="the last one ends behind the range"),
    ],
)
@pytest.mark.rule("LOG-31")
def test_only_batches_that_fit_the_range_are_taken(sent_batches: list[tuple[int, int]], taken: int) -> None:
    node = follows((4, 6))
    usual(node, now_ms=100)
    found = batches(*sent_batches)

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=found), of=2, now_ms=110)

    assert [each.batches for each in effects if isinstance(each, RepairLog)] == [tuple(found[:taken])]


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(fetch_response(epoch=5, leader=2), id="nothing"),
        pytest.param(fetch_response(epoch=5, leader=2, batches=batches((3, 3))), id="it begins before the range"),
        pytest.param(fetch_response(epoch=5, leader=2, batches=batches((4, 2), epoch=4)), id="of another epoch"),
        pytest.param(fetch_response(epoch=5, leader=2, batches=batches((4, 3))), id="it ends behind the range"),
        pytest.param(fetch_response(epoch=5, leader=2, error=ErrorCode.STORAGE_ERROR), id="damaged there too"),
        pytest.param(fetch_response(epoch=5, leader=2, damage="a wrong checksum"), id="damaged on the way"),
    ],
)
@pytest.mark.rule("LOG-31")
def test_follower_tries_again_after_a_pause_when_nothing_fits(response: FetchResponse) -> None:
    node = follows((4, 6))
    usual(node, now_ms=100)

    effects = node.gets(response, of=2, now_ms=110)
    soon = usual(node, now_ms=100 + REPAIR_PAUSE_MS)
    later = usual(node, now_ms=110 + REPAIR_PAUSE_MS)

    assert not any(isinstance(each, RepairLog) for each in effects)
    assert [type(each) for each in asked(effects)] == [FetchRequest], "contact does not end"
    (report,) = [each for each in effects if isinstance(each, ReportFault)]
    assert report.message.startswith("leader 2 sent no records to repair offsets 4 to 6 with: ")
    assert [type(each) for each in asked(soon)] == [FetchRequest]
    assert asked(later) == [repair_of(4, 6)]


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(fetch_response(epoch=5, leader=2, error=ErrorCode.OFFSET_OUT_OF_RANGE), id="out of range"),
        pytest.param(
            replace(fetch_response(epoch=5, leader=2, batches=batches((4, 2))), compacted_end=Offset(9)), id="compacted"
        ),
        pytest.param(
            replace(fetch_response(epoch=5, leader=2), snapshot=OffsetAndEpoch(offset=Offset(9), epoch=Epoch(3))),
            id="a snapshot, of Kafka's leaders",
        ),
    ],
)
@pytest.mark.rule("LOG-31")
def test_range_that_the_leader_does_not_have_is_left_until_another_one_leads(response: FetchResponse) -> None:
    node = follows((4, 6))
    usual(node, now_ms=100)

    effects = node.gets(response, of=2, now_ms=110)
    later = usual(node, now_ms=20_000)

    (report,) = [each for each in effects if isinstance(each, ReportFault)]
    assert "the log is damaged at offsets 4 to 6, and that of leader 2 begins later" in report.message
    assert not any(isinstance(each, RepairLog) for each in effects)
    assert [type(each) for each in asked(later)] == [FetchRequest]


@pytest.mark.rule("LOG-31")
def test_follower_tries_again_after_a_pause_when_the_disk_does_not_take_the_records() -> None:
    node = follows((4, 6))
    usual(node, now_ms=100)
    node.gets(fetch_response(epoch=5, leader=2, batches=batches((4, 2))), of=2, now_ms=110)
    during = usual(node, now_ms=115)
    node.handle(RepairEnded(is_repaired=False), now_ms=120)

    soon = usual(node, now_ms=119 + REPAIR_PAUSE_MS)
    later = usual(node, now_ms=120 + REPAIR_PAUSE_MS)

    assert [type(each) for each in asked(during)] == [FetchRequest], "one repair at a time"
    assert [type(each) for each in asked(soon)] == [FetchRequest]
    assert asked(later) == [repair_of(4, 6)]


@pytest.mark.rule("LOG-31")
def test_records_of_a_range_that_was_removed_meanwhile_are_dropped() -> None:
    node = follows((4, 6))
    usual(node, now_ms=100)
    node.handle(damage(), now_ms=105)

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=batches((4, 2))), of=2, now_ms=110)

    assert not any(isinstance(each, RepairLog) for each in effects)


@pytest.mark.rule("LOG-31")
def test_response_of_a_node_that_does_not_say_who_leads_repairs_nothing() -> None:
    node = follows((4, 6))
    usual(node, now_ms=100)

    effects = node.gets(
        fetch_response(epoch=5, leader=None, batches=batches((4, 2))),
        of=2,
        now_ms=110,
    )

    assert not any(isinstance(each, RepairLog | ReportFault) for each in effects)
    asked_nodes = {each.node_id for each in effects if isinstance(each, SendRequest)}
    assert NodeId(2) not in asked_nodes, "it backs off"


@pytest.mark.parametrize("kind", [Damaged.INDEX, Damaged.SNAPSHOT])
@pytest.mark.rule("LOG-31")
def test_only_batches_are_fetched_from_the_leader(kind: Damaged) -> None:
    node = a_follower(of=2, epoch=5, high_watermark=10)
    node.handle(damage((0, 6), kind=kind), now_ms=50)

    assert [type(each) for each in asked(usual(node, now_ms=100))] == [FetchRequest]


@pytest.mark.rule("LOG-29")
def test_range_behind_a_truncation_is_forgotten() -> None:
    node = a_follower(of=2, epoch=5)
    node.handle(damage((2, 3), (8, 9)), now_ms=50)

    node.gets(replace(fetch_response(epoch=5, leader=2), diverging=OffsetAndEpoch(Epoch(3), Offset(6))), of=2)

    assert [(each.start_offset, each.end_offset) for each in node.core.damage.ranges] == [(2, 3)]
