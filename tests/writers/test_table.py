"""What a leader has to do with a batch, given its log (CLIENT-8 and exactly-once writes)."""

from __future__ import annotations

import pytest

from raft.errors import ErrorCode
from raft.types import BatchHeader, Offset
from raft.writers import Accepted, Refused, Repeated, Verdict, WriterTable
from tests.writers.headers import keyed, produced

GAP = Refused(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
FENCED = Refused(error=ErrorCode.INVALID_PRODUCER_EPOCH)
SEQUENCES = 1 << 31


def repeats(base_offset: int, end_offset: int) -> Repeated:
    """The batch is in the log already, at these offsets."""
    return Repeated(base_offset=Offset(base_offset), end_offset=Offset(end_offset))


def overtaken(base_offset: int, end_offset: int) -> Refused:
    """A newer write of the same writer is at these offsets."""
    return Refused(
        error=ErrorCode.DUPLICATE_SEQUENCE_NUMBER, base_offset=Offset(base_offset), end_offset=Offset(end_offset)
    )


def table_of(log: list[BatchHeader], *, max_producers: int = 10) -> WriterTable:
    """The table of a log."""
    table = WriterTable(max_producers=max_producers)
    for header in log:
        table.appended(header)
    return table


SIX = [produced(sequence, at=10 + sequence) for sequence in range(6)]
"""One producer's sequences 0 to 5, at offsets 10 to 15."""


@pytest.mark.parametrize(
    ("log", "asked", "verdict"),
    [
        pytest.param([], produced(0), Accepted(), id="an unknown id begins at 0"),
        pytest.param([], produced(1), GAP, id="an unknown id does not begin later"),
        pytest.param([produced(0, records=3)], produced(3), Accepted(), id="the next sequence"),
        pytest.param([produced(0, records=3)], produced(4), GAP, id="a gap"),
        pytest.param([produced(0, records=3)], produced(2), GAP, id="an overlap"),
        pytest.param([produced(0, records=3, at=10)], produced(0, records=3), repeats(10, 13), id="the same again"),
        pytest.param([produced(0, records=3)], produced(0, records=2), GAP, id="the same sequence, other records"),
        pytest.param(SIX, produced(5), repeats(15, 16), id="the newest of many again"),
        pytest.param(SIX, produced(1), repeats(11, 12), id="the fifth newest again"),
        pytest.param(SIX, produced(0), GAP, id="the sixth newest is forgotten"),
        pytest.param([produced(0, epoch=3)], produced(1, epoch=2), FENCED, id="an older epoch"),
        pytest.param([produced(0, epoch=3)], produced(0, epoch=2), FENCED, id="an older epoch, from its start"),
        pytest.param([produced(5, epoch=3)], produced(0, epoch=4), Accepted(), id="a newer epoch begins at 0"),
        pytest.param([produced(5, epoch=3)], produced(6, epoch=4), GAP, id="a newer epoch does not begin later"),
        pytest.param(
            [produced(0, epoch=3), produced(0, epoch=4, at=9)],
            produced(0, epoch=4),
            repeats(9, 10),
            id="its own epoch's",
        ),
        pytest.param([produced(SEQUENCES - 2, records=2)], produced(0), Accepted(), id="sequences wrap around"),
        pytest.param([produced(SEQUENCES - 2, records=3)], produced(1), Accepted(), id="a batch across the wrap"),
        pytest.param([produced(0, by=8)], produced(0, by=7), Accepted(), id="another producer is another matter"),
        pytest.param([produced(0, is_control=True)], produced(0), Accepted(), id="control batches are no writes"),
        pytest.param([produced(0)], produced(-1, by=None, epoch=-1), Accepted(), id="no producer, no question"),
    ],
)
@pytest.mark.rule("CLIENT-8")
def test_idempotent_batch_is_judged_by_the_producers_last_five(
    log: list[BatchHeader], asked: BatchHeader, verdict: Verdict
) -> None:
    assert table_of(log).judge(asked) == verdict


@pytest.mark.parametrize(
    ("log", "asked", "verdict"),
    [
        pytest.param([], keyed(0), Accepted(), id="a first write"),
        pytest.param([], keyed(17), Accepted(), id="a first write may have any version"),
        pytest.param([keyed(3)], keyed(4), Accepted(), id="the next"),
        pytest.param([keyed(3)], keyed(9), Accepted(), id="a later one: empty batches write nothing"),
        pytest.param([keyed(3, records=5, at=10)], keyed(3, records=5), repeats(10, 15), id="the same again"),
        pytest.param(
            [keyed(3, records=5, at=10, content=None)],
            keyed(3, records=5),
            repeats(10, 15),
            id="content unknown there",
        ),
        pytest.param(
            [keyed(3, records=5, at=10)],
            keyed(3, records=5, content=None),
            repeats(10, 15),
            id="content unknown here",
        ),
        pytest.param([keyed(3, records=5, at=10)], keyed(2), overtaken(10, 15), id="an older one"),
        pytest.param([keyed(3), keyed(4, at=11)], keyed(3), overtaken(11, 12), id="the one before the last"),
        pytest.param([keyed(1 << 31, at=10)], keyed((1 << 31) - 1), overtaken(10, 11), id="older by the epoch field"),
        pytest.param([keyed((1 << 31) - 1)], keyed(1 << 31), Accepted(), id="newer by the epoch field"),
        pytest.param([keyed(3, writer="another")], keyed(2), Accepted(), id="another writer is another matter"),
    ],
)
def test_keyed_write_is_judged_by_the_writers_last_version(
    log: list[BatchHeader], asked: BatchHeader, verdict: Verdict
) -> None:
    assert table_of(log).judge(asked) == verdict


@pytest.mark.parametrize(
    ("written", "asked", "difference"),
    [
        pytest.param(keyed(3, records=5, at=10), keyed(3, records=4), "record count 4", id="fewer rows"),
        pytest.param(
            keyed(3, records=5, at=10, content=None),
            keyed(3, records=6, content=None),
            "record count 6",
            id="more rows, contents not known",
        ),
        pytest.param(
            keyed(3, records=5, at=10, content=1),
            keyed(3, records=5, content=2),
            "the same record count, but other records",
            id="other rows",
        ),
        pytest.param(
            keyed(3, records=5, at=10, content=0),
            keyed(3, records=5, content=2),
            "the same record count, but other records",
            id="other rows than those whose checksum is 0",
        ),
    ],
)
@pytest.mark.rule("CLIENT-11")
def test_keyed_write_is_refused_when_its_key_has_written_something_else(
    written: BatchHeader, asked: BatchHeader, difference: str
) -> None:
    verdict = table_of([written]).judge(asked)

    assert verdict == Refused(
        error=ErrorCode.DUPLICATE_RESOURCE,
        base_offset=Offset(10),
        end_offset=Offset(15),
        message=f"version 3 of producer id {asked.producer_id} was written at offset 10 with record count 5; "
        f"the batch that came has {difference}",
    )


# Truncating the log


def test_truncation_undoes_the_writes_at_or_past_it() -> None:
    table = table_of([keyed(3, at=10), keyed(4, at=11), keyed(5, at=12)])

    table.truncated(Offset(11))

    assert table.judge(keyed(4)) == Accepted()
    assert table.judge(keyed(3)) == repeats(10, 11)


def test_truncation_of_a_first_write_removes_its_writer() -> None:
    table = table_of([keyed(3, at=10), produced(0, at=11)])

    table.truncated(Offset(10))

    assert table.judge(keyed(0)) == Accepted()
    assert table.judge(produced(1)) == GAP


@pytest.mark.rule("CLIENT-8")
def test_truncation_restores_the_history_that_a_newer_epoch_replaced() -> None:
    table = table_of([produced(0, epoch=3, at=10), produced(0, epoch=4, at=11)])

    table.truncated(Offset(11))

    assert table.judge(produced(0, epoch=3)) == repeats(10, 11)
    assert table.judge(produced(1, epoch=3)) == Accepted()


def test_commit_forgets_only_how_to_undo_what_is_below_it() -> None:
    table = table_of([keyed(3, at=10), keyed(4, at=11)])

    table.committed(Offset(11))
    table.truncated(Offset(11))

    assert table.judge(keyed(3)) == repeats(10, 11)
    assert table.judge(keyed(4)) == Accepted()


# Forgetting


def test_idempotent_producer_that_has_not_written_for_longest_is_forgotten() -> None:
    table = table_of([produced(0, by=1), produced(0, by=2, at=1), produced(1, by=1, at=2)], max_producers=2)

    table.appended(produced(0, by=3, at=3))

    assert table.judge(produced(1, by=2)) == GAP, "forgotten"
    assert table.judge(produced(2, by=1)) == Accepted(), "it wrote later, though it came first"
    assert table.judge(produced(1, by=3)) == Accepted()


def test_keys_of_exactly_once_writes_are_never_forgotten() -> None:
    table = table_of([keyed(3, writer=str(number), at=number) for number in range(50)], max_producers=2)

    assert table.judge(keyed(3, writer="0")) == repeats(0, 1)


def test_truncation_restores_a_producer_that_was_forgotten_for_a_truncated_batch() -> None:
    table = table_of([produced(0, by=1, at=0), produced(0, by=2, at=1), produced(0, by=3, at=2)], max_producers=2)
    assert table.judge(produced(1, by=1)) == GAP, "forgotten"

    table.truncated(Offset(2))

    assert table.judge(produced(1, by=1)) == Accepted()
    assert table.judge(produced(0, by=3)) == Accepted(), "it has never written"


def test_producer_that_was_given_back_is_again_the_one_that_has_not_written_for_longest() -> None:
    table = table_of([produced(0, by=1, at=0), produced(0, by=2, at=1), produced(0, by=3, at=2)], max_producers=2)
    table.truncated(Offset(2))

    table.appended(produced(0, by=4, at=2))

    assert table.judge(produced(1, by=1)) == GAP
    assert table.judge(produced(1, by=2)) == Accepted()


def test_table_counts_its_writers_by_kind() -> None:
    table = WriterTable()

    for header in (produced(0), keyed(0), keyed(1)):
        table.appended(header)

    assert table.counts == (1, 0, 1), "the writer of version 1 is the one of version 0"
