"""A table that is restored from its image goes on as the one that the image was made of (rule LOG-22)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from raft.transactions import AbortedTransaction, ProducerState, TransactionTable
from raft.types import BatchHeader, Offset
from tests.transactions.headers import (
    OTHER_PART,
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

BEFORE = (
    transactional_id("orders", PRODUCER, 1, epoch=2),
    data(PRODUCER, 2, epoch=2),
    data(8, 3),
    data(PART, 4, records=2, content=5),
    data(OTHER_PART, 6),
    write_commit(part(PART, records=2, content=5), part(OTHER_PART), at=7),
)


def table_of(log: Sequence[BatchHeader]) -> TransactionTable:
    table = TransactionTable()
    for header in log:
        table.appended(header)
    return table


def restored(table: TransactionTable) -> TransactionTable:
    """A table that held something else before."""
    other = table_of([data(1, 1), data(WRITE.part_producer_id(3), 2), transactional_id("else", 5, 3)])
    other.restore(table.image())
    return other


@pytest.mark.rule("LOG-22")
@pytest.mark.parametrize(
    "log",
    [
        pytest.param((), id="nothing"),
        pytest.param(BEFORE[:1], id="a transactional id"),
        pytest.param(BEFORE[:3], id="open transactions of Kafka's producers"),
        pytest.param(BEFORE[:5], id="open parts"),
        pytest.param(BEFORE, id="a commit without its markers"),
        pytest.param((*BEFORE, commit(PART, 8)), id="a commit without its last marker"),
        pytest.param((*BEFORE, commit(PART, 8), commit(OTHER_PART, 9)), id="an ended write, and open transactions"),
    ],
)
def test_restored_table_is_what_it_was(log: Sequence[BatchHeader]) -> None:
    table = table_of(log)

    again = restored(table)

    assert again.image() == table.image()
    assert list(again.transactions) == list(table.transactions)
    assert dict(again.producers) == dict(table.producers)
    assert again.has_parts == table.has_parts
    assert again.parts(WRITE.tag) == table.parts(WRITE.tag)
    assert again.unmarked == table.unmarked
    for producer_id in (1, 5, 8, PRODUCER):
        assert again.producer_with(producer_id) == table.producer_with(producer_id)
    for high_watermark in range(len(log) + 1, 12):
        at = Offset(high_watermark)
        assert again.last_stable_offset(at) == table.last_stable_offset(at), f"at {high_watermark}"


@pytest.mark.rule("LOG-22", "TXN-2")
def test_restored_table_ends_a_multipart_write_with_its_last_marker() -> None:
    table = restored(table_of(BEFORE))
    table.appended(abort(PRODUCER, 8, epoch=3))
    table.appended(commit(8, 9))

    table.appended(commit(OTHER_PART, 10))
    after_one_marker = table.last_stable_offset(Offset(11))
    table.appended(commit(PART, 11))

    assert after_one_marker == 4
    assert table.last_stable_offset(Offset(12)) == 12
    assert table.unmarked_count == 0
    assert not table.has_parts
    assert table.producers["orders"].producer_epoch == 3


@pytest.mark.rule("LOG-22", "TXN-2")
def test_restored_table_knows_the_ended_write_within_which_a_transaction_is_open() -> None:
    log = (data(PART, 1), data(8, 2), write_commit(part(PART), at=3), commit(PART, 4))

    table = restored(table_of(log))
    at_once = table.last_stable_offset(Offset(5))
    table.committed(Offset(5))
    once_committed = table.last_stable_offset(Offset(5))
    table.appended(commit(8, 5))
    table.committed(Offset(6))

    assert (at_once, once_committed, table.last_stable_offset(Offset(6))) == (1, 1, 6)
    assert not table.has_ended_writes


@pytest.mark.rule("LOG-22")
def test_restored_table_undoes_the_batches_behind_its_image() -> None:
    before = table_of(BEFORE)
    table = restored(before)
    for header in (commit(PART, 8), commit(OTHER_PART, 9), abort(8, 10), transactional_id("orders", 9, 11)):
        table.appended(header)

    table.truncated(Offset(8))

    assert table.image() == before.image()
    assert table.last_stable_offset(Offset(8)) == 2


@pytest.mark.parametrize(
    ("high_watermark", "stable_offset"),
    [pytest.param(7, 2, id="below the marker"), pytest.param(9, 3, id="behind the marker")],
)
@pytest.mark.rule("TXN-1")
def test_end_is_remembered_until_it_is_below_the_high_watermark(high_watermark: int, stable_offset: int) -> None:
    table = table_of([data(PRODUCER, 2), data(8, 3), commit(PRODUCER, 8), commit(8, 9)])
    table.committed(Offset(high_watermark))

    table.truncated(Offset(9))

    assert list(table.transactions) == [8]
    assert table.ends_committed_at == (9 if high_watermark < 9 else 0)
    assert table.last_stable_offset(Offset(high_watermark)) == stable_offset


@pytest.mark.rule("LOG-22")
def test_both_tables_of_a_log_are_restored_and_undone_together() -> None:
    state = ProducerState()
    for header in (data(PRODUCER, 0), data(PART, 1, content=1)):
        state.appended(header)
    image = state.image(Offset(2))
    again = ProducerState()

    again.restore(image)
    aborted = again.appended(abort(PRODUCER, 2))

    assert image.end_offset == 2
    assert aborted == AbortedTransaction(
        producer_id=PRODUCER, first_offset=Offset(0), last_offset=Offset(2), last_stable_offset=Offset(1)
    )

    again.truncated(Offset(2))

    assert again.image(Offset(2)) == image

    again.committed(Offset(2))
    again.forget_everything()

    assert again.image(Offset(0)) == ProducerState().image(Offset(0))
