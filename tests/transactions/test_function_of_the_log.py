"""The table is a function of the log: whatever changed it, it is like one that is newly made from the log."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from raft.transactions import TransactionTable
from raft.types import BatchHeader, ControlType, Offset, WriteCommit
from tests.transactions.headers import OTHER_WRITE, WRITE, abort, commit, data, part, transactional_id, write_commit

PARTS = (WRITE.part_producer_id(1), WRITE.part_producer_id(2), OTHER_WRITE.part_producer_id(1))
PRODUCERS = (1, 2, 3)
NAMES = ("a", "b", "c")
MAX_IDS = 2

anyone = st.sampled_from([*PARTS, *PRODUCERS])
batches = st.one_of(
    st.builds(
        data,
        anyone,
        st.just(0),
        records=st.integers(1, 3),
        sequence=st.integers(0, 4),
        content=st.sampled_from([None, 1, 1 << 63]),
    ),
    st.builds(commit, anyone, st.just(0), epoch=st.integers(0, 2)),
    st.builds(abort, anyone, st.just(0), epoch=st.integers(0, 2)),
    st.builds(
        lambda chosen: write_commit(*(part(each) for each in sorted(chosen)), at=0),
        st.sets(st.sampled_from(PARTS), min_size=1),
    ),
    st.builds(
        transactional_id, st.sampled_from(NAMES), st.sampled_from(PRODUCERS), st.just(0), epoch=st.integers(0, 2)
    ),
)


def last_stable_offset(log: list[BatchHeader], high_watermark: int) -> int:
    """The last stable offset, from the committed part of the log alone."""
    stable, ended_writes = kafkas_stable_offset(log, high_watermark)
    while within := [first for first, end in ended_writes if first < stable < end]:
        stable = min(within)
    return stable


def kafkas_stable_offset(log: list[BatchHeader], high_watermark: int) -> tuple[int, list[tuple[int, int]]]:
    """Kafka's last stable offset, and the first offset and the end of each ended write."""
    held: dict[int, int] = {}
    groups: dict[int, set[int]] = {}
    firsts_of_group: list[tuple[set[int], int]] = []
    ended_writes: list[tuple[int, int]] = []
    for header in log:
        if header.end_offset > high_watermark:
            break
        producer_id = header.producer_id
        assert producer_id is not None, "all of these have one"
        if isinstance(header.control_value, WriteCommit):
            members = {each.producer_id for each in header.control_value.parts} & held.keys() - groups.keys()
            if members:
                firsts_of_group.append((members, min(held[member] for member in members)))
                groups.update(dict.fromkeys(members, members))
        elif header.control_types and header.control_types[0] in (ControlType.COMMIT, ControlType.ABORT):
            held.pop(producer_id, None)
            if producer_id in groups:
                members = groups.pop(producer_id)
                members.discard(producer_id)
                if not members:
                    first = next(first for group, first in firsts_of_group if group is members)
                    ended_writes.append((first, header.end_offset))
        elif header.is_transactional:
            held.setdefault(producer_id, header.base_offset)
    firsts = [*held.values(), *(first for members, first in firsts_of_group if members)]
    return min(firsts, default=high_watermark), ended_writes


class TableAgainstLog(RuleBasedStateMachine):
    """A log that grows, is truncated above its high watermark, and commits; the table follows it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = TransactionTable(max_transactional_ids=MAX_IDS)
        self.log: list[BatchHeader] = []
        self.committed = 0
        self.stable = 0

    @rule(new=st.lists(batches, min_size=1, max_size=5))
    def append(self, new: list[BatchHeader]) -> None:
        for header in new:
            end = self._end(len(self.log))
            count = header.record_count
            placed = replace(header, base_offset=end, last_offset=Offset(end + count - 1))
            if isinstance(placed.control_value, WriteCommit) and self._names_a_committed_part(placed.control_value):
                continue  # No leader appends this.
            self.log.append(placed)
            self.table.appended(placed)

    def _names_a_committed_part(self, value: WriteCommit) -> bool:
        unmarked = {transaction.producer_id for transaction in self.table.unmarked}
        return any(each.producer_id in unmarked for each in value.parts)

    def _end(self, count: int) -> Offset:
        return self.log[count - 1].end_offset if count else Offset(0)

    @rule(keep=st.integers(0, 6))
    def truncate(self, keep: int) -> None:
        kept = min(len(self.log), self.committed + keep)
        self.log = self.log[:kept]
        self.table.truncated(self._end(kept))

    @rule(known=st.integers(0, 6))
    def start_again(self, known: int) -> None:
        """From an image of the committed part, with a checkpointed high watermark that may be lower."""
        cut = min(known, self.committed)
        before = TransactionTable(max_transactional_ids=MAX_IDS)
        for header in self.log[:cut]:
            before.appended(header)
        self.table = TransactionTable(max_transactional_ids=MAX_IDS)
        self.table.restore(before.image())
        self.table.committed(self._end(cut))
        for header in self.log[cut:]:
            self.table.appended(header)

    @rule(more=st.integers(0, 3))
    def commit(self, more: int) -> None:
        self.committed = min(len(self.log), self.committed + more)
        self.table.committed(self._end(self.committed))

    @invariant()
    def table_is_that_of_the_log(self) -> None:
        fresh = TransactionTable(max_transactional_ids=MAX_IDS)
        for header in self.log:
            fresh.appended(header)
        assert self.table.image() == fresh.image()
        assert list(self.table.transactions) == list(fresh.transactions)
        for write in (WRITE, OTHER_WRITE):
            assert self.table.parts(write.tag) == fresh.parts(write.tag)

    @invariant()
    def last_stable_offset_is_that_of_the_committed_log(self) -> None:
        for count in range(self.committed, len(self.log) + 1):
            end = self._end(count)
            assert self.table.last_stable_offset(end) == last_stable_offset(self.log, end)

    @invariant()
    def last_stable_offset_never_falls(self) -> None:
        stable = self.table.last_stable_offset(self._end(self.committed))
        assert stable >= self.stable
        self.stable = stable


TestTableAgainstLog = pytest.mark.rule("TXN-1", "TXN-2")(TableAgainstLog.TestCase)
TestTableAgainstLog.settings = settings(
    max_examples=150, stateful_step_count=15, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
