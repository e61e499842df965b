"""Which part of the log is on disk (HW-7, and the example in `raft.core.flushes`)."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from raft.core.flushes import FlushLedger
from raft.types import Offset


@pytest.mark.rule("HW-7")
def test_late_report_does_not_count_for_records_appended_again_at_the_same_offsets() -> None:
    ledger = FlushLedger(Offset(10))
    first = ledger.order()  # records 10..20
    ledger.truncate(Offset(10))
    second = ledger.order()  # other records at 10..20

    assert not ledger.done(first, Offset(20))
    assert ledger.durable_end == 10
    assert ledger.done(second, Offset(20))
    assert ledger.durable_end == 20


def test_truncation_below_the_durable_end_lowers_it() -> None:
    ledger = FlushLedger(Offset(10))

    ledger.truncate(Offset(4))

    assert ledger.durable_end == 4


def test_truncation_above_the_durable_end_does_not_change_it() -> None:
    ledger = FlushLedger(Offset(10))

    ledger.truncate(Offset(14))

    assert ledger.durable_end == 10


def test_older_report_moves_nothing_when_a_newer_one_was_first() -> None:
    ledger = FlushLedger(Offset(10))
    older, newer = ledger.order(), ledger.order()

    assert ledger.done(newer, Offset(20))
    assert not ledger.done(older, Offset(15))
    assert ledger.durable_end == 20


class DiskAgainstLedger(RuleBasedStateMachine):
    """A disk that flushes and reports at random times; the ledger never counts too much as flushed.

    Each record is another number, so that a record appended again at the same offset is a different one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ledger = FlushLedger(Offset(0))
        self.log: list[int] = []
        self.disk: list[int] = []
        self.records = 0
        self.orders: list[tuple[int, int]] = []
        self.reports: list[tuple[int, int]] = []

    @rule(count=st.integers(1, 3))
    def append(self, count: int) -> None:
        for _ in range(count):
            self.log.append(self.records)
            self.records += 1
        self.orders.append((self.ledger.order(), len(self.log)))

    @rule(back=st.integers(0, 4))
    def truncate(self, back: int) -> None:
        end = max(0, len(self.log) - back)
        self.log = self.log[:end]
        self.disk = self.disk[:end]
        self.ledger.truncate(Offset(end))
        self.orders.clear()  # The disk works in order, so what waited for it is void.
        if self.ledger.durable_end < end:
            self.orders.append((self.ledger.order(), end))

    @rule(newest=st.booleans())
    def flush(self, newest: bool) -> None:
        if self.orders:
            order = self.orders[-1] if newest else self.orders[0]
            self.disk = self.log[: max(order[1], len(self.disk))]
            self.reports.append(order)

    @rule(position=st.integers(0, 20))
    def report(self, position: int) -> None:
        if self.reports:
            number, end = self.reports[position % len(self.reports)]  # Reports may come late, twice and in any order.
            self.ledger.done(number, Offset(end))

    @invariant()
    def what_counts_as_durable_is_on_disk(self) -> None:
        end = self.ledger.durable_end
        assert self.log[:end] == self.disk[:end]
        assert end <= len(self.log)


TestDiskAgainstLedger = DiskAgainstLedger.TestCase
TestDiskAgainstLedger.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
