"""The power fails at every single call to the disk, and the log is opened again.

What must hold: everything that a flush reported is there, what is there is what was written, in order and without
gaps, and the log never reports lost records when none are lost.
"""

import pytest

from raft.storage.log import Log
from raft.types import Batch, Offset
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import batch, batches, check_indexes, content, crash_at_every_call, open_log, recovery_point

SMALL = batch(0).header.size_bytes
SEGMENT_BYTES = 3 * SMALL


def opened(files: MemoryFiles) -> Log:
    return open_log(files, segment_bytes=SEGMENT_BYTES)


class Promise:
    """What a run has reported as flushed before the power failed: everything below `durable` must remain."""

    def __init__(self) -> None:
        self.durable = 0


def test_flushed_batches_are_there_when_the_power_fails_while_appending() -> None:
    written = batches([1] * 8)
    promise = Promise()

    def append_and_flush(files: MemoryFiles) -> None:
        promise.durable = 0
        log = opened(files)
        for start in range(0, 8, 2):
            log.append(written[start : start + 2])
            promise.durable = log.flush()
            recovery_point(files).advance(Offset(promise.durable))

    for case, files in crash_at_every_call(lambda files: None, append_and_flush):
        log = opened(files)
        found = content(log)
        assert found == written[: len(found)], case
        assert len(found) >= promise.durable, case
        check_indexes(files)


def test_log_is_old_or_shorter_when_the_power_fails_while_truncating() -> None:
    written = batches([1] * 10)
    ends = set()

    def prepare(files: MemoryFiles) -> None:
        log = opened(files)
        log.append(written)
        log.close()
        assert recovery_point(files).offset == 10

    for case, files in crash_at_every_call(prepare, lambda files: opened(files).truncate(Offset(4))):
        log = opened(files)
        found = content(log)
        assert found == written[: len(found)], case
        assert len(found) >= 4, case
        if "finished" in case:
            assert len(found) == 4, case
        ends.add(len(found))
        check_indexes(files)

    assert {4, 10} <= ends


@pytest.mark.parametrize("cut", [1, 3, 4, 6])
def test_new_batches_are_never_before_old_ones_when_the_power_fails_after_truncating(cut: int) -> None:
    old = batches([1] * 7)
    # The sizes and offsets are equal, so without this check a mix of old and new batches would look whole.
    new = batches([1] * (7 - cut), start=cut, epoch=1, value=b"VALUE")

    def prepare(files: MemoryFiles) -> None:
        log = opened(files)
        log.append(old)
        log.close()

    def truncate_and_append(files: MemoryFiles) -> None:
        log = opened(files)
        log.truncate(Offset(cut))
        for one in new:
            log.append([one])
        log.flush()

    for case, files in crash_at_every_call(prepare, truncate_and_append):
        found = content(opened(files))
        histories: tuple[list[Batch], ...] = (old, old[:cut] + new)
        assert any(found == history[: len(found)] for history in histories), case
        assert len(found) >= cut, case


def test_log_is_whole_when_the_power_fails_while_closing() -> None:
    written = batches([1] * 5)

    def run(files: MemoryFiles) -> None:
        log = opened(files)
        log.append(written)
        log.close()

    for case, files in crash_at_every_call(lambda files: None, run):
        found = content(opened(files))
        assert found == written[: len(found)], case
        if "finished" in case:
            assert found == written, case


def test_log_survives_a_crash_of_the_recovery_from_a_crash() -> None:
    written = batches([1] * 5)

    def crash_with_torn_end(files: MemoryFiles) -> None:
        log = opened(files)
        log.append(written[:4])
        log.flush()
        log.append(written[4:])
        tail = iter((1, 30))
        files.crash(lambda n: min(n - 1, next(tail, 1)))

    for case, files in crash_at_every_call(crash_with_torn_end, opened):
        found = content(opened(files))
        assert found == written[: len(found)], case
        assert len(found) >= 4, case
