"""A client that does multipart writes, as the Spark sink does: tasks append parts, and a driver commits them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from random import Random

import pyarrow as pa

from datasource.columns import encode_batch
from datasource.parts import write_part
from raft.client import Client, WriteKey
from raft.errors import ErrorCode, RequestError
from raft.records.control import write_commit_batch
from raft.types import WriteCommit, WritePart
from tests.harness.clients.twin_writer import TwinWriter
from tests.harness.clients.unavailable import UNAVAILABLE
from tests.harness.quorum import LONGEST_TRANSACTION_MS
from tests.workload.history import Transaction, now_ns

_BATCHES = 3
"""About so many batches has a part with as many rows as it may have."""

_ROW_BYTES = 50
_LARGEST_WRITE_BYTES = 1 << 20
_MOST_TASKS = 3

_SMALL = 0.15
"""How often a write is appended as one batch, as below the switch-over."""

_SPECULATION = 0.3
"""How often a task has a second attempt, whose part is not committed."""

_DRIVER_CRASH = 0.1
"""How often a driver ends before the commit: its parts stay open until the write is repeated."""

_ABORT = 0.1
"""How often a driver aborts the parts, and the write is repeated."""

_ABORTED_MEANWHILE = (ErrorCode.INVALID_TXN_STATE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
"""A twin has committed or aborted the write, or the parts were open for too long."""

Tasks = Sequence[tuple[bytes, ...]]


class MultipartWriter(TwinWriter):
    """A twin writer of writes in parts: each must be visible once and whole, or not at all."""

    def _run(self) -> None:
        with Client(self._settings) as executor, Client(self._settings) as driver:
            version, is_done = 0, True
            while not self._is_stopping.is_set():
                key = WriteKey(self._writer_id, version)
                is_done = self._attempt(executor, driver, key, self._tasks_of(key))
                if is_done:
                    version += 1
                    self._is_stopping.wait(self._dice.uniform(0, self._longest_pause_s))
            if not is_done:
                self._give_up(driver, key, self._tasks_of(key))

    def _attempt(self, executor: Client, driver: Client, key: WriteKey, tasks: Tasks) -> bool:
        """Do a write, for the first time or again; return whether it was acknowledged."""
        is_small = self._dice.random() < _SMALL
        begun_ns = now_ns()
        end_requested_ns, wants_commit, acknowledged_ns = None, False, None
        try:
            parts = [] if is_small else self._stage(executor, key, tasks)
            fate = 1.0 if self._is_stopping.is_set() else self._dice.random()
            if fate < _DRIVER_CRASH:
                return False
            end_requested_ns = now_ns()
            if fate < _DRIVER_CRASH + _ABORT:
                driver.abort_write(key.write_id)
                return False
            wants_commit = True
            driver.append(_small_write(key, tasks) if is_small else _commit(key, parts))
            acknowledged_ns = now_ns()
        except UNAVAILABLE:
            pass
        except RequestError as error:
            if error.code not in _ABORTED_MEANWHILE:
                raise
        finally:
            self._note(tasks, begun_ns, end_requested_ns, wants_commit=wants_commit, acknowledged_ns=acknowledged_ns)
        return acknowledged_ns is not None

    def _give_up(self, driver: Client, key: WriteKey, tasks: Tasks) -> None:
        """Abort the parts of a write that is not done, so that no reader waits for them."""
        requested_ns = now_ns()
        with suppress(*UNAVAILABLE):
            driver.abort_write(key.write_id)
        self._note(tasks, requested_ns, requested_ns, wants_commit=False, acknowledged_ns=None)

    def _note(
        self,
        tasks: Tasks,
        begun_ns: int,
        end_requested_ns: int | None,
        *,
        wants_commit: bool,
        acknowledged_ns: int | None,
    ) -> None:
        self._history.transacted(
            Transaction(
                client=self.name,
                values=tuple(value for task in tasks for value in task),
                task_sizes=tuple(map(len, tasks)),
                begun_ns=begun_ns,
                wants_commit=wants_commit,
                end_requested_ns=end_requested_ns,
                acknowledged_ns=acknowledged_ns,
                timeout_ms=LONGEST_TRANSACTION_MS,
            )
        )

    def _stage(self, executor: Client, key: WriteKey, tasks: Tasks) -> list[WritePart]:
        parts, batch_bytes = [], self._most_values * _ROW_BYTES // _BATCHES
        for task in tasks:
            attempts = 2 if self._dice.random() < _SPECULATION else 1
            staged = [write_part(executor, key.write_id, batch_bytes, [_rows(task)]) for _ in range(attempts)]
            parts.append(self._dice.choice(staged))
        return parts

    def _tasks_of(self, key: WriteKey) -> Tasks:
        """Return the rows of each task. They depend on the key alone, so that twins write the same ones."""
        dice = Random(f"{key.writer_id}-{key.version}")
        sizes = [dice.randint(1, self._most_values) for _ in range(dice.randint(1, _MOST_TASKS))]
        return [
            tuple(f"{key.writer_id}-{key.version}-{task}-{row}".encode() for row in range(size))
            for task, size in enumerate(sizes)
        ]


def _rows(task: tuple[bytes, ...]) -> pa.RecordBatch:
    return pa.record_batch({"value": pa.array(task, pa.binary())})


def _small_write(key: WriteKey, tasks: Tasks) -> bytes:
    return encode_batch(
        [_rows(task) for task in tasks],
        producer_id=key.producer_id,
        producer_epoch=key.producer_epoch,
        base_sequence=key.base_sequence,
        timestamp_ms=_wall_clock_ms(),
        max_bytes=_LARGEST_WRITE_BYTES,
    )


def _commit(key: WriteKey, parts: Sequence[WritePart]) -> bytes:
    return write_commit_batch(
        WriteCommit(parts=tuple(parts)),
        producer_id=key.producer_id,
        producer_epoch=key.producer_epoch,
        base_sequence=key.base_sequence,
        timestamp_ms=_wall_clock_ms(),
    )


def _wall_clock_ms() -> int:
    return int(time.time() * 1000)
