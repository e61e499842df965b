"""The guarantee for threads: a flush on one thread while another appends and reads."""

import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from raft.records.batches import read_batches
from raft.storage.files import Files
from raft.storage.log import Log
from raft.types import Batch, Offset
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import batch, content, open_log

TraceFunction = Callable[[FrameType, str, Any], Any]

BATCHES = 400
SEGMENT_BYTES = 10 * batch(0).header.size_bytes


@pytest.fixture(autouse=True)
def hasty_threads() -> Iterator[None]:
    """Switch threads as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Flusher:
    """Flushes a log again and again on a separate thread, until `stop`."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._stopped = threading.Event()
        self.ends: list[int] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.ends.append(self._log.flush())

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


def append_and_read_all(log: Log) -> None:
    for offset in range(BATCHES):
        log.append([batch(offset, epoch=1 + offset // 50)])
        (found,) = list(read_batches(log.read(Offset(offset // 2), max_bytes=1, end_offset=log.end_offset)))
        assert found.header.base_offset == offset // 2


def test_flush_reports_only_what_is_on_the_disk_when_another_thread_appends() -> None:
    for _ in range(5):
        files = MemoryFiles()
        log = open_log(files, segment_bytes=SEGMENT_BYTES)
        flusher = Flusher(log)
        append_and_read_all(log)
        flusher.stop()

        files.crash()

        reopened = open_log(files, segment_bytes=SEGMENT_BYTES)
        assert reopened.end_offset >= flusher.ends[-1]
        assert flusher.ends == sorted(flusher.ends)
        found = content(reopened)
        assert found == [batch(offset, epoch=1 + offset // 50) for offset in range(len(found))]


def test_flush_reports_only_what_is_on_the_disk_when_another_thread_rolls_at_any_line() -> None:
    # Threads rarely meet at the critical moment, so here the other one's work is done at each line of flush in turn.
    line = 0
    reached = True
    while reached:
        line += 1
        files = MemoryFiles()
        log = open_log(files, segment_bytes=SEGMENT_BYTES)
        log.append([batch(offset) for offset in range(10)])
        more = [batch(offset, epoch=2) for offset in range(10, 15)]

        end_offset, reached = _flush_and_append_at_line(log, line, more)

        files.crash()
        assert open_log(files, segment_bytes=SEGMENT_BYTES).end_offset >= end_offset, f"line {line}"

    assert line > 8


def _flush_and_append_at_line(log: Log, line: int, more: list[Batch]) -> tuple[Offset, bool]:
    """Flush, and append when so many lines of it were run. Return its result, and whether there are so many lines."""
    lines_left = line

    def at_line(frame: FrameType, event: str, _argument: object) -> TraceFunction | None:
        nonlocal lines_left
        if frame.f_code is not Log.flush.__code__:
            return None
        if event == "line":
            lines_left -= 1
            if lines_left == 0:
                log.append(more)
        return at_line

    before = sys.gettrace()
    sys.settrace(at_line)
    try:
        end_offset = log.flush()
    finally:
        sys.settrace(before)
    return end_offset, lines_left <= 0


def test_log_is_whole_when_flushed_and_appended_at_the_same_time(files: Files) -> None:
    log = open_log(files, segment_bytes=SEGMENT_BYTES)
    flusher = Flusher(log)
    append_and_read_all(log)
    flusher.stop()
    log.close()

    log = open_log(files, segment_bytes=SEGMENT_BYTES)

    assert len(content(log)) == BATCHES
    log.close()


def test_files_in_memory_lose_no_name_when_two_threads_flush_the_same_folder() -> None:
    files = MemoryFiles()
    files.make_directory("log")
    is_over = threading.Event()

    def flush_names() -> None:
        while not is_over.is_set():
            files.sync_directory("log")

    other = threading.Thread(target=flush_names)
    other.start()
    for number in range(5000):
        files.create(f"log/{number}")
        files.sync_directory("log")
    is_over.set()
    other.join()

    files.crash()

    assert len(files.names_in("log")) == 5000
