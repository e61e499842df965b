"""A replica fetches (rules FETCH, leader side; DIVERGE-1..4; HW as far as fetches move it)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import ReportFault
from raft.core.messages import FetchRequest, FetchResponse
from raft.core.roles import Leader
from raft.errors import ErrorCode
from raft.types import NodeId, ReplicaKey, Uuid
from tests.core.builder import Node, a_candidate, a_follower, a_leader, a_log, a_prospective, a_resigned, an_unattached
from tests.core.orders import reads, replies
from tests.core.wording import append_of, fetch_request, fetch_response, voter_2_at

FENCED = ErrorCode.FENCED_LEADER_EPOCH
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
FIVE = (1, 2, 3, 4, 5)


def scenario(number: int) -> pytest.MarkDecorator:
    return pytest.mark.rule(f"SCENARIO-{number}")


# Served or refused


@pytest.mark.parametrize(
    ("offset", "last_epoch"), [(0, 0), (4, 3), (10, 3)], ids=["from the start", "in the middle", "at the last record"]
)
@pytest.mark.rule("FETCH-6", "FETCH-10", "FETCH-11", "HW-4", "DIVERGE-3")
def test_leader_sends_records_from_the_fetch_offset_on_committed_or_not(offset: int, last_epoch: int) -> None:
    node = a_leader(epoch=5)

    effects = node.receives(voter_2_at(offset, last_epoch=last_epoch))

    response = fetch_response(epoch=5, leader=1, high_watermark=None)
    assert effects == [replies(response, read=reads(offset, 11))]


@pytest.mark.rule("FETCH-6", "FETCH-29")
def test_leader_sends_replicas_the_records_past_the_high_watermark() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(records=3), now_ms=0)

    effects = node.receives(voter_2_at(10, last_epoch=3))

    response = fetch_response(epoch=5, leader=1, high_watermark=11)
    assert effects[-1] == replies(response, read=reads(10, 14))


@pytest.mark.rule("FETCH-6")
def test_leader_sends_no_more_bytes_than_were_requested() -> None:
    node = a_leader(epoch=5)

    effects = node.receives(fetch_request(by=2, epoch=5, offset=4, last_epoch=3, max_bytes=7))

    assert effects == [replies(fetch_response(epoch=5, leader=1), read=reads(4, 11, max_bytes=7))]


@pytest.mark.parametrize(
    ("node", "request_", "response"),
    [
        pytest.param(
            lambda: a_leader(epoch=5),
            voter_2_at(10, last_epoch=3, epoch=4),
            fetch_response(epoch=5, leader=1, error=FENCED),
            marks=pytest.mark.rule("FETCH-2", "FETCH-4", "SCENARIO-33", "GEN-3", "GEN-4", "ERROR-3"),
            id="an older epoch",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            voter_2_at(10, last_epoch=3, epoch=6),
            fetch_response(epoch=5, leader=1, error=ErrorCode.UNKNOWN_LEADER_EPOCH),
            marks=pytest.mark.rule("FETCH-2", "FETCH-4", "SCENARIO-33"),
            id="a later epoch",
        ),
        pytest.param(
            lambda: a_follower(of=3, epoch=5),
            voter_2_at(10, last_epoch=3),
            fetch_response(epoch=5, leader=3, error=NOT_LEADER),
            marks=pytest.mark.rule("FETCH-2", "SCENARIO-33", "GEN-4", "BOOT-5"),
            id="a follower names the leader",
        ),
        pytest.param(
            lambda: a_follower(of=3, epoch=5),
            voter_2_at(10, last_epoch=3, epoch=6),
            fetch_response(epoch=5, leader=3, error=ErrorCode.UNKNOWN_LEADER_EPOCH),
            marks=pytest.mark.rule("FETCH-2", "FETCH-4"),
            id="a follower gets a request of a later epoch",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            voter_2_at(10, last_epoch=3),
            fetch_response(epoch=5, leader=None, error=NOT_LEADER),
            marks=pytest.mark.rule("FETCH-2", "BOOT-6"),
            id="an unattached node knows no leader",
        ),
        pytest.param(
            lambda: a_prospective(epoch=5),
            voter_2_at(10, last_epoch=3),
            fetch_response(epoch=5, leader=None, error=NOT_LEADER),
            marks=pytest.mark.rule("FETCH-2"),
            id="a prospective node",
        ),
        pytest.param(
            lambda: a_candidate(epoch=5),
            voter_2_at(10, last_epoch=3),
            fetch_response(epoch=5, leader=None, error=NOT_LEADER),
            marks=pytest.mark.rule("FETCH-2"),
            id="a candidate",
        ),
        pytest.param(
            lambda: a_resigned(epoch=5),
            voter_2_at(11),
            fetch_response(epoch=5, leader=1, error=NOT_LEADER),
            marks=pytest.mark.rule("FETCH-2"),
            id="a resigned leader",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            fetch_request(by=1, epoch=5, offset=11, last_epoch=5),
            fetch_response(epoch=5, leader=1, error=ErrorCode.UNKNOWN_SERVER_ERROR),
            marks=pytest.mark.rule("FETCH-14"),
            id="one that calls itself like the leader",
        ),
        *(
            pytest.param(
                lambda: a_leader(epoch=5),
                malformed,
                fetch_response(epoch=5, leader=1, error=ErrorCode.INVALID_REQUEST),
                marks=pytest.mark.rule("FETCH-3"),
                id=fault,
            )
            for fault, malformed in {
                "a negative wait": voter_2_at(10, last_epoch=3, max_wait_ms=-1),
                "a negative offset": voter_2_at(-1, last_epoch=0),
                "a negative last epoch": voter_2_at(10, last_epoch=-1),
                "a last epoch after the leader's": voter_2_at(10, last_epoch=6, epoch=5),
            }.items()
        ),
    ],
)
@pytest.mark.rule("FETCH-11", "ERROR-4")
def test_node_refuses_a_replica_and_changes_nothing(
    node: Callable[[], Node], request_: FetchRequest, response: FetchResponse
) -> None:
    asked = node()
    before = asked.role

    effects = asked.receives(request_)

    assert effects == [replies(response)]
    assert asked.role == before


@pytest.mark.parametrize(
    ("leaders", "end", "asked", "told"),
    [
        pytest.param([(1, 0), (3, 10)], 15, (13, 2), (1, 10), marks=scenario(28), id="one round"),
        pytest.param([(1, 0), (3, 10)], 15, (10, 1), None, marks=scenario(28), id="one round, and then valid"),
        pytest.param([(1, 0), (3, 5)], 8, (10, 4), (3, 8), marks=scenario(29), id="first of two rounds"),
        pytest.param([(1, 0), (3, 5)], 8, (7, 2), (1, 5), marks=scenario(29), id="second of two rounds"),
        pytest.param([(1, 0), (3, 5)], 8, (5, 1), None, marks=scenario(29), id="two rounds, and then valid"),
        pytest.param([(2, 0), (3, 6)], 9, (10, 2), (2, 6), marks=scenario(30), id="the follower's is longer"),
        pytest.param([(2, 0), (3, 6)], 9, (6, 2), None, marks=scenario(30), id="valid, where the next epoch starts"),
        pytest.param([(3, 5)], 8, (10, 4), (3, 8), marks=scenario(31), id="an epoch this leader never had"),
        pytest.param([(3, 0)], 9, (4, 2), (2, 0), marks=scenario(32), id="an epoch before the first"),
        pytest.param([(3, 0)], 9, (0, 0), None, id="an empty log agrees with every other"),
    ],
)
@pytest.mark.rule("DIVERGE-1", "DIVERGE-2", "DIVERGE-3", "DIVERGE-4", "FETCH-11", "FETCH-5")
def test_leader_sends_the_diverging_epoch_instead_of_records(
    leaders: list[tuple[int, int]], end: int, asked: tuple[int, int], told: tuple[int, int] | None
) -> None:
    node = a_leader(epoch=5, log=a_log(leaders, end))
    offset, last_epoch = asked

    effects = node.receives(voter_2_at(offset, last_epoch=last_epoch))

    read = None if told else reads(offset, end + 1)
    assert effects == [replies(fetch_response(epoch=5, leader=1, diverging=told), read=read)]


# What a fetch changes on the leader


@pytest.mark.rule("FETCH-8", "FETCH-9", "HW-1", "HW-2", "HW-9", "FETCH-10")
def test_leader_moves_the_high_watermark_when_a_majority_has_its_first_record() -> None:
    node = a_leader(epoch=5)

    effects = node.receives(voter_2_at(11, max_wait_ms=0))

    assert effects == [replies(fetch_response(epoch=5, leader=1, high_watermark=11))]
    assert node.high_watermark == 11


@pytest.mark.rule("HW-2")
def test_leader_does_not_commit_older_records_before_one_of_its_own_epoch() -> None:
    node = a_leader(epoch=5)

    node.receives(voter_2_at(10, last_epoch=3))

    assert node.high_watermark is None


@pytest.mark.rule("HW-2", "SCENARIO-27")
def test_leader_commits_the_old_epoch_only_with_the_new_one() -> None:
    node = a_leader(epoch=4, voters=FIVE, log=a_log([(1, 0), (2, 1)], 2))
    for voter in (2, 3):
        node.receives(fetch_request(by=voter, epoch=4, offset=2, last_epoch=2))
    assert node.high_watermark is None

    for voter in (2, 3):
        node.receives(fetch_request(by=voter, epoch=4, offset=3, last_epoch=4))

    assert node.high_watermark == 3


@pytest.mark.rule("HW-7")
def test_leader_counts_itself_only_with_what_it_has_flushed() -> None:
    node = a_leader(epoch=5, flushed=False)

    node.receives(voter_2_at(11))
    assert node.high_watermark is None

    node.has_flushed()
    assert node.high_watermark == 11


@pytest.mark.rule("HW-1")
def test_leader_counts_a_majority_of_all_voters_even_without_itself() -> None:
    node = a_leader(epoch=5, flushed=False)

    node.receives(voter_2_at(11))
    node.receives(fetch_request(by=3, epoch=5, offset=11, last_epoch=5))

    assert node.high_watermark == 11


@pytest.mark.rule("HW-1")
def test_leader_of_five_waits_for_two_others() -> None:
    node = a_leader(epoch=5, voters=FIVE)

    node.receives(voter_2_at(11))
    assert node.high_watermark is None
    node.receives(fetch_request(by=4, epoch=5, offset=11, last_epoch=5))
    assert node.high_watermark == 11


@pytest.mark.rule("FETCH-8", "HW-3")
def test_leader_accepts_and_reports_a_lower_fetch_offset_and_keeps_the_high_watermark() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    effects = node.receives(voter_2_at(4, last_epoch=3))

    assert effects == [
        ReportFault(message="voter 2 fetches from 4, after 11: it has lost records"),
        replies(fetch_response(epoch=5, leader=1, high_watermark=11), read=reads(4, 11)),
    ]
    assert node.high_watermark == 11


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(voter_2_at(11, last_epoch=3), marks=pytest.mark.rule("FETCH-7"), id="a voter whose log diverges"),
        pytest.param(voter_2_at(11, epoch=6), id="a voter of a later epoch"),
        pytest.param(
            fetch_request(by=9, epoch=5, offset=11, last_epoch=5),
            marks=pytest.mark.rule("FETCH-9", "TEST-12"),
            id="an observer",
        ),
        pytest.param(
            fetch_request(by=9, epoch=5, offset=11, last_epoch=3),
            marks=pytest.mark.rule("FETCH-9", "FETCH-7"),
            id="an observer whose log diverges",
        ),
        pytest.param(
            fetch_request(by=-2, epoch=5, offset=11, last_epoch=5),
            marks=pytest.mark.rule("FETCH-9"),
            id="an observer without an id",
        ),
    ],
)
def test_fetch_that_does_not_count_moves_neither_high_watermark_nor_check_quorum(request_: FetchRequest) -> None:
    node = a_leader(epoch=5)
    assert isinstance(node.role, Leader)
    check_quorum_deadline_ms = node.role.progress.check_quorum_deadline_ms

    node.receives(request_, now_ms=1500)

    assert node.high_watermark is None
    assert node.role.progress.check_quorum_deadline_ms == check_quorum_deadline_ms
    assert node.role.progress.voters[NodeId(2)].fetch_offset is None


@pytest.mark.rule("GEN-14", "FETCH-16")
def test_replica_with_the_id_of_a_voter_but_another_disk_is_an_observer() -> None:
    node = a_leader(epoch=5, disks_known=True)
    impostor = ReplicaKey(NodeId(2), Uuid("disk-0"))

    node.receives(fetch_request(by=impostor, epoch=5, offset=11, last_epoch=5))

    assert node.high_watermark is None
    assert isinstance(node.role, Leader)
    assert set(node.role.progress.observers) == {impostor}
    node.receives(fetch_request(by=ReplicaKey(NodeId(2), Uuid("disk-2")), epoch=5, offset=11, last_epoch=5))
    assert node.high_watermark == 11


@pytest.mark.rule("FETCH-16")
def test_leader_remembers_observers_with_an_id_and_forgets_those_that_stop_fetching() -> None:
    node = a_leader(epoch=5)
    assert isinstance(node.role, Leader)
    observer = fetch_request(by=9, epoch=5, offset=11, last_epoch=5)

    node.receives(fetch_request(by=-2, epoch=5, offset=11, last_epoch=5), now_ms=0)
    node.receives(fetch_request(by=8, epoch=5, offset=11, last_epoch=5), now_ms=0)
    node.receives(voter_2_at(11), now_ms=0)
    keep_leading(node, until=299_000)
    node.receives(observer, now_ms=299_999)
    assert set(node.role.progress.observers) == {ReplicaKey(NodeId(8)), ReplicaKey(NodeId(9))}

    assert node.core.deadline_ms == 300_000
    node.waits(until=300_000)
    assert set(node.role.progress.observers) == {ReplicaKey(NodeId(9))}


def keep_leading(node: Node, *, until: int) -> None:
    """Voter 2 fetches every second."""
    for now_ms in range(1000, until + 1, 1000):
        node.receives(voter_2_at(11, max_wait_ms=0), now_ms=now_ms)
