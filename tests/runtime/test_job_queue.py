"""The order of a disk's jobs, and how their results are posted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.errors import DiskFullError
from raft.runtime.job_queue import JobQueue, Passing


class Queue:
    """A job queue, the jobs that it has done, and what it posted to the scheduler."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.posted: list[Callable[[], None]] = []
        self.failures: list[BaseException] = []
        self.wakes = 0
        self.jobs = JobQueue(post=self.posted.append, failed=self.failures.append, wake=self._wake)

    def _wake(self) -> None:
        self.wakes += 1

    def put(self, names: str) -> None:
        """Queue one job for each name; jobs in upper case can wait."""
        for name in names.split():
            put = self.jobs.put_later if name.isupper() else self.jobs.put
            put(lambda name=name: self.done.append(name))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("put", "done", "has_more"),
    [
        pytest.param("a b c", "a b c", False, id="in the order of put"),
        pytest.param("A b c", "b c A", False, id="one that can wait comes last"),
        pytest.param("A B c", "c A", True, id="only one that can wait"),
        pytest.param("", "", False, id="nothing waits"),
    ],
)
def test_queue_does_one_job_that_can_wait_after_all_others(put: str, done: str, has_more: bool) -> None:
    queue = Queue()
    queue.put(put)

    assert queue.jobs.do_waiting() is has_more
    assert queue.jobs.has_later is has_more
    assert queue.done == done.split()
    assert queue.wakes == len(put.split())


def test_job_that_can_wait_is_done_each_round_when_others_keep_coming() -> None:
    queue = Queue()
    queue.put("A B")

    for name in ("c", "d"):
        queue.put(name)
        queue.jobs.do_waiting()

    assert queue.done == ["c", "A", "d", "B"]


def test_job_that_can_wait_is_done_after_all_urgent_jobs_that_were_put_before_it_at_any_time() -> None:
    queue = Queue()
    queue.jobs.put(lambda: queue.put("b A"))  # as another thread may, while the last urgent job is done

    while queue.jobs.do_waiting():
        pass

    assert queue.done == ["b", "A"]


def test_queue_leaves_jobs_that_can_wait_when_only_urgent_ones_are_done() -> None:
    queue = Queue()
    queue.put("A b")

    queue.jobs.do_urgent()

    assert queue.done == ["b"]
    assert queue.jobs.has_later


def test_results_are_posted_together_when_jobs_are_done_together() -> None:
    queue = Queue()
    results: list[int] = []
    for number in range(3):
        queue.jobs.put(lambda number=number: number, results.append)  # type: ignore[misc]

    queue.jobs.do_waiting()
    (report,) = queue.posted
    report()

    assert results == [0, 1, 2]


def test_later_results_are_handed_out_when_one_callback_raises() -> None:
    queue = Queue()
    results: list[int] = []
    error = ZeroDivisionError("a bug")

    def fail(_result: int) -> None:
        raise error

    queue.jobs.put(lambda: 1, fail)
    queue.jobs.put(lambda: 2, results.append)
    queue.jobs.do_waiting()
    queue.posted[0]()

    assert results == [2]
    assert queue.failures == [error]


class Disk:
    """A queue of jobs on a disk that has room for none, one, or all of them."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.room: list[bool] = []
        self.has_room = False
        posted: list[Callable[[], None]] = []
        self._posted = posted
        self.jobs = JobQueue(
            post=posted.append,
            failed=lambda error: None,
            wake=lambda: None,
            room=lambda error: self.room.append(error is None),
        )

    def put(self, name: str, passing: Passing = Passing.NOTHING) -> None:
        """Queue a job that needs room."""

        def work() -> None:
            if not self.has_room:
                raise DiskFullError("no room")
            self.done.append(name)

        self.jobs.put(work, passing=passing)

    def put_free(self, name: str, passing: Passing) -> None:
        """Queue a job that needs no room."""
        self.jobs.put(lambda: self.done.append(name), passing=passing)

    def run(self) -> None:
        """Do what can be done now."""
        while self.jobs.do_waiting():
            pass
        while self._posted:
            self._posted.pop(0)()


@pytest.mark.rule("LOG-27")
def test_jobs_wait_in_their_order_until_there_is_room() -> None:
    disk = Disk()
    disk.put("append", Passing.IS_ADDITION)
    disk.put_free("flush", Passing.IS_ADDITION)
    disk.run()
    disk.put_free("truncate", Passing.NOTHING)
    disk.run()
    done_before = list(disk.done)

    disk.has_room = True
    disk.run()
    assert disk.jobs.waits_for_room
    disk.jobs.retry()
    disk.run()

    assert (done_before, disk.done) == ([], ["append", "flush", "truncate"])
    assert disk.room == [False, True]
    assert not disk.jobs.waits_for_room


@pytest.mark.rule("LOG-27")
def test_attempt_without_room_is_reported_each_time() -> None:
    disk = Disk()
    disk.put("append")
    for _ in range(3):
        disk.run()
        disk.jobs.retry()

    assert disk.room == [False, False, False]


@pytest.mark.parametrize(
    ("passing", "behind", "is_done"),
    [
        pytest.param(Passing.NOTHING, Passing.IS_ADDITION, False, id="a truncation behind an append"),
        pytest.param(Passing.ADDITIONS, Passing.IS_ADDITION, True, id="a read behind an append"),
        pytest.param(Passing.ADDITIONS, Passing.NOTHING, False, id="a read behind a truncation"),
        pytest.param(Passing.EVERYTHING, Passing.NOTHING, True, id="an election state behind a truncation"),
    ],
)
@pytest.mark.rule("LOG-27")
def test_job_passes_those_that_wait_for_room_as_it_may(passing: Passing, behind: Passing, is_done: bool) -> None:
    disk = Disk()
    disk.put("first", Passing.IS_ADDITION)
    disk.put_free("behind", behind)
    disk.put_free("job", passing)

    disk.run()

    assert disk.done == (["job"] if is_done else [])


@pytest.mark.parametrize(
    ("passing", "before", "is_done"),
    [
        pytest.param(Passing.ADDITIONS, Passing.IS_ADDITION, True, id="a read, an append"),
        pytest.param(Passing.ADDITIONS, Passing.NOTHING, False, id="a read, a truncation"),
        pytest.param(Passing.EVERYTHING, Passing.NOTHING, True, id="a measurement, a truncation"),
    ],
)
@pytest.mark.rule("LOG-27")
def test_job_that_can_wait_passes_those_that_wait_for_room_as_it_may(
    passing: Passing, before: Passing, is_done: bool
) -> None:
    disk = Disk()
    disk.put("first", Passing.IS_ADDITION)
    disk.put_free("before", before)
    disk.jobs.put_later(lambda: disk.done.append("job"), passing=passing)

    disk.run()
    done_before = list(disk.done)
    disk.has_room = True
    disk.jobs.retry()
    disk.run()

    assert done_before == (["job"] if is_done else [])
    assert disk.done == (["job", "first", "before"] if is_done else ["first", "before", "job"])


@pytest.mark.rule("LOG-27")
def test_jobs_that_can_wait_are_done_while_others_wait_for_room() -> None:
    disk = Disk()
    disk.put("append")
    disk.run()

    disk.jobs.put_later(lambda: disk.done.append("read"))
    disk.run()

    assert disk.done == ["read"]


@pytest.mark.rule("LOG-27")
def test_job_that_can_wait_is_repeated_when_there_was_no_room() -> None:
    disk = Disk()

    def work() -> None:
        if not disk.has_room:
            raise DiskFullError("no room")
        disk.done.append("rename")

    disk.jobs.put_later(work)
    disk.run()
    disk.put_free("append", Passing.IS_ADDITION)
    disk.has_room = True
    disk.run()
    done_before = list(disk.done)
    disk.jobs.retry()
    disk.run()

    assert (done_before, disk.done) == (["append"], ["append", "rename"])
