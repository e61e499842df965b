"""A log that a node compacts, or cuts, between two fetches of a client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from raft.client.results import Fetched
from raft.errors import OffsetOutOfRangeError
from raft.records.batch import build_batch, build_empty_batch, build_sparse_batch
from raft.records.record import Record
from raft.types import Endpoint, Epoch, Offset

RECORDS_OF_A_BATCH = 3

Entry = tuple[bytes | None, bytes | None]
"""Key and value."""


class CompactingLog:
    """The leader of a log, in place of a client.

    Args:
        entries: the log at first.
        keeps_records: whether records before the start are compacted (cleanup.policy=compact), or gone (delete).
        between: called before each fetch.
        batches_of_a_fetch: most batches in a response.

    Attributes:
        entries: all records that were appended, whether they are left or not.
        start: end of the snapshot.
    """

    def __init__(
        self,
        entries: list[Entry],
        *,
        keeps_records: bool = True,
        between: Callable[[CompactingLog], None] = lambda _: None,
        batches_of_a_fetch: int = 1,
    ) -> None:
        self.entries = list(entries)
        self.start = 0
        self._keeps_records = keeps_records
        self._between = between
        self._batches_of_a_fetch = batches_of_a_fetch
        self.cluster_id = "cluster"

    def state(self, end: int, start: int = 0) -> dict[bytes, tuple[int, bytes]]:
        """Return offset and value of the newest record of each key as of an offset."""
        newest: dict[bytes, tuple[int, bytes | None]] = {}
        for at, (key, value) in enumerate(self.entries[start:end], start=start):
            if key is not None:
                newest[key] = (at, value)
        return {key: (at, value) for key, (at, value) in newest.items() if value is not None}

    def left(self) -> list[int]:
        """Return the offsets of the records that are left."""
        newest = {key: at for at, (key, _) in enumerate(self.entries[: self.start])}
        kept = [at for key, at in newest.items() if key is not None] if self._keeps_records else []
        return [*sorted(kept), *range(self.start, len(self.entries))]

    def log_start_offset(self) -> Offset:
        return Offset(min(self.left(), default=len(self.entries)))

    def last_stable_offset(self) -> Offset:
        return Offset(len(self.entries))

    def leave_reader(self, reader: Endpoint) -> None:
        raise AssertionError(f"{reader} has sent nothing")

    def fetch(self, offset: Offset, **_: Any) -> Fetched:
        self._between(self)
        end = self.last_stable_offset()
        if offset < self.start and not self._keeps_records:
            start = Offset(self.start)
            raise OffsetOutOfRangeError(f"offset {offset} is out of range", log_start_offset=start, high_watermark=end)
        batches = [data for last, data in self._batches() if last >= offset]
        return Fetched(
            records=b"".join(batches[: self._batches_of_a_fetch]),
            last_stable_offset=end,
            log_start_offset=Offset(0 if self._keeps_records else self.start),
            compacted_end=Offset(self.start) if offset < self.start else None,
        )

    def _batches(self) -> Iterator[tuple[int, bytes]]:
        """Yield the batches of the log, each with its last offset."""
        left, last = self.left(), self.start - 1
        compacted = [at for at in left if at < self.start]
        for part in _parts(compacted):
            base_offset, last_offset = Offset(part[0]), Offset(part[-1])
            records = self._records(part)
            yield (
                last_offset,
                build_sparse_batch(records, base_offset=base_offset, last_offset=last_offset, epoch=Epoch(1)),
            )
        if self._keeps_records and self.start and compacted[-1:] != [last]:
            yield last, build_empty_batch(base_offset=Offset(last), last_offset_delta=0, epoch=Epoch(1))
        for part in _parts(left[len(compacted) :]):
            yield part[-1], build_batch(self._records(part), base_offset=Offset(part[0]), epoch=Epoch(1))

    def _records(self, offsets: list[int]) -> list[Record]:
        return [
            Record(key=self.entries[at][0], value=self.entries[at][1], timestamp_ms=at, offset=Offset(at))
            for at in offsets
        ]


def _parts(offsets: list[int]) -> Iterator[list[int]]:
    for first in range(0, len(offsets), RECORDS_OF_A_BATCH):
        yield offsets[first : first + RECORDS_OF_A_BATCH]


entries = st.lists(
    st.tuples(st.none() | st.sampled_from([b"a", b"b", b"c", b"d"]), st.none() | st.binary(max_size=2)), max_size=25
)
keyed = st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.none() | st.binary(max_size=2)), max_size=25)
places = st.integers(0, 25)


@st.composite
def changes(draw: st.DrawFn) -> Callable[[CompactingLog], None]:
    """What happens before the first fetches: records are appended, and the log is compacted up to an offset."""
    plan = draw(st.lists(st.tuples(keyed, st.integers(0, 100)), max_size=6))

    def between(log: CompactingLog) -> None:
        if plan:
            appended, percent = plan.pop(0)
            log.entries += appended
            log.start = max(log.start, len(log.entries) * percent // 100)

    return between
