"""Which batches of a fetch response a reader leaves out (rule TXN-10), against a model: the whole log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.client import AbortedFilter
from raft.client.results import AbortedTransaction
from raft.types import BatchHeader, Offset
from tests.transactions import headers
from tests.transactions.headers import abort, commit

BATCH_RECORDS = 2


def data(by: int | None, at: int, *, is_transactional: bool = True) -> BatchHeader:
    """A batch of two records; `at` is its base offset."""
    header = headers.data(by or 0, at, records=BATCH_RECORDS)
    return replace(header, producer_id=by, is_transactional=is_transactional)


def dropped(aborted: Sequence[tuple[int, int]], batches: Sequence[BatchHeader]) -> list[int]:
    """The base offsets of the batches that are left out."""
    found = AbortedFilter([AbortedTransaction(by, Offset(first)) for by, first in aborted])
    return [header.base_offset for header in batches if found.drops(header)]


@pytest.mark.rule("TXN-10")
@pytest.mark.parametrize(
    ("aborted", "batches", "expected"),
    [
        pytest.param([], [data(1, 0), commit(1, 2)], [], id="nothing is aborted"),
        pytest.param([(1, 0)], [data(1, 0), data(1, 2), abort(1, 4)], [0, 2], id="all batches up to the marker"),
        pytest.param([(1, 0)], [data(1, 0), abort(1, 2), data(1, 3), commit(1, 5)], [0], id="the marker ends it"),
        pytest.param(
            [(1, 0), (1, 3)],
            [data(1, 0), abort(1, 2), data(1, 3), abort(1, 5), data(1, 6), commit(1, 8)],
            [0, 3],
            id="two of one producer",
        ),
        pytest.param(
            [(1, 3)],
            [data(1, 0), commit(1, 2), data(1, 3), abort(1, 5)],
            [3],
            id="only the second one of a producer",
        ),
        pytest.param(
            [(1, 0), (2, 2)],
            [data(1, 0), data(2, 2), data(3, 4), data(1, 6), abort(2, 8), data(2, 9), abort(1, 11), commit(2, 12)],
            [0, 2, 6],
            id="producers take turns",
        ),
        pytest.param(
            [(2, 2), (1, 0)],
            [data(1, 0), data(2, 2), abort(1, 4), abort(2, 5)],
            [0, 2],
            id="in the order of their markers",
        ),
        pytest.param([(1, 0)], [data(1, 6), abort(1, 8)], [6], id="begun before the response"),
        pytest.param([(1, 9)], [data(1, 6), commit(1, 8), data(1, 9)], [9], id="begun behind a batch"),
        pytest.param([(1, 0)], [data(1, 0), abort(2, 2), data(1, 3)], [0, 3], id="the marker of another producer"),
        pytest.param([(1, 0)], [data(2, 0), data(1, 2, is_transactional=False)], [], id="batches of others"),
        pytest.param([(1, 0)], [data(None, 0)], [], id="a transactional batch without a producer"),
    ],
)
def test_reader_leaves_out_the_records_of_aborted_transactions(
    aborted: list[tuple[int, int]], batches: list[BatchHeader], expected: list[int]
) -> None:
    assert dropped(aborted, batches) == expected


def test_marker_is_never_left_out_as_data() -> None:
    found = AbortedFilter([AbortedTransaction(1, Offset(0))])

    assert [found.drops(header) for header in (data(1, 0), abort(1, 2), abort(1, 3))] == [True, False, False]


@dataclass(frozen=True, slots=True)
class Written:
    """A log of transactions that have all ended.

    Fields:
        batches: all of its batches.
        aborted: producer id, first offset and offset of the marker of each aborted transaction.
        dropped: the base offsets of their batches.
    """

    batches: list[BatchHeader]
    aborted: list[tuple[int, int, int]]
    dropped: set[int]


@st.composite
def logs(draw: st.DrawFn) -> Written:
    batches: list[BatchHeader] = []
    aborted: list[tuple[int, int, int]] = []
    to_drop: set[int] = set()
    open_batches: dict[int, list[int]] = {}
    offset = 0

    def end(producer_id: int) -> None:
        nonlocal offset
        own = open_batches.pop(producer_id)
        if draw(st.booleans(), label=f"abort {producer_id} at {offset}"):
            aborted.append((producer_id, own[0], offset))
            to_drop.update(own)
            batches.append(abort(producer_id, offset))
        else:
            batches.append(commit(producer_id, offset))
        offset += 1

    for producer_id, ends in draw(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=15), label="log"):
        if ends and producer_id in open_batches:
            end(producer_id)
        else:
            open_batches.setdefault(producer_id, []).append(offset)
            batches.append(data(producer_id, offset))
            offset += BATCH_RECORDS
    for producer_id in sorted(open_batches):
        end(producer_id)
    return Written(batches, aborted, to_drop)


@pytest.mark.rule("TXN-10")
@given(log=logs(), data=st.data())
def test_reader_reads_exactly_the_committed_transactions_of_any_log_from_any_batch_on(
    log: Written, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(log.batches)), label="first batch of the response")
    end = data.draw(st.integers(first, len(log.batches)), label="behind its last batch")
    response = log.batches[first:end]
    start_offset = response[0].base_offset if response else 0
    end_offset = response[-1].end_offset if response else 0
    # What a server names: transactions with records or a marker among those of the response.
    named = [(by, begun) for by, begun, ended in log.aborted if ended >= start_offset and begun < end_offset]

    left_out = dropped(named, response)

    assert left_out == [header.base_offset for header in response if header.base_offset in log.dropped]
