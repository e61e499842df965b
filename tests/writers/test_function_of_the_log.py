"""The table is a function of the log: whatever changed it, it decides like one that is newly made from the log."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from raft.errors import ErrorCode
from raft.storage.producer_snapshot import decode_producer_snapshot, encode_producer_snapshot
from raft.transactions import ProducerStateImage
from raft.types import FIRST_KEYED_PRODUCER_ID, BatchHeader, Offset
from raft.writers import Accepted, Refused, Repeated, Verdict, WriterExpiry, WriterTable
from tests.writers.headers import KEYED_WRITER, produced

MAX_PRODUCERS = 2
EXPIRY = WriterExpiry(producer_ms=12, writer_ms=30, newest_kept=1)
LATEST_MS = 253_402_300_799_999
PRODUCERS = (1, 2, 3)
KEYED_WRITERS = (KEYED_WRITER, KEYED_WRITER + 1)

batches = st.builds(
    produced,
    sequence=st.integers(0, 4),
    records=st.integers(1, 2),
    epoch=st.integers(0, 2),
    by=st.sampled_from([None, *PRODUCERS, *KEYED_WRITERS]),
    is_control=st.sampled_from([False, False, False, True]),
    content=st.sampled_from([None, 1, 2]),
    time_ms=st.sampled_from([-1, 0, 10, 15, 20, 25, 30, 45, 60, 1 << 60]),
)

PROBES = {
    writer: [produced(sequence, epoch=epoch, by=writer, content=1) for epoch in range(3) for sequence in range(7)]
    for writer in (*PRODUCERS, *KEYED_WRITERS)
}
"""What each writer might append."""


def writes_of(log: list[BatchHeader], writer: int) -> list[BatchHeader]:
    """The batches of a writer that a leader remembers, oldest first."""
    remembered: dict[int, list[BatchHeader]] = {}
    last_times: dict[int, int] = {}
    now_ms = first_ms = -1
    for header in log:
        if header.is_control:
            continue
        before_ms = now_ms
        if header.max_timestamp_ms <= LATEST_MS:
            now_ms = max(now_ms, header.max_timestamp_ms)
        first_ms = now_ms if first_ms < 0 else first_ms
        if header.producer_id is not None:
            _count_in(remembered, header)
            last_times[header.producer_id] = now_ms
        if now_ms > before_ms:
            for of_this_kind in _kinds(remembered):
                for known in of_this_kind[: -EXPIRY.newest_kept]:
                    age_ms = now_ms - max(last_times[known], first_ms)
                    if age_ms >= (EXPIRY.writer_ms if _is_stream(remembered[known][-1]) else EXPIRY.producer_ms):
                        del remembered[known]
    return remembered.get(writer, [])


def _kinds(remembered: dict[int, list[BatchHeader]]) -> list[list[int]]:
    """Producers, one-off writers and streams, each in the order of their last writes."""
    producers = [known for known in remembered if known < FIRST_KEYED_PRODUCER_ID]
    streams = [known for known in remembered if known not in producers and _is_stream(remembered[known][-1])]
    return [producers, streams, [known for known in remembered if known not in (*producers, *streams)]]


def _is_stream(last: BatchHeader) -> bool:
    is_keyed = last.producer_id is not None and last.producer_id >= FIRST_KEYED_PRODUCER_ID
    return is_keyed and (last.producer_epoch, last.base_sequence) > (0, 0)


def _count_in(remembered: dict[int, list[BatchHeader]], header: BatchHeader) -> None:
    if header.producer_id is not None:
        of_this_epoch = [
            old
            for old in remembered.pop(header.producer_id, [])
            if old.producer_epoch == header.producer_epoch or header.producer_id >= FIRST_KEYED_PRODUCER_ID
        ]
        remembered[header.producer_id] = [*of_this_epoch, header]
        producers = [known for known in remembered if known < FIRST_KEYED_PRODUCER_ID]
        if len(producers) > MAX_PRODUCERS:
            del remembered[producers[0]]


def without_message(verdict: Verdict) -> Verdict:
    """The decision without its message."""
    return replace(verdict, message=None) if isinstance(verdict, Refused) else verdict


def verdict_after(writes: list[BatchHeader], asked: BatchHeader) -> Verdict:
    """Decide about a batch by what its writer wrote before."""
    position = (asked.producer_epoch, asked.base_sequence)
    if asked.producer_id is not None and asked.producer_id >= FIRST_KEYED_PRODUCER_ID:
        if not writes or position > (writes[-1].producer_epoch, writes[-1].base_sequence):
            return Accepted()
        last = writes[-1]
        is_repeated = position == (last.producer_epoch, last.base_sequence)
        is_same = asked.record_count == last.record_count and last.content_checksum in (None, asked.content_checksum)
        if is_repeated and is_same:
            return Repeated(base_offset=last.base_offset, end_offset=last.end_offset)
        error = ErrorCode.DUPLICATE_RESOURCE if is_repeated else ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        return Refused(error=error, base_offset=last.base_offset, end_offset=last.end_offset)
    if writes and asked.producer_epoch < writes[-1].producer_epoch:
        return Refused(error=ErrorCode.INVALID_PRODUCER_EPOCH)
    if not writes or asked.producer_epoch > writes[-1].producer_epoch:
        begins = asked.base_sequence == 0
        return Accepted() if begins else Refused(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    for write in writes[-5:]:
        if (write.base_sequence, write.record_count) == (asked.base_sequence, asked.record_count):
            return Repeated(base_offset=write.base_offset, end_offset=write.end_offset)
    follows = asked.base_sequence == writes[-1].base_sequence + writes[-1].record_count
    return Accepted() if follows else Refused(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


class TableAgainstLog(RuleBasedStateMachine):
    """A log that grows, is truncated above its high watermark, and commits; the table follows it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = WriterTable(max_producers=MAX_PRODUCERS, expiry=EXPIRY)
        self.log: list[BatchHeader] = []
        self.committed = 0

    @rule(new=st.lists(batches, min_size=1, max_size=4))
    def append(self, new: list[BatchHeader]) -> None:
        for header in new:
            self._append(header)

    @rule(writer=st.sampled_from(PRODUCERS), count=st.integers(1, 4))
    def go_on(self, writer: int, count: int) -> None:
        for _ in range(count):
            writes = writes_of(self.log, writer)
            last = writes[-1] if writes else produced(0, records=0)
            self._append(produced(last.base_sequence + last.record_count, epoch=last.producer_epoch, by=writer))

    def _append(self, header: BatchHeader) -> None:
        end = self.log[-1].end_offset if self.log else Offset(0)
        placed = replace(header, base_offset=end, last_offset=Offset(end + header.record_count - 1))
        self.log.append(placed)
        self.table.appended(placed)

    @rule(keep=st.integers(0, 6))
    def truncate(self, keep: int) -> None:
        kept = min(len(self.log), self.committed + keep)
        end = self.log[kept - 1].end_offset if kept else Offset(0)
        self.log = self.log[:kept]
        self.table.truncated(end)

    @rule(known=st.integers(0, 6))
    def start_again(self, known: int) -> None:
        """From a snapshot of the committed part, with a checkpointed high watermark that may be lower."""
        cut = min(known, self.committed)
        self.table = WriterTable(max_producers=MAX_PRODUCERS, expiry=EXPIRY)
        for header in self.log[:cut]:
            self.table.appended(header)
        end = self.log[cut - 1].end_offset if cut else Offset(0)
        written = encode_producer_snapshot(ProducerStateImage(writers=self.table.image(end)))
        image = decode_producer_snapshot(written, end_offset=end).writers
        self.table = WriterTable(max_producers=MAX_PRODUCERS, expiry=EXPIRY)
        self.table.restore(image)
        self.table.committed(end)
        for header in self.log[cut:]:
            self.table.appended(header)

    @rule(more=st.integers(0, 3))
    def commit(self, more: int) -> None:
        self.committed = min(len(self.log), self.committed + more)
        self.table.committed(self.log[self.committed - 1].end_offset if self.committed else Offset(0))

    @invariant()
    def every_batch_is_judged_as_by_rereading_the_log(self) -> None:
        fresh = WriterTable(max_producers=MAX_PRODUCERS, expiry=EXPIRY)
        for header in self.log:
            fresh.appended(header)
        end = self.log[-1].end_offset if self.log else Offset(0)
        assert self.table.image(end) == fresh.image(end)
        for writer, probes in PROBES.items():
            writes = writes_of(self.log, writer)
            for probe in probes:
                verdict = self.table.judge(probe)
                assert verdict == fresh.judge(probe)
                assert without_message(verdict) == verdict_after(writes, probe)


TestTableAgainstLog = pytest.mark.rule("CLIENT-8", "CLIENT-13")(TableAgainstLog.TestCase)
# Fifteen steps are short enough to read; to shrink them takes minutes.
TestTableAgainstLog.settings = settings(
    max_examples=100, stateful_step_count=15, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
