"""Producers with a transactional id (rules TXN-3, TXN-4, TXN-5, TXN-8)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core.effects import Effect
from raft.core.events import ResignRequested
from raft.core.transactions import ABORTED_AT_ONCE
from raft.errors import ErrorCode
from raft.transactions import AbortedTransaction, TransactionalProducer
from raft.types import Batch, ControlType, Epoch, Offset
from tests.core.builder import Node, a_follower, a_leader
from tests.core.orders import appends, flushes, replies
from tests.core.transactional import NAME, PRODUCER, WRITE, confirmed, data, ends, inits, marker, names, placed, sent
from tests.core.wording import append_of, append_response, fetch_request

COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


def is_committed(node: Node, *, now_ms: int = 100) -> list[Effect]:
    """Everything in the log is flushed here and at voter 2."""
    node.has_flushed(now_ms=now_ms)
    end = node.core.log.end
    fetch = fetch_request(by=2, epoch=end.epoch, offset=end.offset, last_epoch=end.epoch, max_wait_ms=0)
    return node.receives(fetch, now_ms=now_ms, request_id=99)


def a_leader_with_producer() -> Node:
    """The producer has epoch 0; its TRANSACTIONAL_ID record is committed at offset 11."""
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(inits(), now_ms=100)
    is_committed(node)
    return node.count_from_here()


def a_leader_with_transaction() -> Node:
    """The producer has an open transaction with two records from offset 12 on."""
    node = a_leader_with_producer()
    node.handle(sent(data(PRODUCER, records=2), transactional_id=NAME), now_ms=100)
    is_committed(node)
    return node.count_from_here()


def producer(
    epoch: int, *, at: int, producer_id: int = PRODUCER, previous: tuple[int, int] | None = None, timeout_ms: int = 1000
) -> TransactionalProducer:
    return TransactionalProducer(
        name=NAME,
        producer_id=producer_id,
        producer_epoch=epoch,
        timeout_ms=timeout_ms,
        previous=previous,
        used_at=Offset(at),
    )


def error_of(effect: Effect) -> int:
    return effect.response.error  # type: ignore[union-attr]


@pytest.mark.rule("TXN-3")
def test_first_producer_of_a_transactional_id_gets_a_new_producer_id_when_that_is_committed() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    effects = node.handle(inits(), now_ms=100)

    assert effects == [appends(names(PRODUCER, 0, at=11, epoch=5)), flushes(12)]
    expected = replies(append_response(epoch=5, producer=producer(0, at=11)))
    assert expected in is_committed(node)


@pytest.mark.rule("TXN-3")
def test_next_producer_fences_the_one_before_and_aborts_its_transaction() -> None:
    node = a_leader_with_transaction()

    effects = node.handle(inits(new_producer_id=99), now_ms=200)

    lost = AbortedTransaction(
        producer_id=PRODUCER, first_offset=Offset(12), last_offset=Offset(14), last_stable_offset=Offset(15)
    )
    assert effects == [
        appends(
            marker(ABORT, PRODUCER, at=14, epoch=5, producer_epoch=1),
            names(PRODUCER, 1, at=15, epoch=5),
            aborted=(lost,),
        ),
        flushes(16),
    ]
    assert replies(append_response(epoch=5, producer=producer(1, at=15))) in is_committed(node)
    (zombie,) = node.handle(sent(data(PRODUCER, sequence=2), transactional_id=NAME), now_ms=300)
    assert error_of(zombie) == ErrorCode.INVALID_PRODUCER_EPOCH
    (zombie,) = node.handle(ends(COMMIT), now_ms=300)
    assert error_of(zombie) == ErrorCode.PRODUCER_FENCED


@pytest.mark.rule("TXN-3")
def test_producer_that_asks_for_the_next_epoch_gets_the_same_one_when_it_asks_again() -> None:
    node = a_leader_with_producer()

    effects = node.handle(inits(present=(PRODUCER, 0)), now_ms=200)

    assert effects[0] == appends(names(PRODUCER, 1, at=12, epoch=5, previous=(PRODUCER, 0)))
    is_committed(node)
    again = append_response(epoch=5, producer=producer(1, at=12, previous=(PRODUCER, 0)))
    assert node.handle(inits(present=(PRODUCER, 0)), now_ms=300) == [replies(again)]


@pytest.mark.rule("TXN-3")
def test_producer_that_was_fenced_does_not_get_the_next_epoch() -> None:
    node = a_leader_with_producer()
    node.handle(inits(), now_ms=200)
    is_committed(node)

    assert [error_of(each) for each in node.handle(inits(present=(PRODUCER, 0)), now_ms=300)] == [
        ErrorCode.PRODUCER_FENCED
    ]
    assert [error_of(each) for each in node.handle(inits(present=(8, 1)), now_ms=300)] == [ErrorCode.PRODUCER_FENCED]


@pytest.mark.rule("TXN-3")
def test_producer_gets_a_new_id_when_the_epochs_are_used_up() -> None:
    log = [names(PRODUCER, 32_766, at=9, epoch=3).header]
    node = a_leader(epoch=5, headers=log)

    effects = node.handle(inits(new_producer_id=99, present=(PRODUCER, 32_766)), now_ms=100)

    assert effects[0] == appends(names(99, 0, at=11, epoch=5, previous=(PRODUCER, 32_766)))


@pytest.mark.rule("TXN-3")
@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_transaction_timeout_must_be_within_the_maximum(timeout_ms: int) -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    (refused,) = node.handle(inits(transaction_timeout_ms=timeout_ms), now_ms=100)

    assert error_of(refused) == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert node.core.log.end_offset == 11


@pytest.mark.rule("TXN-3", "TXN-4")
def test_only_the_leader_serves_transactions() -> None:
    node = a_follower(of=2, epoch=5)

    for event in (inits(), ends(COMMIT)):
        assert [error_of(each) for each in node.handle(event, now_ms=100)] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


@pytest.mark.rule("TXN-4")
@pytest.mark.parametrize("end", [COMMIT, ABORT])
def test_producer_ends_its_transaction_and_may_ask_again(end: ControlType) -> None:
    node = a_leader_with_transaction()

    effects = node.handle(ends(end, request_id=1), now_ms=200)

    assert effects[0].batches == (marker(end, PRODUCER, at=14, epoch=5),)  # type: ignore[union-attr]
    assert node.core.last_stable_offset == 12
    assert node.handle(ends(end, request_id=2), now_ms=200) == []
    done = append_response(epoch=5, producer=producer(0, at=14))
    assert replies(done, to=1) in is_committed(node)
    assert confirmed(node) == [replies(done, to=2)]
    assert node.core.last_stable_offset == 15
    assert node.core.deadline_ms is not None


@pytest.mark.rule("TXN-4")
@pytest.mark.parametrize("end", [COMMIT, ABORT])
def test_newer_producer_goes_on_with_the_next_epoch_and_may_ask_again(end: ControlType) -> None:
    node = a_leader_with_transaction()

    effects = node.handle(ends(end, request_id=1, new_producer_id=99), now_ms=200)

    assert effects[0].batches == (marker(end, PRODUCER, at=14, epoch=5, producer_epoch=1),)  # type: ignore[union-attr]
    node.handle(ends(end, request_id=2, new_producer_id=99), now_ms=200)
    bumped = append_response(epoch=5, producer=replace(producer(1, at=14, previous=(PRODUCER, 0)), last_end=end))
    assert replies(bumped, to=1) in is_committed(node)
    assert confirmed(node) == [replies(bumped, to=2)]
    other = ABORT if end is COMMIT else COMMIT
    (refused,) = node.handle(ends(other, new_producer_id=99), now_ms=300)
    assert error_of(refused) == ErrorCode.PRODUCER_FENCED
    late = sent(data(PRODUCER, sequence=2), transactional_id=NAME)
    assert [error_of(each) for each in node.handle(late, now_ms=300)] == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert len(node.handle(sent(data(PRODUCER, producer_epoch=1), transactional_id=NAME), now_ms=300)) == 2


@pytest.mark.rule("TXN-4")
def test_newer_producer_goes_on_with_another_id_when_the_epochs_are_used_up() -> None:
    log = [names(PRODUCER, 32_766, at=8, epoch=3).header, data(PRODUCER, at=9, epoch=3, producer_epoch=32_766).header]
    node = a_leader(epoch=5, headers=log)
    request = ends(COMMIT, producer_epoch=32_766, new_producer_id=99, request_id=1)

    effects = node.handle(request, now_ms=100)

    assert effects[0] == appends(
        marker(COMMIT, PRODUCER, at=11, epoch=5, producer_epoch=32_767),
        names(99, 0, at=12, epoch=5, previous=(PRODUCER, 32_766)),
    )
    node.handle(replace(request, request_id=2), now_ms=110)
    renewed = replace(producer(0, at=12, producer_id=99, previous=(PRODUCER, 32_766)), last_end=COMMIT)
    assert replies(append_response(epoch=5, producer=renewed), to=1) in is_committed(node)
    assert confirmed(node) == [replies(append_response(epoch=5, producer=renewed), to=2)]


@pytest.mark.rule("TXN-3", "TXN-8")
def test_producer_whose_transaction_timed_out_goes_on_with_the_next_epoch() -> None:
    node = a_leader(epoch=5, voters=(1,))
    node.handle(inits(), now_ms=100)
    node.handle(sent(data(PRODUCER), transactional_id=NAME, timeout_ms=10), now_ms=200)
    node.has_flushed(now_ms=200)
    node.waits(until=1200)
    node.has_flushed(now_ms=1200)

    (answer,) = node.handle(inits(present=(PRODUCER, 0)), now_ms=1300)

    assert answer.response.producer.identity == (PRODUCER, 1)  # type: ignore[union-attr]


@pytest.mark.rule("TXN-4")
@pytest.mark.parametrize(
    ("by", "epoch", "error"),
    [
        pytest.param(8, 0, ErrorCode.INVALID_PRODUCER_ID_MAPPING, id="another producer"),
        pytest.param(PRODUCER, 1, ErrorCode.PRODUCER_FENCED, id="another epoch"),
    ],
)
def test_transaction_is_not_ended_by_others(by: int, epoch: int, error: ErrorCode) -> None:
    node = a_leader_with_transaction()

    assert [error_of(each) for each in node.handle(ends(COMMIT, by=by, producer_epoch=epoch), now_ms=200)] == [error]


@pytest.mark.rule("TXN-4", "TXN-11")
@pytest.mark.parametrize("end", [COMMIT, ABORT])
def test_replaced_leader_does_not_acknowledge_the_end_of_a_transaction_that_it_does_not_have(end: ControlType) -> None:
    node = a_leader_with_producer()

    assert node.handle(ends(end), now_ms=200) == []
    effects = node.handle(ResignRequested(epoch=Epoch(5)), now_ms=300)

    assert replies(append_response(epoch=5, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)) in effects


@pytest.mark.rule("TXN-4")
def test_end_without_a_known_transactional_id_is_refused() -> None:
    node = a_leader(epoch=5)

    assert [error_of(each) for each in node.handle(ends(ABORT), now_ms=200)] == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]


@pytest.mark.rule("TXN-4")
def test_operator_aborts_a_transaction_by_producer_id_and_its_producer_is_fenced() -> None:
    node = a_leader_with_transaction()

    effects = node.handle(ends(ABORT, transactional_id=None), now_ms=200)

    assert effects[0].batches == (marker(ABORT, PRODUCER, at=14, epoch=5, producer_epoch=1),)  # type: ignore[union-attr]
    is_committed(node)
    assert [error_of(each) for each in node.handle(ends(COMMIT), now_ms=300)] == [ErrorCode.PRODUCER_FENCED]
    assert node.handle(ends(ABORT, transactional_id=None), now_ms=300) == []
    assert confirmed(node, now_ms=300) == [replies(append_response(epoch=5))]
    assert [error_of(each) for each in node.handle(ends(COMMIT, transactional_id=None), now_ms=300)] == [
        ErrorCode.INVALID_TXN_STATE
    ]


@pytest.mark.rule("TXN-5")
@pytest.mark.parametrize(
    ("batch", "name", "error"),
    [
        pytest.param(data(PRODUCER), None, ErrorCode.INVALID_TXN_STATE, id="no transactional id"),
        pytest.param(data(8), NAME, ErrorCode.INVALID_PRODUCER_ID_MAPPING, id="another producer"),
        pytest.param(data(PRODUCER), "stocks", ErrorCode.INVALID_PRODUCER_ID_MAPPING, id="an unknown name"),
        pytest.param(data(PRODUCER, producer_epoch=1), NAME, ErrorCode.INVALID_PRODUCER_EPOCH, id="another epoch"),
        pytest.param(
            data(PRODUCER, sequence=5), NAME, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, id="a batch before is missing"
        ),
    ],
)
def test_batch_of_a_transaction_is_refused_unless_it_is_the_producers_next(
    batch: Batch, name: str | None, error: ErrorCode
) -> None:
    node = a_leader_with_producer()

    assert [error_of(each) for each in node.handle(sent(batch, transactional_id=name), now_ms=200)] == [error]


@pytest.mark.rule("TXN-5")
def test_producer_with_a_transactional_id_cannot_write_outside_of_a_transaction() -> None:
    node = a_leader_with_producer()
    batch = append_of(producer=(PRODUCER, 0, 0))

    assert [error_of(each) for each in node.handle(batch, now_ms=200)] == [ErrorCode.INVALID_TXN_STATE]
    named = sent(batch.batch, transactional_id=NAME)
    assert [error_of(each) for each in node.handle(named, now_ms=200)] == [ErrorCode.INVALID_TXN_STATE]


@pytest.mark.rule("TXN-5")
def test_repeated_batch_of_a_transaction_is_appended_once() -> None:
    node = a_leader_with_transaction()

    effects = node.handle(sent(data(PRODUCER, records=2), transactional_id=NAME), now_ms=200)

    assert effects == [replies(append_response(epoch=5, base_offset=12))]


@pytest.mark.rule("TXN-8")
def test_transaction_is_aborted_after_its_own_timeout_and_its_producer_is_fenced() -> None:
    node = a_leader(epoch=5, voters=(1,))
    node.handle(inits(), now_ms=100)
    node.handle(sent(data(PRODUCER), transactional_id=NAME, timeout_ms=10), now_ms=200)
    node.has_flushed(now_ms=200)
    node.count_from_here()

    assert node.core.deadline_ms == 1200
    assert node.waits(until=1199) == []
    effects = node.waits(until=1200)

    assert effects[1].batches == (marker(ABORT, PRODUCER, at=13, epoch=5, producer_epoch=1),)  # type: ignore[union-attr]
    node.has_flushed(now_ms=1210)
    assert node.core.last_stable_offset == 14
    assert [error_of(each) for each in node.handle(ends(COMMIT), now_ms=1300)] == [ErrorCode.PRODUCER_FENCED]
    assert node.waits(until=5000) == []


@pytest.mark.rule("TXN-8")
def test_former_leader_aborts_nothing() -> None:
    node = a_leader_with_transaction()
    node.handle(ResignRequested(epoch=Epoch(5)), now_ms=200)

    node.waits(until=1150)

    assert node.core.log.end_offset == 14


def test_wait_for_the_commit_of_a_transaction_ends_with_its_timeout() -> None:
    node = a_leader_with_transaction()
    node.handle(ends(COMMIT), now_ms=200)

    assert replies(append_response(epoch=5, error=ErrorCode.REQUEST_TIMED_OUT)) in node.waits(until=700)


def test_batch_takes_the_offset_of_the_log_end() -> None:
    node = a_leader_with_producer()

    effects = node.handle(sent(data(PRODUCER, records=2), transactional_id=NAME), now_ms=200)

    assert effects == [appends(placed(data(PRODUCER, records=2), at=12, epoch=5)), flushes(14)]


@pytest.mark.rule("TXN-8")
def test_many_overdue_transactions_are_aborted_some_at_a_time() -> None:
    node = a_leader(epoch=5, voters=(1,))
    for number in range(ABORTED_AT_ONCE + 1):
        part = data(WRITE.part_producer_id(number))
        node.handle(sent(part, transactional_id=WRITE.transactional_id), now_ms=200)
    node.has_flushed(now_ms=200)
    overdue_ms = node.core.deadline_ms
    assert overdue_ms is not None

    node.waits(until=overdue_ms)
    left = len(node.core.transactions.transactions)
    is_due_again = node.core.deadline_ms == overdue_ms
    node.waits(until=overdue_ms)

    assert left == 1
    assert is_due_again
    assert not node.core.transactions.transactions
