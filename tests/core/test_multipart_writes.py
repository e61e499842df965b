"""A driver commits a write whose tasks have appended its parts (rules TXN-1, TXN-2, TXN-6)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from raft.core import transactions
from raft.core.effects import Effect
from raft.core.events import AppendsRequested, Event, ResignRequested, SnapshotDue
from raft.errors import ErrorCode
from raft.transactions import AbortedTransaction
from raft.types import Batch, BatchHeader, ControlType, Epoch, Offset, WritePart
from raft.writers import WriteId
from tests.core.builder import Node, a_follower, a_leader, a_log
from tests.core.orders import appends, flushes, opens_epoch, reads, replies
from tests.core.transactional import (
    KEY,
    OTHER_PART,
    PART,
    THIRD_PART,
    WRITE,
    commit_of_write,
    confirmed,
    data,
    ends,
    marker,
    part,
    placed,
    sent,
)
from tests.core.wording import append_of, append_response, client_fetch, fetch_request, fetch_response, vote_response

COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


def leader_with(*parts: Batch) -> Node:
    """A leader in whose log these batches are committed from offset 11 on."""
    node = a_leader(epoch=5, high_watermark_known=True)
    for batch in parts:
        node.handle(sent(batch, request_id=1), now_ms=100)
    is_committed(node)
    return node.count_from_here()


def is_committed(node: Node, *, now_ms: int = 100) -> list[Effect]:
    """Everything in the log is flushed here and at voter 2."""
    node.has_flushed(now_ms=now_ms)
    end = node.core.log.end
    fetch = fetch_request(by=2, epoch=end.epoch, offset=end.offset, last_epoch=end.epoch, max_wait_ms=0)
    return node.receives(fetch, now_ms=now_ms, request_id=99)


@pytest.mark.rule("TXN-6")
def test_part_is_appended_and_acknowledged_when_it_is_committed() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    effects = node.handle(sent(data(PART, records=3, content=9)), now_ms=100)

    assert effects == [appends(data(PART, records=3, content=9, at=11, epoch=5)), flushes(14)]
    assert replies(append_response(epoch=5, base_offset=11)) in is_committed(node)


@pytest.mark.rule("TXN-2", "TXN-6")
def test_commit_ends_all_parts_in_one_append_and_is_acknowledged_with_the_last_marker() -> None:
    node = leader_with(data(PART, records=2), data(OTHER_PART), data(THIRD_PART))
    commit = commit_of_write(part(PART, records=2), part(THIRD_PART))

    effects = node.handle(sent(commit, transactional_id=None), now_ms=200)

    lost = AbortedTransaction(
        producer_id=OTHER_PART, first_offset=Offset(13), last_offset=Offset(15), last_stable_offset=Offset(11)
    )
    assert effects == [
        appends(
            marker(ABORT, OTHER_PART, at=15, epoch=5),
            placed(commit, at=16, epoch=5),
            marker(COMMIT, PART, at=17, epoch=5),
            marker(COMMIT, THIRD_PART, at=18, epoch=5),
            aborted=(lost,),
        ),
        flushes(19),
    ]
    node.has_flushed(now_ms=200)
    too_early = fetch_request(by=2, epoch=5, offset=18, last_epoch=5, max_wait_ms=0)
    assert len(node.receives(too_early, now_ms=200, request_id=99)) == 1
    assert node.core.last_stable_offset == 11
    assert replies(append_response(epoch=5, base_offset=16)) in is_committed(node)
    assert node.core.last_stable_offset == 19


@pytest.mark.rule("TXN-1")
def test_client_that_reads_committed_transactions_waits_for_the_end_of_the_write() -> None:
    node = leader_with(data(PART, records=2))

    assert node.receives(client_fetch(11, read_committed=True), now_ms=200, request_id=5) == []
    (answer,) = node.receives(client_fetch(11), now_ms=200, request_id=6)
    response = fetch_response(epoch=5, leader=1, high_watermark=13, last_stable_offset=11)
    assert answer == replies(response, read=reads(11, 13), to=6)

    node.handle(sent(commit_of_write(part(PART, records=2)), transactional_id=None), now_ms=210)
    effects = is_committed(node, now_ms=220)

    response = fetch_response(epoch=5, leader=1, high_watermark=15)
    assert replies(response, read=reads(11, 15), to=5) in effects


@pytest.mark.rule("TXN-1")
def test_other_appends_do_not_wake_a_client_whose_records_are_not_stable() -> None:
    node = leader_with(data(PART))
    node.receives(client_fetch(11, read_committed=True), now_ms=200, request_id=5)

    node.handle(append_of(request_id=6), now_ms=210)
    effects = is_committed(node, now_ms=220)

    assert [effect for effect in effects if getattr(effect, "request_id", None) == 5] == []


@pytest.mark.rule("TXN-6")
@pytest.mark.parametrize("again", ["the same append", "a later request"])
def test_repeated_commit_is_acknowledged_and_appended_once(again: str) -> None:
    node = leader_with(data(PART))
    commit = sent(commit_of_write(part(PART)), transactional_id=None, request_id=1)
    repeated = sent(commit_of_write(part(PART)), transactional_id=None, request_id=2)
    if again == "the same append":
        node.handle(AppendsRequested(appends=(commit, repeated)), now_ms=200)
        effects = is_committed(node)
    else:
        node.handle(commit, now_ms=200)
        is_committed(node)
        effects = node.handle(repeated, now_ms=300)

    assert replies(append_response(epoch=5, base_offset=12), to=2) in effects
    assert node.core.log.end_offset == 14


@pytest.mark.rule("TXN-6", "CLIENT-11")
def test_commit_of_other_rows_under_a_written_key_is_refused() -> None:
    node = leader_with(data(PART, content=1))
    node.handle(sent(commit_of_write(part(PART, content=1)), transactional_id=None), now_ms=200)
    is_committed(node)

    (refusal,) = node.handle(sent(commit_of_write(part(PART, content=2)), transactional_id=None), now_ms=300)

    message = (
        f"version 3 of producer id {KEY.producer_id} was written at offset 12 with record count 1; the batch that came "
        "has the same record count, but other records"
    )
    assert refusal == replies(
        append_response(epoch=5, base_offset=12, error=ErrorCode.DUPLICATE_RESOURCE, message=message)
    )


@pytest.mark.rule("TXN-6", "CLIENT-11")
def test_write_in_one_batch_and_in_parts_are_the_same_write() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    small = append_of(records=3, producer=(KEY.producer_id, 0, 3), request_id=1)
    node.handle(small, now_ms=100)
    is_committed(node)

    commit = commit_of_write(part(PART, records=1), part(OTHER_PART, records=2))
    effects = node.handle(sent(commit, transactional_id=None, request_id=2), now_ms=200)

    assert effects == [replies(append_response(epoch=5, base_offset=11), to=2)]


@pytest.mark.rule("TXN-6")
def test_small_write_aborts_the_open_parts_of_the_same_write_and_of_no_other() -> None:
    other = WriteId(KEY.producer_id, 4)
    stranger = other.part_producer_id(1)
    node = leader_with(data(PART))
    node.handle(sent(data(stranger), transactional_id=other.transactional_id), now_ms=100)
    node.count_from_here()

    effects = node.handle(append_of(producer=(KEY.producer_id, 0, 3)), now_ms=200)

    assert [batch.header.producer_id for batch in effects[0].batches] == [PART, KEY.producer_id]  # type: ignore[union-attr]
    assert list(node.core.transactions.transactions) == [stranger]


@pytest.mark.rule("TXN-6")
@pytest.mark.parametrize("version", [3, 2], ids=["this write", "an older one"])
def test_part_of_a_write_that_is_in_the_log_is_refused_once_that_is_committed(version: int) -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(producer=(KEY.producer_id, 0, 3), request_id=1), now_ms=100)
    write = WriteId(KEY.producer_id, version)
    late = sent(data(write.part_producer_id(1)), transactional_id=write.transactional_id, request_id=2)

    assert node.handle(late, now_ms=110) == []

    refusal = append_response(epoch=5, base_offset=11, error=ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
    assert replies(refusal, to=2) in is_committed(node)
    assert not node.core.transactions.transactions


@pytest.mark.rule("TXN-6")
@pytest.mark.parametrize(
    ("batch", "error"),
    [
        pytest.param(data(PART, sequence=3), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, id="its first batch is missing"),
        pytest.param(
            data(WriteId(KEY.producer_id, 9).part_producer_id(1)),
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            id="a part of another write",
        ),
        pytest.param(data(7), ErrorCode.INVALID_PRODUCER_ID_MAPPING, id="a producer of Kafka"),
    ],
)
def test_batch_that_is_not_the_next_one_of_a_part_is_refused(batch: Batch, error: ErrorCode) -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    (answer,) = node.handle(sent(batch), now_ms=100)

    assert answer.response.error == error  # type: ignore[union-attr]
    assert node.core.log.end_offset == 11


@pytest.mark.rule("TXN-6")
def test_repeated_batch_of_a_part_is_appended_once() -> None:
    node = leader_with(data(PART, records=2))

    effects = node.handle(sent(data(PART, records=2)), now_ms=200)

    assert effects == [replies(append_response(epoch=5, base_offset=11))]
    assert node.core.transactions.transactions[PART].record_count == 2


@pytest.mark.rule("TXN-6", "TXN-11")
@pytest.mark.parametrize(
    ("parts", "error", "reason"),
    [
        pytest.param([part(OTHER_PART)], ErrorCode.INVALID_TXN_STATE, "is not open", id="a part that is not open"),
        pytest.param([part(PART, records=3)], ErrorCode.INVALID_TXN_STATE, "has 2 records", id="too few records"),
        pytest.param([part(PART, records=2, content=1)], ErrorCode.INVALID_TXN_STATE, "checksum", id="other records"),
        pytest.param([part(PART, records=2)] * 2, ErrorCode.INVALID_RECORD, "names a part twice", id="named twice"),
        pytest.param([part(7)], ErrorCode.INVALID_TXN_STATE, "is not open", id="a producer of Kafka"),
    ],
)
def test_commit_is_refused_when_its_parts_are_not_all_there(
    parts: list[WritePart], error: ErrorCode, reason: str
) -> None:
    node = leader_with(data(PART, records=2))

    assert node.handle(sent(commit_of_write(*parts), transactional_id=None), now_ms=200) == []
    (answer,) = confirmed(node)

    assert answer.response.error == error  # type: ignore[union-attr]
    assert reason in answer.response.message  # type: ignore[union-attr,operator]
    assert node.core.log.end_offset == 13


@pytest.mark.rule("TXN-6")
def test_commit_with_a_part_of_another_write_is_refused() -> None:
    other = WriteId(KEY.producer_id, 4)
    stranger = other.part_producer_id(1)
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(sent(data(stranger), transactional_id=other.transactional_id), now_ms=100)
    is_committed(node)

    node.handle(sent(commit_of_write(part(stranger)), transactional_id=None), now_ms=200)
    (answer,) = confirmed(node)

    assert answer.response.error == ErrorCode.INVALID_TXN_STATE  # type: ignore[union-attr]


@pytest.mark.rule("TXN-11")
@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(sent(commit_of_write(part(PART)), transactional_id=None), id="commit"),
        pytest.param(ends(ABORT, transactional_id=WRITE.transactional_id), id="abort"),
    ],
)
def test_replaced_leader_without_the_parts_of_a_write_lets_its_successor_decide(request_: Event) -> None:
    node = leader_with()

    assert node.handle(request_, now_ms=200) == []
    effects = node.handle(ResignRequested(epoch=Epoch(5)), now_ms=300)

    assert replies(append_response(epoch=5, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)) in effects


@pytest.mark.rule("READ-3", "TXN-11")
def test_refusal_of_a_leader_that_is_not_confirmed_in_time_is_not_final() -> None:
    node = leader_with()
    node.handle(sent(commit_of_write(part(PART)), transactional_id=None, timeout_ms=100), now_ms=200)

    assert replies(append_response(epoch=5, error=ErrorCode.REQUEST_TIMED_OUT)) in node.waits(until=300)


@pytest.mark.rule("TXN-2", "TXN-7")
def test_new_leader_completes_the_commit_of_the_former_one_before_it_accepts_anything() -> None:
    log: Iterable[BatchHeader] = (
        data(PART, at=7, epoch=3).header,
        data(OTHER_PART, at=8, epoch=3).header,
        commit_of_write(part(PART), part(OTHER_PART), at=9, epoch=3).header,
    )
    node = a_leader(epoch=5, log=a_log([(3, 0)], 10), headers=log)

    at = node.history.index(opens_epoch(5, at=10, granted_by=(1, 2)))
    assert node.history[at + 1 : at + 3] == [
        appends(marker(COMMIT, PART, at=11, epoch=5), marker(COMMIT, OTHER_PART, at=12, epoch=5)),
        flushes(13, number=node.last_flush.number),
    ]
    repeated = sent(commit_of_write(part(PART), part(OTHER_PART)), transactional_id=None)
    assert node.handle(repeated, now_ms=100) == []
    assert replies(append_response(epoch=5, base_offset=9)) in is_committed(node)
    assert node.core.last_stable_offset == 13


@pytest.mark.rule("TXN-8")
def test_part_that_is_open_for_too_long_is_aborted_and_reported() -> None:
    node = a_leader(epoch=5, high_watermark_known=True, voters=(1,))
    node.handle(sent(data(PART, records=2), timeout_ms=10), now_ms=100)
    node.has_flushed(now_ms=100)
    node.handle(sent(data(PART, sequence=2), timeout_ms=10), now_ms=800_000)
    node.has_flushed(now_ms=800_000)
    node.count_from_here()

    assert node.waits(until=900_099) == []
    report, append, flush = node.waits(until=900_100)

    assert f"transaction of producer id {PART} is aborted" in report.message  # type: ignore[union-attr]
    lost = AbortedTransaction(
        producer_id=PART, first_offset=Offset(11), last_offset=Offset(14), last_stable_offset=Offset(15)
    )
    assert [append, flush] == [appends(marker(ABORT, PART, at=14, epoch=5), aborted=(lost,)), flushes(15)]
    node.has_flushed(now_ms=900_110)
    (late,) = node.handle(sent(commit_of_write(part(PART, records=3)), transactional_id=None), now_ms=900_200)
    assert late.response.error == ErrorCode.INVALID_TXN_STATE  # type: ignore[union-attr]


@pytest.mark.rule("TXN-8")
def test_new_leader_gives_the_open_parts_a_whole_timeout() -> None:
    node = a_leader(epoch=5, voters=(1,), headers=[data(PART, at=9, epoch=3).header])

    assert node.waits(until=899_999) == []
    assert len(node.waits(until=900_000)) == 3


@pytest.mark.rule("TXN-4")
def test_driver_that_gives_up_aborts_all_parts_of_its_write() -> None:
    node = leader_with(data(PART), data(OTHER_PART))

    effects = node.handle(ends(ABORT, transactional_id=WRITE.transactional_id), now_ms=200)

    assert [batch.header.producer_id for batch in effects[0].batches] == [PART, OTHER_PART]  # type: ignore[union-attr]
    assert replies(append_response(epoch=5)) in is_committed(node)
    assert node.handle(ends(ABORT, transactional_id=WRITE.transactional_id), now_ms=300) == []
    assert confirmed(node, now_ms=300) == [replies(append_response(epoch=5))]


@pytest.mark.rule("TXN-4")
def test_write_is_not_committed_by_the_request_of_a_producer() -> None:
    node = leader_with(data(PART))

    (answer,) = node.handle(ends(COMMIT, transactional_id=WRITE.transactional_id), now_ms=200)

    assert answer.response.error == ErrorCode.INVALID_TXN_STATE  # type: ignore[union-attr]


def test_too_many_open_transactions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MAX_OPEN_TRANSACTIONS", 1)
    node = leader_with(data(PART))

    (refused,) = node.handle(sent(data(OTHER_PART)), now_ms=200)

    assert refused.response.error == ErrorCode.POLICY_VIOLATION  # type: ignore[union-attr]
    assert len(node.handle(sent(data(PART, sequence=1)), now_ms=200)) == 2


@pytest.mark.rule("TXN-1")
def test_follower_serves_committed_transactions_up_to_its_own_last_stable_offset() -> None:
    node = a_follower(of=2, epoch=5)
    batches = [data(PART, at=10, epoch=5, records=2), placed(data(7), at=12, epoch=5)]
    node.gets(fetch_response(epoch=5, leader=2, batches=batches, high_watermark=13), of=2, now_ms=100)

    assert node.receives(client_fetch(10, read_committed=True), now_ms=110, request_id=5) == []
    end = marker(COMMIT, PART, at=13, epoch=5)
    batches = [Batch(header=end.header, payload=b"")]
    node.has_flushed(now_ms=120)
    effects = node.gets(fetch_response(epoch=5, leader=2, batches=batches, high_watermark=14), of=2, now_ms=130)

    response = fetch_response(epoch=5, leader=2, high_watermark=14, last_stable_offset=12)
    assert replies(response, read=reads(10, 12), to=5) in effects


@pytest.mark.rule("TXN-2")
def test_snapshot_does_not_end_between_the_markers_of_a_write() -> None:
    node = a_follower(of=2, epoch=5)
    commit = commit_of_write(part(PART, records=2), part(OTHER_PART), at=13, epoch=5)
    batches = [data(PART, at=10, epoch=5, records=2), data(OTHER_PART, at=12, epoch=5), commit]
    ends_of_parts = [
        Batch(header=marker(COMMIT, producer_id, at=at, epoch=5).header, payload=b"")
        for at, producer_id in ((14, PART), (15, OTHER_PART))
    ]
    ordered = []
    for batch in (*batches, *ends_of_parts):
        node.gets(fetch_response(epoch=5, leader=2, batches=[batch]), of=2, now_ms=100)
        node.has_flushed(now_ms=100)
        ordered.append([effect.producers.end_offset for effect in node.handle(SnapshotDue(), now_ms=110)])  # type: ignore[union-attr]

    assert ordered == [[12], [13], [14], [], [16]]


def test_votes_are_needed_before_anything_is_completed() -> None:
    log = (data(PART, at=8, epoch=3).header, commit_of_write(part(PART), at=9, epoch=3).header)
    node = a_follower(of=2, epoch=5, headers=log)

    node.waits(until=2000)
    node.gets(vote_response(epoch=5, granted=True), of=3, now_ms=2000)

    assert node.core.log.end_offset == 10
    assert node.core.transactions.unmarked_count == 1
