"""The log against a list: whatever is done to both, in whatever order, they hold the same.

The model also knows what was flushed: after a crash the log is a prefix of the list, and no shorter than what the last
flush reported.
"""

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from raft.records.batches import read_batches
from raft.storage.log import Log
from raft.types import Batch, Offset
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import batch, check_indexes, content, open_log, recovery_point

SEGMENT_BYTES = 6000
TAIL_BYTES = 1500


class LogAgainstList(RuleBasedStateMachine):
    """One log on one machine, and the list of batches that it should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.files = MemoryFiles()
        self.log = self.opened()
        self.model: list[Batch] = []
        self.durable_end = 0
        self.epoch = 1

    def opened(self) -> Log:
        self.point = recovery_point(self.files)
        return open_log(self.files, segment_bytes=SEGMENT_BYTES, tail_bytes=TAIL_BYTES, point=self.point)

    @property
    def end(self) -> int:
        return self.model[-1].header.end_offset if self.model else 0

    @initialize(epoch=st.integers(0, 3))
    def begin(self, epoch: int) -> None:
        self.epoch = epoch

    @rule(
        counts=st.lists(st.integers(1, 4), min_size=1, max_size=6),
        value_bytes=st.sampled_from((1, 40, 900, 4500, 8000)),
        new_epoch=st.booleans(),
        time_ms=st.integers(-1, 100),
    )
    def append(self, counts: list[int], value_bytes: int, new_epoch: bool, time_ms: int) -> None:
        self.epoch += new_epoch
        added: list[Batch] = []
        start = self.end
        for count in counts:
            added.append(
                batch(start, epoch=self.epoch, value=b"x" * (value_bytes // count), timestamps_ms=[time_ms] * count)
            )
            start += count
        self.log.append(added)
        self.model += added

    @rule()
    def flush(self) -> None:
        assert self.log.flush() == self.end
        self.durable_end = self.end

    @rule()
    def write_recovery_point(self) -> None:
        self.point.advance(self.log.durable_end_offset)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        kept = data.draw(st.integers(0, len(self.model)))
        if kept == len(self.model):
            return
        end = self.model[kept].header.base_offset
        self.log.truncate(end)
        del self.model[kept:]
        self.durable_end = min(self.durable_end, end)
        # What a truncation leaves behind is the history of a newer leader.
        self.epoch += 1

    @precondition(lambda self: self.model)
    @rule(data=st.data(), max_bytes=st.sampled_from((1, 200, 3000, 100_000)))
    def read(self, data: st.DataObject, max_bytes: int) -> None:
        start = data.draw(st.integers(0, self.end - 1))
        end = data.draw(st.integers(start, self.end + 2))

        found = list(read_batches(self.log.read(Offset(start), max_bytes=max_bytes, end_offset=Offset(end))))

        first = next(at for at, one in enumerate(self.model) if one.header.end_offset > start)
        assert found == self.model[first : first + len(found)]
        assert all(one.header.end_offset <= end for one in found)
        assert sum(one.header.size_bytes for one in found) <= max_bytes or len(found) == 1
        assert found or self.model[first].header.end_offset > end or start == end

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.files.kill()
        self.log = self.opened()
        self.durable_end = self.end

    @rule(seed=st.none() | st.integers(0, 999))
    def crash(self, seed: int | None) -> None:
        self.files.crash(None if seed is None else random.Random(seed).randrange)
        self.log = self.opened()
        assert self.durable_end <= self.log.end_offset <= self.end
        self.model = [one for one in self.model if one.header.end_offset <= self.log.end_offset]
        self.durable_end = self.end

    @rule()
    def kill(self) -> None:
        self.files.kill()
        self.log = self.opened()
        self.durable_end = self.end

    @invariant()
    def holds_what_the_list_holds(self) -> None:
        assert self.log.end_offset == self.end
        assert content(self.log) == self.model
        starts: dict[int, int] = {}
        for one in self.model:
            starts.setdefault(one.header.epoch, one.header.base_offset)
        assert [(entry.epoch, entry.start_offset) for entry in self.log.epochs] == list(starts.items())

    @invariant()
    def has_right_indexes(self) -> None:
        check_indexes(self.files)


TestLogAgainstList = LogAgainstList.TestCase
TestLogAgainstList.settings = settings(max_examples=150, stateful_step_count=30, deadline=None, derandomize=True)
