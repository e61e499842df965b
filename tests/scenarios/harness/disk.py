"""A node's disk: the stored election state, and the log with its flushed part. It outlives crashes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from raft.core.effects import AppendLeaderChange, ReadRange
from raft.core.log_view import LogView
from raft.types import Batch, BatchHeader, ControlType, ElectionState, Epoch, Offset
from tests.scenarios.harness.arguments import epoch_and_offset, whole_number
from tests.scenarios.harness.errors import ScenarioError

_BATCH_BYTES = 100


class Disk:
    """What a crash leaves: `election_state`, and of the log what lies below `flushed_end`."""

    def __init__(self) -> None:
        self.election_state: ElectionState | None = None
        self.batches: list[Batch] = []
        self.flushed_end = Offset(0)

    @property
    def end_offset(self) -> Offset:
        """One past the last record."""
        return self.batches[-1].header.end_offset if self.batches else Offset(0)

    def log_view(self) -> LogView:
        """The log as a node sees it when it starts."""
        log = LogView()
        for batch in self.batches:
            log.append(batch.header)
        return log

    def append(self, batches: Iterable[Batch]) -> None:
        """Write batches at the end, not flushed yet."""
        for batch in batches:
            assert batch.header.base_offset == self.end_offset, "a batch must begin where the log ends"
            self.batches.append(batch)

    def append_leader_change(self, order: AppendLeaderChange) -> None:
        """Write the record that opens an epoch."""
        self.append([_batch(order.base_offset, order.epoch, control_types=(ControlType.LEADER_CHANGE,))])

    def truncate(self, end_offset: Offset) -> None:
        """Remove what lies at `end_offset` or past it."""
        self.batches = [batch for batch in self.batches if batch.header.end_offset <= end_offset]
        assert self.end_offset == end_offset, f"offset {end_offset} lies inside a batch"
        self.flushed_end = min(self.flushed_end, end_offset)

    def flush(self, end_offset: Offset) -> None:
        """Bring everything below to safety."""
        self.flushed_end = max(self.flushed_end, min(end_offset, self.end_offset))

    def lose_unflushed(self) -> None:
        """The power is cut, and nothing of the cache was written."""
        self.truncate(self.flushed_end)

    def read(self, asked: ReadRange) -> tuple[Batch, ...]:
        """Whole batches of a range: at least one, and no more than fit."""
        found: list[Batch] = []
        size_bytes = 0
        for batch in self.batches:
            header = batch.header
            if header.end_offset <= asked.start_offset or header.end_offset > asked.end_offset:
                continue
            size_bytes += header.size_bytes
            if found and size_bytes > asked.max_bytes:
                break
            found.append(batch)
        return tuple(found)


def written_log(notation: str) -> list[Batch]:
    """Read `1@0,3@10..15`: epoch 1 from offset 0, epoch 3 from 10, the log ends at 15. Each record is its own batch.

    Raises:
        ScenarioError: the notation is wrong, or an epoch or offset does not rise.
    """
    epochs, _, end = notation.partition("..")
    starts = [epoch_and_offset(word) for word in epochs.split(",")]
    ends = [*(start for _, start in starts[1:]), Offset(whole_number(end))]
    if starts[0][1] != 0 or any(not (one[0] < two[0] and one[1] < two[1]) for one, two in pairwise(starts)):
        raise ScenarioError(f"`{notation}`: a log begins at offset 0, its epochs and offsets rise")
    return [
        _batch(Offset(offset), epoch)
        for (epoch, start), stop in zip(starts, ends, strict=True)
        for offset in range(start, stop)
    ]


def data_batch(record_count: int) -> Batch:
    """A batch as a client sends it: its place in the log is not known yet."""
    return _batch(Offset(0), Epoch(0), record_count=record_count)


def _batch(base_offset: Offset, epoch: Epoch, *, record_count: int = 1, control_types: tuple[int, ...] = ()) -> Batch:
    header = BatchHeader(
        base_offset=base_offset,
        last_offset=Offset(base_offset + record_count - 1),
        epoch=epoch,
        size_bytes=_BATCH_BYTES,
        record_count=record_count,
        control_types=control_types,
    )
    return Batch(header=header, payload=b"")
