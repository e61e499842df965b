"""Clients that append while nodes stop and start, and the check that no record is lost or duplicated."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from raft.client import Client
from raft.records.record import Record
from raft.types import Offset
from tests.node.harness.batches import batch_of, batches_in, records_of
from tests.node.harness.waiting import eventually


class Appenders:
    """Threads that append unique values, each as an idempotent producer of its own.

    Args:
        make_client: makes a client of the quorum; its calls outlast any failure that the test makes.
        count: how many threads.
    """

    def __init__(self, make_client: Callable[[], Client], *, count: int = 3) -> None:
        self._make_client = make_client
        self._name = secrets.token_hex(4).encode()
        self._acknowledged: list[list[tuple[Offset, bytes]]] = [[] for _ in range(count)]
        self._is_stopping = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_stopping.set()
        for thread in self._threads:
            thread.join()

    @property
    def count(self) -> int:
        """The number of acknowledged appends."""
        return sum(map(len, self._acknowledged))

    def wait_for_progress(self, appends: int = 10) -> None:
        """Wait until so many more are acknowledged, and every thread has taken part."""
        goals = [len(done) + appends for done in self._acknowledged]
        eventually(
            lambda: (
                self._errors or all(len(done) >= goal for done, goal in zip(self._acknowledged, goals, strict=True))
            ),
            f"{appends} more appends of every thread",
            within_s=30,
        )
        assert not self._errors, self._errors

    def check(self, records: Sequence[Record]) -> None:
        """Fail unless the log holds every acknowledged value at its offset, none twice, each thread's in its order."""
        assert not self._errors, self._errors
        by_offset = {record.offset: record.value for record in records}
        values = [record.value for record in records if record.value and record.value.startswith(self._name)]
        assert len(set(values)) == len(values), "a value is there twice"
        for number, done in enumerate(self._acknowledged):
            assert done, f"thread {number} did nothing"
            assert {offset: by_offset.get(offset) for offset, _ in done} == dict(done)
            own = [value for value in values if value.split(b"-")[1] == b"%d" % number]
            assert own == sorted(own, key=lambda value: int(value.split(b"-")[2])), f"order of thread {number}"

    def _run(self, number: int) -> None:
        try:
            with self._make_client() as client:
                producer_id = client.new_producer_id()
                sequence = 0
                while not self._is_stopping.is_set():
                    value = b"%s-%d-%d" % (self._name, number, sequence)
                    appended = client.append(batch_of(value, producer_id=producer_id, sequence=sequence))
                    self._acknowledged[number].append((appended.base_offset, value))
                    sequence += 1
        except BaseException as error:
            self._errors.append(error)


def read_all(client: Client) -> list[Record]:
    """Every committed data record."""
    records: list[Record] = []
    offset, end = client.log_start_offset(), client.high_watermark()
    while offset < end:
        batches = batches_in(client.fetch(offset, max_bytes=1 << 20).records)
        records += records_of(batches)
        offset = batches[-1].header.end_offset
    return records
