"""How a follower handles the responses to its fetches (rules FETCH, follower side; DIVERGE-5..8; HW-5; CONTROL-8)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core.effects import Effect, HaltCause, ReportFault, SendRequest
from raft.core.roles import Follower, Loading
from raft.errors import ErrorCode
from raft.types import Batch, ControlType
from tests.core.builder import a_follower, a_log, a_node, an_unattached
from tests.core.orders import appends, becomes, flushes, halts, replies, sends, stores, truncates
from tests.core.states import follower
from tests.core.wording import batch, begin_request, fetch_response, our_fetch, point, pre_vote_request, vote_response


def sends_to(effects: list[Effect], node_id: int) -> list[Effect]:
    """The requests that are sent to that node."""
    return [effect for effect in effects if isinstance(effect, SendRequest) and effect.node_id == node_id]


@pytest.mark.rule("FETCH-24", "FETCH-25", "TIMER-2", "PREVOTE-10", "GEN-5", "LOG-6")
def test_follower_appends_and_flushes_before_it_fetches_again() -> None:
    node = a_follower(of=2, epoch=5)
    first, second = batch(10, epoch=4), batch(11, epoch=5, records=3)

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=[first, second]), of=2, now_ms=300)

    assert effects == [appends(first, second), flushes(14)]
    assert node.role == follower(of=2, epoch=5, until=2300, has_fetched=True)
    assert node.waits(until=400) == []
    assert node.has_flushed(now_ms=410) == [sends(our_fetch(epoch=5, log_end=(5, 14)), to=2)]


@pytest.mark.rule("TIMER-2", "PREVOTE-10", "FETCH-19", "GEN-5", "TIMER-6")
def test_follower_fetches_again_at_once_when_there_is_nothing_new() -> None:
    node = a_follower(of=2, epoch=5)

    effects = node.gets(fetch_response(epoch=5, leader=2), of=2, now_ms=300)

    assert effects == [sends(our_fetch(epoch=5), to=2)]
    assert node.role == follower(of=2, epoch=5, until=2300, has_fetched=True)


@pytest.mark.parametrize(
    ("known", "told", "learnt"),
    [
        pytest.param(None, 7, 7, id="the first one"),
        pytest.param(None, 50, 10, id="no further than its own log"),
        pytest.param(6, 7, 7, id="a higher one"),
        pytest.param(7, 7, 7, id="the same"),
        pytest.param(10, 50, 10, id="no further than its own log, again"),
        pytest.param(7, None, 7, id="of a new leader that does not know it yet"),
        pytest.param(None, None, None, id="none at all"),
    ],
)
@pytest.mark.rule("HW-5", "FETCH-19")
def test_follower_adopts_the_high_watermark_and_sends_it_with_its_next_fetch(
    known: int | None, told: int | None, learnt: int | None
) -> None:
    node = a_follower(of=2, epoch=5, high_watermark=known)

    effects = node.gets(fetch_response(epoch=5, leader=2, high_watermark=told), of=2)

    assert node.high_watermark == learnt
    assert effects == [sends(our_fetch(epoch=5, high_watermark=learnt), to=2)]


@pytest.mark.rule("HW-5")
def test_follower_counts_the_records_of_the_response_when_it_adopts_the_high_watermark() -> None:
    node = a_follower(of=2, epoch=5)

    node.gets(fetch_response(epoch=5, leader=2, batches=[batch(10, epoch=5)], high_watermark=11), of=2)

    assert node.high_watermark == 11


@pytest.mark.rule("HW-5")
def test_follower_stops_when_the_high_watermark_falls() -> None:
    node = a_follower(of=2, epoch=5, high_watermark=8)

    effects = node.gets(fetch_response(epoch=5, leader=2, high_watermark=7), of=2)

    assert effects == [halts(HaltCause.COMMITTED_RECORDS_LOST, "the leader's high watermark fell from 8 to 7")]
    assert node.high_watermark == 8


@pytest.mark.rule("HW-5", "LOG-21")
def test_follower_stops_when_the_high_watermark_is_below_what_it_knew_to_be_committed_before_its_start() -> None:
    node = a_node(epoch=5, leader=2, known_committed=8)

    effects = node.gets(fetch_response(epoch=5, leader=2, high_watermark=7), of=2)

    assert effects == [halts(HaltCause.COMMITTED_RECORDS_LOST, "the leader's high watermark fell from 8 to 7")]
    assert node.high_watermark is None


@pytest.mark.parametrize(
    ("batches", "kept"),
    [
        pytest.param([batch(12, epoch=5)], 0, id="a gap before the first"),
        pytest.param([batch(9, epoch=5, records=2)], 0, id="an overlap with the log"),
        pytest.param([batch(10, epoch=6)], 0, marks=pytest.mark.rule("FETCH-24"), id="a later epoch than ours"),
        pytest.param([batch(10, epoch=2)], 0, id="an older epoch than that of the log's end"),
        pytest.param([batch(10, epoch=5), batch(11, epoch=6)], 1, id="good, then of a later epoch"),
        pytest.param([batch(10, epoch=5), batch(12, epoch=5)], 1, id="good, then a gap"),
        pytest.param([batch(10, epoch=5), batch(11, epoch=4)], 1, id="good, then of an older epoch"),
        pytest.param([batch(10, epoch=5), batch(10, epoch=5)], 1, id="the same twice"),
        pytest.param([batch(10, epoch=5), batch(12, epoch=5), batch(11, epoch=5)], 1, id="nothing after the first bad"),
    ],
)
@pytest.mark.rule("FETCH-24")
def test_follower_appends_up_to_the_first_batch_that_does_not_fit_and_continues(
    batches: list[Batch], kept: int
) -> None:
    node = a_follower(of=2, epoch=5)

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=batches), of=2)

    if kept:
        assert effects == [appends(*batches[:kept]), flushes(11)]
    else:
        assert effects == [sends(our_fetch(epoch=5), to=2)]
    assert node.core.log.end_offset == 10 + kept


@pytest.mark.rule("FETCH-24")
@pytest.mark.parametrize("batches", [[], [batch(10, epoch=5)]], ids=["nothing before it", "a good batch before it"])
def test_follower_reports_a_damaged_batch_keeps_the_batches_before_it_and_backs_off(batches: list[Batch]) -> None:
    node = a_follower(of=2, epoch=5)
    end = 10 + len(batches)

    response = fetch_response(epoch=5, leader=2, batches=batches, damage="a wrong checksum", high_watermark=10)
    effects = node.gets(response, of=2, now_ms=300)

    assert ReportFault(message=f"leader 2 sent a damaged batch behind offset {end}: a wrong checksum") in effects
    assert (node.core.log.end_offset, node.high_watermark) == (end, 10)
    assert node.role == follower(of=2, epoch=5, until=2300, has_fetched=True)
    assert sends_to(effects, 2) == []


@pytest.mark.rule("CONTROL-7", "CONTROL-8")
@pytest.mark.parametrize("before", [[], [batch(10, epoch=5)]], ids=["alone", "behind a good batch"])
def test_follower_stops_and_appends_nothing_when_a_control_record_is_of_an_unknown_type(before: list[Batch]) -> None:
    node = a_follower(of=2, epoch=5)
    base_offset = 10 + len(before)
    unknown = batch(base_offset, epoch=5, records=2, control_types=(ControlType.LEADER_CHANGE, 99))

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=[*before, unknown]), of=2)

    reason = f"unknown control record type 99 at offset {base_offset}"
    assert effects == [halts(HaltCause.UNKNOWN_CONTROL_RECORD, reason)]
    assert node.core.log.end_offset == 10


@pytest.mark.rule("CONTROL-8")
@pytest.mark.parametrize("kind", list(ControlType), ids=lambda kind: kind.name)
def test_follower_appends_control_records_of_every_known_type(kind: ControlType) -> None:
    node = a_follower(of=2, epoch=5)
    control = batch(10, epoch=5, control_types=(kind,))

    assert node.gets(fetch_response(epoch=5, leader=2, batches=[control]), of=2) == [appends(control), flushes(11)]


# Diverging logs


@pytest.mark.parametrize(
    ("log", "diverging", "truncated", "log_end"),
    [
        pytest.param(
            ([(1, 0), (2, 10)], 13),
            (1, 10),
            10,
            (1, 10),
            marks=pytest.mark.rule("SCENARIO-28"),
            id="same epoch, both end there",
        ),
        pytest.param(
            ([(1, 0), (2, 5), (4, 7)], 10),
            (3, 8),
            7,
            (2, 7),
            marks=pytest.mark.rule("SCENARIO-29"),
            id="smaller epoch here: truncated at its end",
        ),
        pytest.param(
            ([(1, 0), (2, 4), (4, 7)], 10), (3, 5), 7, (2, 7), id="smaller epoch here, longer than the leader's"
        ),
        pytest.param(
            ([(1, 0), (2, 5)], 7),
            (1, 5),
            5,
            (1, 5),
            marks=pytest.mark.rule("SCENARIO-29"),
            id="second round",
        ),
        pytest.param(
            ([(2, 0)], 10),
            (2, 6),
            6,
            (2, 6),
            marks=pytest.mark.rule("SCENARIO-30"),
            id="same epoch, shorter at the leader",
        ),
        pytest.param(
            ([(3, 5), (4, 8)], 10),
            (3, 8),
            8,
            (3, 8),
            marks=pytest.mark.rule("SCENARIO-31"),
            id="an epoch that the leader never had",
        ),
        pytest.param(
            ([(2, 0)], 4),
            (2, 0),
            0,
            (0, 0),
            marks=pytest.mark.rule("SCENARIO-32"),
            id="nothing in common",
        ),
        pytest.param(([(1, 0), (2, 4)], 9), (1, 6), 4, (1, 4), id="same epoch, shorter here"),
        pytest.param(([(3, 0)], 10), (0, 6), 6, (3, 6), id="epoch 0: at the offset it says"),
    ],
)
@pytest.mark.rule("DIVERGE-5", "DIVERGE-6", "FETCH-22", "PREVOTE-10", "TIMER-2", "LOG-12")
def test_follower_truncates_its_log_and_fetches_again_when_the_logs_diverge(
    log: tuple[list[tuple[int, int]], int], diverging: tuple[int, int], truncated: int, log_end: tuple[int, int]
) -> None:
    node = a_follower(of=2, epoch=5, log=a_log(*log))

    effects = node.gets(fetch_response(epoch=5, leader=2, diverging=diverging), of=2, now_ms=300)

    assert effects == [truncates(truncated), sends(our_fetch(epoch=5, log_end=log_end), to=2)]
    assert node.role == follower(of=2, epoch=5, until=2300, has_fetched=True)
    assert node.core.durable_end == truncated
    assert node.core.truncated_records == log[1] - truncated


@pytest.mark.rule("DIVERGE-5")
@pytest.mark.parametrize("diverging", [(0, 50), (9, 50)], ids=["epoch 0 past our end", "an epoch after all of ours"])
def test_follower_truncates_nothing_when_the_offset_is_past_its_log(diverging: tuple[int, int]) -> None:
    node = a_follower(of=2, epoch=9)

    effects = node.gets(fetch_response(epoch=9, leader=2, diverging=diverging), of=2)

    assert effects == [sends(our_fetch(epoch=9), to=2)]


@pytest.mark.rule("DIVERGE-7")
@pytest.mark.parametrize(("point", "stops"), [((3, 7), True), ((3, 8), False)], ids=["below", "exactly there"])
def test_follower_stops_rather_than_truncate_below_its_high_watermark(point: tuple[int, int], stops: bool) -> None:
    node = a_follower(of=2, epoch=5, high_watermark=8)

    effects = node.gets(fetch_response(epoch=5, leader=2, diverging=point), of=2)

    if stops:
        reason = "the leader's log diverges from ours at 7, below the high watermark 8: committed records would be lost"
        assert effects == [halts(HaltCause.COMMITTED_RECORDS_LOST, reason)]
        assert node.core.log.end_offset == 10
    else:
        assert effects[0] == truncates(8)


@pytest.mark.rule("DIVERGE-7", "LOG-21")
def test_follower_stops_rather_than_truncate_below_what_it_knew_to_be_committed_before_its_start() -> None:
    node = a_node(epoch=5, leader=2, known_committed=8)
    node.count_from_here()

    effects = node.gets(fetch_response(epoch=5, leader=2, diverging=(3, 7)), of=2)

    reason = "the leader's log diverges from ours at 7, below the high watermark 8: committed records would be lost"
    assert effects == [halts(HaltCause.COMMITTED_RECORDS_LOST, reason)]
    assert node.high_watermark is None, "it is a lower bound, not the high watermark"


@pytest.mark.rule("LOG-21")
def test_node_counts_as_committed_on_its_disk_only_what_is_both() -> None:
    node = a_follower(of=2, epoch=5, high_watermark=8)
    assert node.core.durable_high_watermark == 8

    node.gets(fetch_response(epoch=5, leader=2, diverging=(3, 8)), of=2)
    node.gets(fetch_response(epoch=5, leader=2, batches=[batch(8, epoch=5, records=3)], high_watermark=11), of=2)

    assert (node.high_watermark, node.core.durable_high_watermark) == (11, 8)
    node.has_flushed()
    assert node.core.durable_high_watermark == 11


@pytest.mark.rule("FETCH-25", "HW-7")
def test_follower_waits_for_the_new_flush_when_an_old_one_reports_after_a_truncation() -> None:
    node = a_follower(of=2, epoch=5)
    node.gets(fetch_response(epoch=5, leader=2, batches=[batch(10, epoch=4, records=3)]), of=2)
    old = node.last_flush
    node.has_flushed()
    node.gets(fetch_response(epoch=5, leader=2, diverging=(3, 10)), of=2)
    node.gets(fetch_response(epoch=5, leader=2, batches=[batch(10, epoch=5, records=3)]), of=2)

    assert node.handle(old, now_ms=100) == []
    assert node.core.durable_end == 10
    assert node.has_flushed() == [sends(our_fetch(epoch=5, log_end=(5, 13)), to=2, number=2)]


# Responses without anything for a follower


@pytest.mark.rule("TIMER-2", "PREVOTE-9", "PREVOTE-10")
@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.BROKER_NOT_AVAILABLE], ids=lambda error: error.name
)
def test_error_does_not_extend_the_fetch_timeout(error: ErrorCode) -> None:
    node = a_follower(of=2, epoch=5)

    node.gets(fetch_response(epoch=5, leader=2, error=error), of=2, now_ms=300)

    assert node.role == follower(of=2, epoch=5, until=2000, has_fetched=False)


@pytest.mark.rule("TIMER-2", "SCENARIO-41", "BEGIN-8")
def test_follower_starts_a_pre_vote_when_its_leader_announces_itself_but_sends_no_fetch_response() -> None:
    node = a_follower(of=2, epoch=5, has_fetched=True)

    for now_ms in (500, 1000, 1500):
        node.receives(begin_request(epoch=5, leader=2), now_ms=now_ms)
    node.waits(until=2000)

    assert node.role_name == "Prospective"


@pytest.mark.rule("GEN-9")
def test_follower_ignores_a_response_that_names_no_leader() -> None:
    node = a_follower(of=2, epoch=5)
    before = node.role

    effects = node.gets(fetch_response(epoch=5, leader=None, batches=[batch(10, epoch=5)]), of=2)

    assert effects == [sends(our_fetch(epoch=5), to=3)]
    assert node.role == before


@pytest.mark.rule("PREVOTE-10", "TIMER-2")
def test_offered_snapshot_counts_as_contact_from_the_leader() -> None:
    node = a_follower(of=2, epoch=5)

    node.gets(fetch_response(epoch=5, leader=2, snapshot=(3, 100)), of=2, now_ms=300)

    assert isinstance(node.role, Follower)
    assert node.role.loading == Loading(snapshot=point(3, 100))
    assert replace(node.role, loading=None) == follower(of=2, epoch=5, until=2300, has_fetched=True)


# The first response of a leader that was not known


@pytest.mark.rule("FETCH-27", "GEN-9", "STATE-5")
def test_unattached_node_follows_and_appends_with_the_same_response() -> None:
    node = an_unattached(epoch=5)
    before = node.role
    record = batch(10, epoch=5)

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=[record], high_watermark=10), of=2, now_ms=300)

    followed = follower(of=2, epoch=5, until=2300)
    assert effects == [
        stores(epoch=5, leader=2),
        becomes(followed, was=before, reason="Fetch response of node 2 names leader 2 of epoch 5"),
        appends(record),
        flushes(11),
    ]
    assert node.role == follower(of=2, epoch=5, until=2300, has_fetched=True)
    assert node.high_watermark == 10


@pytest.mark.rule("GEN-9")
def test_node_appends_no_records_of_a_response_of_a_higher_epoch() -> None:
    node = an_unattached(epoch=5)

    effects = node.gets(fetch_response(epoch=6, leader=2, batches=[batch(10, epoch=5)]), of=2, now_ms=300)

    assert effects[-1] == sends(our_fetch(epoch=6), to=2)
    assert node.core.log.end_offset == 10


@pytest.mark.rule("ROLE-7", "FETCH-1", "FETCH-25")
def test_observer_follows_and_flushes_like_a_voter_but_has_no_fetch_timeout() -> None:
    node = a_follower(of=2, epoch=5, voters=(2, 3))
    record = batch(10, epoch=5)

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=[record]), of=2, now_ms=300)

    assert effects == [appends(record), flushes(11)]
    assert node.role == follower(of=2, epoch=5, until=None, has_fetched=True)


@pytest.mark.rule("PREVOTE-10", "SCENARIO-6")
def test_follower_that_returned_to_its_leader_grants_pre_votes_until_the_next_fetch() -> None:
    node = a_follower(of=2, epoch=5, has_fetched=True)
    node.waits(until=2000)
    node.waits(until=3000)
    assert node.role == follower(of=2, epoch=5, until=5000, has_fetched=False)
    granted = vote_response(epoch=5, leader=2, granted=True)
    assert node.receives(pre_vote_request(epoch=5, by=3), now_ms=3000) == [replies(granted)]

    node.gets(fetch_response(epoch=5, leader=2), of=2, now_ms=3000)

    refused = vote_response(epoch=5, leader=2)
    assert node.receives(pre_vote_request(epoch=5, by=3), now_ms=3000) == [replies(refused)]
