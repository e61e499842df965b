from collections.abc import Iterable
from dataclasses import replace

import pytest

from raft.transactions import AbortedTransaction, CommitImage, TransactionTable
from raft.types import BatchHeader, ControlType, Offset
from tests.transactions.headers import (
    OTHER_PART,
    OTHER_WRITE,
    PART,
    PRODUCER,
    WRITE,
    abort,
    commit,
    data,
    part,
    transactional_id,
    write_commit,
)


def table_of(*log: BatchHeader, max_transactional_ids: int = 10) -> TransactionTable:
    table = TransactionTable(max_transactional_ids=max_transactional_ids)
    for header in log:
        table.appended(header)
    return table


def stable(table: TransactionTable, high_watermark: int) -> int:
    return table.last_stable_offset(Offset(high_watermark))


@pytest.mark.rule("TXN-1")
def test_last_stable_offset_is_the_high_watermark_when_no_transaction_is_open() -> None:
    assert stable(table_of(), 5) == 5


@pytest.mark.rule("TXN-1")
@pytest.mark.parametrize(
    ("log", "at", "expected"),
    [
        pytest.param([data(PRODUCER, 3)], 4, 3, id="open"),
        pytest.param([data(PRODUCER, 3)], 2, 2, id="begun above the high watermark"),
        pytest.param([data(PRODUCER, 3), data(PRODUCER, 4, sequence=1)], 5, 3, id="continued"),
        pytest.param([data(PRODUCER, 3), data(8, 4), commit(PRODUCER, 5)], 6, 4, id="another one is open"),
        pytest.param([data(PRODUCER, 3), commit(PRODUCER, 4)], 4, 3, id="its marker is not committed"),
        pytest.param([data(PRODUCER, 3), commit(PRODUCER, 4)], 5, 5, id="committed"),
        pytest.param([data(PRODUCER, 3), abort(PRODUCER, 4)], 5, 5, id="aborted"),
        pytest.param([commit(PRODUCER, 4)], 5, 5, id="a marker without a transaction"),
    ],
)
def test_last_stable_offset_is_the_begin_of_the_first_transaction_without_a_committed_marker(
    log: Iterable[BatchHeader], at: int, expected: int
) -> None:
    assert stable(table_of(*log), at) == expected


@pytest.mark.rule("TXN-2")
def test_last_stable_offset_stays_before_a_multipart_write_until_its_last_marker_is_committed() -> None:
    table = table_of(data(PART, 2), data(OTHER_PART, 3), write_commit(part(PART), part(OTHER_PART), at=4))

    table.appended(commit(OTHER_PART, 5))
    before_the_last_marker = stable(table, 6)
    table.appended(commit(PART, 6))

    assert before_the_last_marker == 2
    assert stable(table, 6) == 2
    assert stable(table, 7) == 7
    assert table.ends_committed_at == 7


@pytest.mark.rule("TXN-2")
def test_parts_that_a_commit_names_wait_for_their_markers_and_others_are_open_parts() -> None:
    table = table_of(
        data(PART, 2, records=2), data(OTHER_PART, 4), data(PRODUCER, 5), write_commit(part(PART, records=2), at=6)
    )

    assert [transaction.producer_id for transaction in table.unmarked] == [PART]
    assert [transaction.producer_id for transaction in table.parts(WRITE.tag)] == [OTHER_PART]
    assert table.parts(OTHER_WRITE.tag) == []


def test_part_has_the_records_of_all_its_batches() -> None:
    table = table_of(data(PART, 2, records=2, content=(1 << 64) - 1), data(PART, 4, records=3, sequence=2, content=6))

    transaction = table.transactions[PART]
    assert transaction.is_whole(part(PART, records=5, content=5))
    assert not transaction.is_whole(part(PART, records=4, content=5))
    assert not transaction.is_whole(part(PART, records=5, content=6))
    assert [written.sequence for written in transaction.history] == [0, 2]


def test_commit_without_open_parts_leaves_nothing_to_end() -> None:
    table = table_of(write_commit(part(PART), at=2))

    assert table.image().commits == ()


@pytest.mark.rule("TXN-5")
def test_abort_returns_what_readers_need_to_leave_the_records_out() -> None:
    table = table_of(data(PRODUCER, 3), data(8, 4), data(9, 5))

    assert table.appended(abort(8, 6)) == AbortedTransaction(
        producer_id=8, first_offset=Offset(4), last_offset=Offset(6), last_stable_offset=Offset(3)
    )
    assert table.appended(commit(PRODUCER, 7)) is None
    assert table.appended(abort(9, 8)) == AbortedTransaction(
        producer_id=9, first_offset=Offset(5), last_offset=Offset(8), last_stable_offset=Offset(9)
    )
    assert table.appended(abort(9, 9)) is None


@pytest.mark.rule("TXN-3")
def test_transactional_id_has_the_newest_producer_and_the_highest_epoch() -> None:
    table = table_of(transactional_id("orders", PRODUCER, 1, epoch=2), data(PRODUCER, 2, epoch=2))

    table.appended(abort(PRODUCER, 3, epoch=3))

    producer = table.producers["orders"]
    assert (producer.producer_id, producer.producer_epoch) == (PRODUCER, 3)
    assert table.producer_with(PRODUCER) == producer
    assert table.producer_with(8) is None

    table.appended(transactional_id("orders", 8, 4))

    assert table.producers["orders"].producer_epoch == 0
    assert table.producer_with(PRODUCER) is None


@pytest.mark.rule("TXN-3")
def test_oldest_transactional_id_without_an_open_transaction_is_forgotten_when_there_are_too_many() -> None:
    table = table_of(
        transactional_id("open", 1, 1),
        data(1, 2),
        transactional_id("oldest", 2, 3),
        transactional_id("used", 3, 4),
        max_transactional_ids=3,
    )

    table.appended(transactional_id("newest", 4, 5))
    table.appended(data(4, 6))
    table.appended(data(3, 7))

    assert list(table.producers) == ["open", "used", "newest"]
    assert table.producer_with(2) is None

    table.appended(transactional_id("all others are open", 5, 8))

    assert list(table.producers) == ["open", "used", "newest", "all others are open"]


@pytest.mark.rule("TXN-3")
def test_transactional_id_is_forgotten_once_its_transaction_has_ended() -> None:
    table = table_of(
        transactional_id("a", 1, 1), data(1, 2), transactional_id("b", 2, 3), data(2, 4), max_transactional_ids=2
    )

    table.appended(transactional_id("c", 3, 5))
    with_all_open = list(table.producers)
    table.appended(commit(1, 6))
    table.appended(transactional_id("d", 4, 7))
    table.appended(transactional_id("e", 5, 8))

    assert with_all_open == ["a", "b", "c"]
    assert list(table.producers) == ["b", "d", "e"]


@pytest.mark.rule("TXN-3")
def test_producer_id_has_one_transactional_id() -> None:
    table = table_of(transactional_id("a", 1, 1), transactional_id("b", 1, 2))

    assert list(table.producers) == ["b"]
    assert table.producer_with(1) is table.producers["b"]


LEADER_CHANGE = replace(
    data(PRODUCER, 2), producer_id=None, is_transactional=False, control_types=(ControlType.LEADER_CHANGE,)
)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(replace(data(PRODUCER, 2), is_transactional=False), id="an idempotent batch"),
        pytest.param(replace(data(PRODUCER, 2), producer_id=None), id="a transactional batch without a producer"),
        pytest.param(replace(commit(PRODUCER, 2), producer_id=None), id="a marker without a producer"),
        pytest.param(replace(commit(PRODUCER, 2), is_transactional=False), id="a marker that is not transactional"),
        pytest.param(replace(commit(PRODUCER, 2), control_types=(99,)), id="a control record of an unknown type"),
        pytest.param(LEADER_CHANGE, id="a LeaderChange"),
        pytest.param(commit(8, 2), id="the marker of another producer"),
    ],
)
def test_batch_that_belongs_to_no_transaction_changes_nothing(header: BatchHeader) -> None:
    table = table_of(data(PRODUCER, 1))
    before = table.image()

    assert table.appended(header) is None

    assert table.image() == before
    assert stable(table, 3) == 1


def test_truncation_undoes_the_batches_behind_it_in_any_table() -> None:
    table = table_of(data(PART, 2), data(OTHER_PART, 3), transactional_id("orders", PRODUCER, 4), data(PRODUCER, 5))
    before = table.image()
    for header in (
        write_commit(part(PART), part(OTHER_PART), at=6),
        commit(PART, 7),
        commit(OTHER_PART, 8),
        abort(PRODUCER, 9, epoch=1),
        transactional_id("orders", 9, 10),
    ):
        table.appended(header)

    table.truncated(Offset(8))

    assert table.image().commits == (CommitImage(offset=Offset(6), first_offset=Offset(2), missing=(OTHER_PART,)),)
    assert stable(table, 8) == 2

    table.truncated(Offset(6))

    assert table.image() == before


def test_snapshot_that_replaces_the_log_leaves_an_empty_table() -> None:
    table = table_of(data(PART, 2), transactional_id("orders", PRODUCER, 3), commit(PART, 4))

    table.forget_everything()

    assert table.image() == TransactionTable().image()
    assert stable(table, 9) == 9
