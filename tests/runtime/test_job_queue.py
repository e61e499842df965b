"""The order of a disk's jobs, and how their results are posted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.runtime.job_queue import JobQueue


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
