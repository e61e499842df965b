"""Appends rows with unique values to the source during a run, in small writes and in large ones."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa

from datasource.options import WriteOptions
from datasource.write_commit import append_rows
from datasource.write_task import collect_rows
from raft.client import WriteKey
from raft.errors import QuorumUnavailableError, RaftError
from tests.workload.history import History, now_ns
from tests.workload.worker import Worker

_IMPATIENT_MS = 3_000
"""Appends time out during some faults, and are repeated under the same key."""

_PAUSE_S = (0.02, 0.15)
_SMALL_ROWS = (1, 20)
_LARGE_ROWS = (500, 6_000)
_ROW_BYTES = (40, 400)
_LARGE_EVERY = 40
"""About one write of so many is large, so that micro-batches between two large writes are small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FedWrite:
    """One write of the feeder.

    Fields:
        first, count: the numbers of its rows.
        row_bytes: the length of each value.
        invoked_ns: before its first request was sent.
        acknowledged_ns: after the leader's acknowledgement; None without: all of it may be in the source, or none.
    """

    first: int
    count: int
    row_bytes: int
    invoked_ns: int
    acknowledged_ns: int | None = None

    def values(self) -> list[bytes]:
        """Return its values, each of which is unique."""
        return [f"{number:010}".encode().ljust(self.row_bytes, b".") for number in range(self.first, self.end)]

    @property
    def is_acknowledged(self) -> bool:
        """Whether the leader has acknowledged it."""
        return self.acknowledged_ns is not None

    @property
    def end(self) -> int:
        """One past the number of its last row."""
        return self.first + self.count


class Feeder(Worker):
    """Writes as the batch sink does in a task and in the driver: a large write is appended in parts.

    Args:
        name: see `Worker`.
        history: gets the error that ends it, if any.
        options: of the source.
        seed: decides sizes and pauses.

    Attributes:
        writes: what was written so far.
        repetitions: how many attempts had an unknown outcome and were repeated.
    """

    def __init__(self, name: str, history: History, options: Mapping[str, str], seed: int) -> None:
        super().__init__(name, history)
        self.writes: list[FedWrite] = []
        self.repetitions = 0
        self._dice = Random(f"{seed}-feeder")
        self._options = WriteOptions.of({**options, "kraft.default.api.timeout.ms": str(_IMPATIENT_MS)})
        self._writer_id = str(uuid.UUID(int=self._dice.getrandbits(128)))

    def _run(self) -> None:
        while not self._is_stopping.wait(self._dice.uniform(*_PAUSE_S)):
            self._write()

    def _write(self) -> None:
        rows = _LARGE_ROWS if self._dice.randrange(_LARGE_EVERY) == 0 else _SMALL_ROWS
        first = self.writes[-1].end if self.writes else 0
        write = FedWrite(
            first=first,
            count=self._dice.randint(*rows),
            row_bytes=self._dice.randint(*_ROW_BYTES),
            invoked_ns=now_ns(),
        )
        self.writes.append(write)
        key = WriteKey(self._writer_id, len(self.writes))
        while not self._is_written(write, key):
            self.repetitions += 1
        self.writes[-1] = replace(write, acknowledged_ns=now_ns())

    def _is_written(self, write: FedWrite, key: WriteKey) -> bool:
        rows = pa.RecordBatch.from_pydict({"value": pa.array(write.values(), pa.binary())})
        try:
            task = collect_rows([rows], self._options, key, partition_id=0)
            append_rows(self._options, key, [task], what=f"write {key.version}", conflict_remedy="It is not expected.")
        except QuorumUnavailableError:
            return False
        except RaftError:
            # The parts of the write were aborted after transaction.max.timeout.ms: all of them are appended again.
            if self._is_stopping.wait(_PAUSE_S[1]):
                raise
            return False
        return True
