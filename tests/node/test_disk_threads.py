"""The threads that use the disk: the order of jobs, the sharing of flushes, and how the threads end."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

import pytest

from raft.core.effects import FlushLog
from raft.errors import StorageError
from raft.node.disk_threads import DiskThreads
from raft.runtime.checkpoint_pace import CheckpointPace
from raft.runtime.disk import DiskListener
from raft.runtime.flusher import Flusher
from raft.runtime.job_queue import JobQueue
from raft.runtime.scheduler import Action, Timer
from raft.types import Offset
from tests.hang import HANG_S


class Loop:
    """A scheduler that keeps posted actions until the test runs them."""

    def __init__(self) -> None:
        self._posted: queue.Queue[Action] = queue.Queue()
        self.failures: list[BaseException] = []

    def post(self, action: Action) -> None:
        self._posted.put(action)

    def failed(self, error: BaseException) -> None:
        self.failures.append(error)

    def run_once(self) -> None:
        self._posted.get(timeout=HANG_S)()

    @property
    def is_quiet(self) -> bool:
        return self._posted.empty()

    def now_ms(self) -> int:
        return 0

    def wall_clock_ms(self) -> int:
        return 0

    def soon(self, action: Action) -> None:
        raise AssertionError("the threads only post")

    def at(self, due_ms: int, action: Action) -> Timer:
        raise AssertionError("the threads only post")


class Disk:
    """The threads, and what they work on."""

    def __init__(
        self,
        loop: Loop,
        *,
        flush: Callable[[], object] = lambda: None,
        flushed: Callable[[FlushLog], None] = lambda _: None,
        write_checkpoints: Callable[[], object] = lambda: None,
        interval_s: float = 0.0,
    ) -> None:
        self._threads = DiskThreads(loop)
        self.jobs = JobQueue(post=loop.post, failed=loop.failed, wake=self._threads.job_waits)
        self.log_lock = self._threads.log_lock
        self._listener = DiskListener(
            flushed=flushed,
            rolled=lambda: None,
            room=lambda _error, _end: None,
            damaged=lambda _report: None,
            failed=loop.failed,
        )
        self._flusher = Flusher(
            flush=flush,
            write_checkpoints=lambda: write_checkpoints() is not False,
            pace=CheckpointPace(interval_s),
        )

    def start(self) -> None:
        self._threads.start(self.jobs, self._flusher, self._listener)

    def stop(self) -> None:
        self._threads.stop()

    def order(self, order: FlushLog) -> None:
        self._flusher.order(order)
        self._threads.flush_waits()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def disk(loop: Loop) -> Iterator[Disk]:
    disk = Disk(loop)
    disk.start()
    yield disk
    disk.stop()


def test_later_results_are_reported_when_one_callback_raises(loop: Loop, disk: Disk) -> None:
    broken = RuntimeError("broken")
    told: list[int] = []
    may_begin = threading.Event()

    def fail(_result: object) -> None:
        raise broken

    disk.jobs.put(may_begin.wait)
    disk.jobs.put(lambda: 1, fail)
    disk.jobs.put(lambda: 2, told.append)
    may_begin.set()
    loop.run_once()
    if not told:
        loop.run_once()

    assert told == [2]
    assert loop.failures == [broken]


def test_disk_does_jobs_in_order_and_reports_their_results(loop: Loop, disk: Disk) -> None:
    log: list[str] = []
    told: list[str] = []

    disk.jobs.put(lambda: log.append("record"))
    disk.jobs.put(lambda: log[-1], told.append)
    loop.run_once()

    assert told == ["record"]


def test_jobs_that_can_wait_are_done_one_at_a_time_after_the_others(loop: Loop, disk: Disk) -> None:
    done: list[str] = []
    gate = threading.Event()

    def first_later() -> None:
        done.append("later 1")
        disk.jobs.put(lambda: done.append("urgent 2"))

    disk.jobs.put(lambda: gate.wait(HANG_S))
    disk.jobs.put_later(first_later)
    disk.jobs.put_later(lambda: done.append("later 2"), lambda _: done.append("told of 2"))
    disk.jobs.put(lambda: done.append("urgent 1"))
    gate.set()
    loop.run_once()

    assert done == ["urgent 1", "later 1", "urgent 2", "later 2", "told of 2"]


def test_results_are_reported_together_when_their_jobs_waited_together(loop: Loop, disk: Disk) -> None:
    told: list[int] = []
    gate = threading.Event()
    disk.jobs.put(lambda: gate.wait(HANG_S))
    for number in range(5):
        disk.jobs.put(lambda number=number: number, told.append)  # type: ignore[misc]

    gate.set()
    loop.run_once()

    assert told == [0, 1, 2, 3, 4]
    assert loop.is_quiet


def test_disk_finishes_what_is_queued_before_it_ends(loop: Loop) -> None:
    done: list[int] = []
    disk = Disk(loop)
    for number in range(3):
        disk.jobs.put(lambda number=number: done.append(number))  # type: ignore[misc]
    disk.start()

    disk.stop()

    assert done == [0, 1, 2]


@pytest.mark.rule("LOG-17")
def test_disk_does_nothing_after_a_refusal(loop: Loop, disk: Disk) -> None:
    done: list[str] = []
    refusal = StorageError("cannot write x: No space left on device")

    def write() -> None:
        raise refusal

    disk.jobs.put(write)
    disk.jobs.put(lambda: done.append("next"))
    loop.run_once()
    disk.jobs.put(lambda: done.append("later"))
    disk.stop()

    assert loop.failures == [refusal]
    assert done == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_broken_invariant_in_a_job_is_reported_and_raised(loop: Loop, disk: Disk) -> None:
    def write() -> None:
        raise AssertionError("batch at offset 5, 4 is next")

    disk.jobs.put(write)
    loop.run_once()
    disk.stop()

    assert [str(error) for error in loop.failures] == ["batch at offset 5, 4 is next"]


class SlowDisk:
    """A disk whose flushes end when the test lets them."""

    def __init__(self) -> None:
        self.begun: queue.Queue[None] = queue.Queue()
        self._gate = threading.Semaphore(0)

    def flush(self) -> None:
        self.begun.put(None)
        assert self._gate.acquire(timeout=HANG_S), "the test lets it end"

    def let_one_end(self) -> None:
        self._gate.release()


def order(number: int) -> FlushLog:
    return FlushLog(number=number, end_offset=Offset(number * 10))


def test_orders_during_a_flush_share_the_next_flush(loop: Loop) -> None:
    slow_disk, flushed = SlowDisk(), list[FlushLog]()
    disk = Disk(loop, flush=slow_disk.flush, flushed=flushed.append)
    disk.start()
    disk.order(order(1))
    slow_disk.begun.get(timeout=HANG_S)
    for number in range(2, 50):
        disk.order(order(number))

    slow_disk.let_one_end()
    slow_disk.let_one_end()
    loop.run_once()
    loop.run_once()
    disk.stop()

    assert flushed == [order(1), order(49)]
    assert slow_disk.begun.qsize() == 1, "one flush for the 48 that waited"


def test_flush_under_way_is_finished_and_what_waits_is_dropped_at_the_end(loop: Loop) -> None:
    slow_disk, flushed = SlowDisk(), list[FlushLog]()
    disk = Disk(loop, flush=slow_disk.flush, flushed=flushed.append)
    disk.start()
    disk.order(order(1))
    slow_disk.begun.get(timeout=HANG_S)
    stopper = threading.Thread(target=disk.stop)
    stopper.start()
    disk.order(order(2))

    slow_disk.let_one_end()
    stopper.join(HANG_S)
    loop.run_once()

    assert not stopper.is_alive()
    assert flushed == [order(1)]
    assert loop.is_quiet


def test_log_is_unlocked_between_flushes_alone(loop: Loop) -> None:
    slow_disk = SlowDisk()
    disk = Disk(loop, flush=slow_disk.flush)
    disk.start()
    disk.order(order(1))
    slow_disk.begun.get(timeout=HANG_S)
    is_unlocked_meanwhile = disk.log_lock.acquire(blocking=False)

    slow_disk.let_one_end()
    loop.run_once()

    assert not is_unlocked_meanwhile
    assert disk.log_lock.acquire(timeout=HANG_S)
    disk.log_lock.release()
    disk.stop()


@pytest.mark.rule("LOG-17")
def test_flush_is_not_tried_again_after_a_refusal(loop: Loop) -> None:
    refusal = StorageError("cannot flush x: Input/output error")
    tries: list[None] = []

    def flush() -> None:
        tries.append(None)
        raise refusal

    disk = Disk(loop, flush=flush)
    disk.start()
    disk.order(order(1))
    loop.run_once()
    disk.order(order(2))
    disk.stop()

    assert loop.failures == [refusal]
    assert len(tries) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_broken_invariant_in_a_flush_is_reported_and_raised(loop: Loop) -> None:
    def flush() -> None:
        raise AssertionError("broken")

    disk = Disk(loop, flush=flush)
    disk.start()
    disk.order(order(1))
    loop.run_once()
    disk.stop()

    assert [str(error) for error in loop.failures] == ["broken"]


@pytest.mark.rule("LOG-18")
def test_checkpoints_are_written_after_the_last_flush_although_no_other_follows(loop: Loop) -> None:
    durable = 0
    written: queue.Queue[int] = queue.Queue()

    def flush() -> None:
        nonlocal durable
        durable += 10

    disk = Disk(loop, flush=flush, write_checkpoints=lambda: written.put(durable), interval_s=0.01)
    disk.start()
    disk.order(order(1))
    found = written.get(timeout=HANG_S)
    disk.order(order(2))
    while found < 20:
        found = written.get(timeout=HANG_S)
    disk.stop()

    assert found == 20
    assert not loop.failures


def test_checkpoints_are_written_again_until_they_are_complete(loop: Loop) -> None:
    responses = iter([False, False, True])
    written: queue.Queue[bool] = queue.Queue()

    def write_checkpoints() -> bool:
        is_complete = next(responses)
        written.put(is_complete)
        return is_complete

    disk = Disk(loop, write_checkpoints=write_checkpoints, interval_s=0.01)
    disk.start()
    disk.order(order(1))

    found = [written.get(timeout=HANG_S) for _ in range(3)]
    disk.stop()

    assert found == [False, False, True]
    assert not loop.failures


def test_flush_is_reported_before_the_checkpoints_are_written(loop: Loop) -> None:
    told: list[FlushLog] = []
    slow_disk = SlowDisk()
    disk = Disk(loop, flushed=told.append, write_checkpoints=slow_disk.flush)
    disk.start()
    disk.order(order(1))

    slow_disk.begun.get(timeout=HANG_S)
    loop.run_once()

    assert told == [order(1)]
    slow_disk.let_one_end()
    disk.stop()


def test_log_is_locked_while_checkpoints_are_written(loop: Loop) -> None:
    slow_disk = SlowDisk()
    disk = Disk(loop, write_checkpoints=slow_disk.flush)
    disk.start()
    disk.order(order(1))
    slow_disk.begun.get(timeout=HANG_S)

    is_unlocked = disk.log_lock.acquire(blocking=False)

    assert not is_unlocked
    slow_disk.let_one_end()
    disk.stop()


@pytest.mark.rule("LOG-17")
def test_nothing_is_flushed_after_a_checkpoint_was_refused(loop: Loop) -> None:
    refusal = StorageError("cannot write x: No space left on device")
    flushes: list[None] = []

    def refuse() -> None:
        raise refusal

    disk = Disk(loop, flush=lambda: flushes.append(None), write_checkpoints=refuse)
    disk.start()
    disk.order(order(1))
    loop.run_once()
    loop.run_once()
    disk.order(order(2))
    disk.stop()

    assert loop.failures == [refusal]
    assert len(flushes) == 1
