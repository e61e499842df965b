"""Searches for clients are done in pieces, with other jobs between them."""

from __future__ import annotations

from collections.abc import Callable, Generator

from raft.errors import CorruptBatchError
from raft.runtime.job_queue import JobQueue
from raft.runtime.piecewise_search import PiecewiseSearch
from tests.runtime.test_piecewise_read import run


def test_search_returns_its_result_after_the_last_piece_and_other_jobs_come_between() -> None:
    done: list[str | CorruptBatchError] = []
    posted: list[Callable[[], None]] = []
    jobs = JobQueue(post=posted.append, failed=lambda error: None, wake=lambda: None)

    def search() -> Generator[None, None, str]:
        for piece in range(3):
            done.append(f"piece {piece}")
            yield
        return "the result"

    PiecewiseSearch(jobs, search(), done.append).search_next()
    jobs.put_later(lambda: done.append("job"))
    run(jobs, posted)

    assert done == ["piece 0", "job", "piece 1", "piece 2", "the result"]


def test_search_of_one_piece_returns_its_result() -> None:
    found: list[int | CorruptBatchError] = []
    posted: list[Callable[[], None]] = []
    jobs = JobQueue(post=posted.append, failed=lambda error: None, wake=lambda: None)

    def search() -> Generator[None, None, int]:
        yield from ()
        return 5

    PiecewiseSearch(jobs, search(), found.append).search_next()
    run(jobs, posted)

    assert found == [5]
