from collections.abc import Iterable
from dataclasses import replace

import pytest

from raft.transactions import AbortedTransaction, CommitImage, TransactionTable
from raft.types import BatchHeader, ControlType, Offset
from raft.writers import WriteKey
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


ANOTHER_WRITE = WriteKey("another query", 1).write_id
ANOTHER_PART = ANOTHER_WRITE.part_producer_id(1)
HALF_HIDDEN = (
    data(PART, 2, records=2),
    data(PRODUCER, 4),
    data(OTHER_PART, 5, records=2),
    write_commit(part(PART, records=2), part(OTHER_PART, records=2), at=7),
    commit(PART, 8),
    commit(OTHER_PART, 9),
)
"""A write from 2 to 10, and a transaction that began within it and stays open."""


@pytest.mark.rule("TXN-2")
@pytest.mark.parametrize(
    ("more", "at", "expected"),
    [
        pytest.param([], 10, 2, id="a transaction is open that began within the write"),
        pytest.param([data(8, 10)], 11, 2, id="and another one that began behind it"),
        pytest.param([commit(PRODUCER, 10)], 11, 11, id="the transaction has ended"),
        pytest.param([commit(PRODUCER, 10)], 10, 2, id="its marker is not committed"),
        pytest.param([data(8, 10), abort(PRODUCER, 11)], 12, 10, id="what is open began behind the write"),
        pytest.param([], 9, 2, id="the last marker of the write is not committed"),
    ],
)
def test_last_stable_offset_is_never_within_a_multipart_write(more: list[BatchHeader], at: int, expected: int) -> None:
    table = table_of(*HALF_HIDDEN, *more)

    assert stable(table, at) == expected
    table.committed(Offset(at))
    assert stable(table, at) == expected


ANOTHER_ENDS = (
    data(PRODUCER, 11),
    write_commit(part(ANOTHER_PART), at=12, key=WriteKey("another query", 1)),
    commit(ANOTHER_PART, 13),
)


@pytest.mark.rule("TXN-2")
@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        pytest.param(
            (data(PART, 1), data(ANOTHER_PART, 2), write_commit(part(PART), at=3), commit(PART, 4)), 1, id="overlapping"
        ),
        pytest.param(
            (data(PART, 1), write_commit(part(PART), at=2), data(ANOTHER_PART, 3), commit(PART, 4)),
            1,
            id="begun before the last marker",
        ),
        pytest.param(
            (data(PART, 1), write_commit(part(PART), at=2), commit(PART, 3), data(ANOTHER_PART, 4)), 4, id="touching"
        ),
        pytest.param(
            (data(ANOTHER_PART, 1), data(PART, 2), write_commit(part(PART), at=3), commit(PART, 4)), 1, id="enclosing"
        ),
    ],
)
def test_last_stable_offset_is_moved_from_write_to_write_until_it_is_in_none(
    begin: tuple[BatchHeader, ...], expected: int
) -> None:
    table = table_of(*begin, *ANOTHER_ENDS)

    assert stable(table, 14) == expected
    table.committed(Offset(14))
    assert stable(table, 14) == expected


@pytest.mark.rule("TXN-2")
def test_write_within_a_transaction_that_began_before_it_is_not_held_back_further() -> None:
    table = table_of(data(PRODUCER, 1), data(PART, 2), write_commit(part(PART), at=3), commit(PART, 4))

    assert stable(table, 5) == 1


@pytest.mark.rule("TXN-1")
def test_kafkas_transaction_is_visible_in_parts_while_a_later_one_is_open() -> None:
    table = table_of(data(PRODUCER, 2), data(8, 3), data(PRODUCER, 4, sequence=1), commit(PRODUCER, 5))

    assert stable(table, 6) == 3


def test_ended_write_is_forgotten_once_the_last_stable_offset_has_passed_it() -> None:
    table = table_of(*HALF_HIDDEN)

    table.committed(Offset(9))
    before_its_end = table.has_ended_writes
    table.committed(Offset(10))
    while_held_back = table.has_ended_writes
    table.appended(abort(PRODUCER, 10))
    table.committed(Offset(11))

    assert (before_its_end, while_held_back, table.has_ended_writes) == (False, True, False)


def test_overlapping_writes_take_up_the_memory_of_one() -> None:
    table, at = table_of(data(PRODUCER, 0)), 1
    for version in range(100):
        key = WriteKey("query", version)
        producer_id = key.write_id.part_producer_id(1)
        for header in (data(producer_id, at), write_commit(part(producer_id), at=at + 1, key=key)):
            table.appended(header)
        if version:
            before = WriteKey("query", version - 1).write_id.part_producer_id(1)
            table.appended(commit(before, at + 2))
        at += 3
    table.committed(Offset(at))

    assert len(table.image().ended_writes) == 1


def test_start_remembers_no_writes_that_were_stable_before() -> None:
    table = TransactionTable()
    table.committed(Offset(1000))
    for at in range(0, 300, 3):
        for header in (data(PART, at), write_commit(part(PART), at=at + 1), commit(PART, at + 2)):
            table.appended(header)

    assert table.ends_committed_at == 0
    assert not table.has_ended_writes


@pytest.mark.rule("TXN-2")
def test_truncated_end_of_a_write_hides_it_until_it_is_appended_again() -> None:
    table = table_of(*HALF_HIDDEN, abort(PRODUCER, 10))
    table.committed(Offset(9))

    table.truncated(Offset(9))
    truncated = stable(table, 9)
    table.appended(abort(PRODUCER, 9))
    table.appended(data(8, 10))
    table.appended(commit(OTHER_PART, 11))
    table.committed(Offset(12))

    assert truncated == 2
    assert stable(table, 12) == 2
