"""A writer of large keyed writes: tasks append parts, and a driver commits them, as in the sink of this project."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from raft.client import calls
from raft.client.results import Appended
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode, RaftError, RequestError
from raft.records.batch import build_batch
from raft.records.control import write_commit_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Batch, LeaderAndEpoch, WriteCommit, WritePart, add_checksums
from raft.writers import PARTS_OF_A_WRITE, WriteKey
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.clients.our_client import OurClient
from tests.simulation.clients.writer import Write, Writer, WriterWorld, key_of

_REPLAY_PERCENT = 15
"""How often a driver was restarted and replays a write that is committed."""

_SMALL_PERCENT = 20
"""How often a write, or a replay of one, is appended as one batch."""

_KILLED_PERCENT = 6
"""How often an attempt ends before a batch, and its part stays open."""

_SPECULATION_PERCENT = 15
"""How often a task has a second attempt at the same time."""

_DRIVER_CRASH_PERCENT = 8
"""How often the driver is replaced before a commit, or after one without a response."""

_ABORT_PERCENT = 5
"""How often the driver gives up, aborts the parts and begins again."""

_MOST_FAILURES = 4
"""A driver begins again when so many attempts have failed, as Spark does; it may then append one batch."""

_GIVE_UP_PERCENT = 4
"""How often a write is given up for good, and its parts stay open."""

_PAUSE_MS = (0, 120)
"""The time that a task takes for a batch."""

_MAX_TASKS = 3
_MAX_BATCHES = 3
_MAX_ROWS = 2
_KEPT_WRITES = 3

Rows = tuple[bytes, ...]


@dataclass(eq=False)
class _Job:
    """One write.

    Fields:
        key: of the write.
        tasks: the rows of each task.
        parts: the parts that were chosen so far.
        run: how often the driver has begun; attempts of an earlier run are not chosen.
        failures: how many attempts have failed in this run.
    """

    key: WriteKey
    tasks: Sequence[Rows]
    parts: dict[int, WritePart] = field(default_factory=dict)
    run: int = 0
    failures: int = 0


@dataclass(eq=False)
class _Attempt:
    """One attempt of a task: it appends batches until all rows are sent."""

    job: _Job
    run: int
    task: int
    producer_id: int
    batches: list[Batch]
    sent: int = 0
    is_written: bool = False


class MultipartWriter(Writer):
    """Makes one write after the other; attempts and drivers may end at any point, and are repeated.

    Args:
        name: the name of the writer.
        driver: the client of the driver.
        executors: the clients of tasks, each for one attempt at a time.
        world: the parts of the world that it uses.
    """

    def __init__(self, name: str, driver: OurClient, executors: Sequence[OurClient], world: WriterWorld) -> None:
        super().__init__(name, world)
        self._driver = driver
        self._idle = list(executors)
        self._queue: list[_Attempt] = []
        self._next_version = 0
        self._job: _Job | None = None
        self._done: list[_Job] = []

    @property
    def has_unsettled(self) -> bool:
        """Whether the present write has no final outcome yet."""
        return self._job is not None

    def _make_more(self) -> None:
        if self.has_unsettled:
            return
        if self._done and self._dice.chance(_REPLAY_PERCENT):
            before = self._dice.pick(self._done)
            self._job = _Job(before.key, before.tasks)
        else:
            key = WriteKey(self.name, self._next_version)
            self._next_version += 1 + self._dice.draw(2)
            count = 1 + self._dice.draw(_MAX_TASKS)
            self._job = _Job(key, [self._rows(key, task) for task in range(count)])
            self._watch.multipart_requested(self.name, key.write_id, self._job.tasks)
        self._begin_job(self._job)

    def _rows(self, key: WriteKey, task: int) -> Rows:
        count = 1 + self._dice.draw(_MAX_BATCHES * _MAX_ROWS)
        return tuple(f"{self.name}/{key.version}/task {task} row {row}".encode() for row in range(count))

    def _begin_job(self, job: _Job) -> None:
        """Let a driver begin a write, perhaps after another one that was replaced."""
        job.run += 1
        job.failures = 0
        job.parts = {}
        self._queue.clear()
        if self._dice.chance(_SMALL_PERCENT):
            self._when_idle(job, job.run, lambda: self._append_small(job))
            return
        for task in range(len(job.tasks)):
            self._attempt(job, task)
            if self._dice.chance(_SPECULATION_PERCENT):
                self._attempt(job, task)
        self._start_attempts()

    # Tasks

    def _attempt(self, job: _Job, task: int) -> None:
        producer_id = job.key.write_id.part_producer_id(self._dice.draw(PARTS_OF_A_WRITE))
        rows, batches, sequence = list(job.tasks[task]), [], 0
        while rows:
            count = 1 + self._dice.draw(_MAX_ROWS)
            taken, rows = rows[:count], rows[count:]
            batches.append(self._part_batch(taken, producer_id, sequence))
            sequence += len(taken)
        self._queue.append(_Attempt(job, job.run, task, producer_id, batches))

    def _is_tombstone(self, value: bytes) -> bool:
        """Return False: the values of a write are compared with those of its parts."""
        return False

    def _part_batch(self, values: Sequence[bytes], producer_id: int, sequence: int) -> Batch:
        payload = build_batch(
            [
                Record(key=key_of(value, self._plan.keys), value=value, timestamp_ms=self._wall_clock_ms)
                for value in values
            ],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        return Batch(header=read_header(payload), payload=payload)

    def _start_attempts(self) -> None:
        while self._queue and self._idle:
            self._go_on(self._queue.pop(0), self._idle.pop())

    def _go_on(self, attempt: _Attempt, executor: OurClient) -> None:
        """Append the next batch of an attempt, or end it."""
        if attempt.sent == len(attempt.batches):
            self._finish(attempt)
        elif self._dice.chance(_KILLED_PERCENT):
            self._retry(attempt)
        elif attempt.is_written:
            attempt.sent += 1
            self._go_on(attempt, executor)
            return
        else:
            executor.call(
                lambda appended: self._on_appended(attempt, executor, appended),
                lambda error: self._on_failed(attempt, executor, error),
                calls.append,
                attempt.batches[attempt.sent].payload,
                transactional_id=attempt.job.key.write_id.transactional_id,
            )
            return
        self._idle.append(executor)
        self._start_attempts()

    def _on_appended(self, attempt: _Attempt, executor: OurClient, appended: Appended) -> None:
        attempt.sent += 1
        attempt.is_written = appended.is_superseded
        self._timeline.after(self._dice.between(_PAUSE_MS), lambda: self._go_on(attempt, executor))

    def _on_failed(self, attempt: _Attempt, executor: OurClient, _error: RaftError) -> None:
        self._retry(attempt)
        self._idle.append(executor)
        self._timeline.after(self._plan.retry_ms, self._start_attempts)

    def _retry(self, attempt: _Attempt) -> None:
        job = attempt.job
        if not self._is_present(attempt) or attempt.task in job.parts:
            return
        job.failures += 1
        if job.failures == _MOST_FAILURES:
            self._begin_job(job)
        else:
            self._attempt(job, attempt.task)

    def _finish(self, attempt: _Attempt) -> None:
        job = attempt.job
        if not self._is_present(attempt) or attempt.task in job.parts:
            return  # another attempt was faster, or another driver has begun
        headers = [batch.header for batch in attempt.batches]
        job.parts[attempt.task] = WritePart(
            producer_id=attempt.producer_id,
            record_count=sum(header.record_count for header in headers),
            content_checksum=add_checksums(header.content_checksum or 0 for header in headers),
        )
        if len(job.parts) == len(job.tasks):
            self._when_idle(job, job.run, lambda: self._commit(job))

    def _is_present(self, attempt: _Attempt) -> bool:
        return attempt.job is self._job and attempt.run == attempt.job.run

    # The driver

    def _when_idle(self, job: _Job, run: int, act: Callable[[], None]) -> None:
        """Act when the call of the driver before has ended; drop it if another driver has begun meanwhile."""
        if job is not self._job or run != job.run:
            return
        if self._driver.is_busy:
            self._timeline.after(self._plan.retry_ms, lambda: self._when_idle(job, run, act))
        else:
            act()

    def _commit(self, job: _Job) -> None:
        if self._dice.chance(_DRIVER_CRASH_PERCENT):
            self._begin_job(job)
            return
        if self._dice.chance(_GIVE_UP_PERCENT):
            self._job = None
            return
        if self._dice.chance(_ABORT_PERCENT):
            self._driver.call(
                lambda _: self._begin_job(job), lambda _: self._begin_job(job), calls.abort_write, job.key.write_id
            )
            return
        payload = write_commit_batch(
            WriteCommit(parts=tuple(job.parts.values())),
            producer_id=job.key.producer_id,
            producer_epoch=job.key.producer_epoch,
            base_sequence=job.key.base_sequence,
            timestamp_ms=self._wall_clock_ms,
        )
        self._append(job, payload)

    def _append_small(self, job: _Job) -> None:
        batch = self._batch_of(
            [row for rows in job.tasks for row in rows],
            producer_id=job.key.producer_id,
            producer_epoch=job.key.producer_epoch,
            base_sequence=job.key.base_sequence,
        )
        self._append(job, batch.payload)

    def _append(self, job: _Job, payload: bytes) -> None:
        batch = Batch(header=read_header(payload), payload=payload)
        self._watch.write_requested(self.name, batch)
        self._driver.call(
            lambda appended: self._on_committed(job, batch, appended),
            lambda error: self._on_not_committed(job, payload, error),
            calls.append,
            payload,
        )

    def _on_committed(self, job: _Job, batch: Batch, appended: Appended) -> None:
        error = ErrorCode.DUPLICATE_SEQUENCE_NUMBER if appended.is_superseded else ErrorCode.NONE
        base_offset = None if appended.is_superseded else appended.base_offset
        leader = LeaderAndEpoch(epoch=self._driver.session.epoch, leader_id=None)
        response = AppendResponse(error=error, base_offset=base_offset, leader=leader)
        self._watch.write_settled(self.name, batch, response)
        self._done = [*self._done, job][-_KEPT_WRITES:]
        self._job = None

    def _on_not_committed(self, job: _Job, payload: bytes, error: RaftError) -> None:
        if isinstance(error, RequestError) and error.code == ErrorCode.DUPLICATE_RESOURCE:
            detail = f"{self.name}: {job.key} was refused as written with other rows: {error}"
            raise BrokenInvariantError("MultipartWritesAreWhole", ("TXN-6",), detail)
        is_refused = isinstance(error, RequestError)
        if is_refused or self._dice.chance(_DRIVER_CRASH_PERCENT):
            self._timeline.after(self._plan.retry_ms, lambda: self._begin_again(job))
        else:
            self._timeline.after(self._plan.retry_ms, lambda: self._append(job, payload))

    def _begin_again(self, job: _Job) -> None:
        if job is self._job:
            self._begin_job(job)

    def _send(self, write: Write) -> None:
        raise NotImplementedError("its writes have their own way")
