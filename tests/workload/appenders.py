"""Clients that append without pause while a test stops nodes, and the check that no append is lost."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from raft.client import Client, Producer
from raft.records.record import Record
from tests.node.harness.waiting import eventually
from tests.workload.history import Append, History, now_ns
from tests.workload.verdict import judge
from tests.workload.worker import Worker, stop

_PROGRESS_S = 30.0
_LONGEST_CALL_S = 90.0


class Appender(Worker):
    """An idempotent producer that appends one value after the other; any error ends it.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        make_client: makes its client, whose API timeout is longer than every failure that the test causes.
        value_bytes: the least size of a value.
    """

    def __init__(self, name: str, history: History, make_client: Callable[[], Client], *, value_bytes: int) -> None:
        super().__init__(name, history)
        self._make_client = make_client
        self._value_bytes = value_bytes
        self.acknowledged_count = 0

    def _run(self) -> None:
        with self._make_client() as client:
            producer = Producer(client)
            while not self._is_stopping.is_set():
                value = f"{self.name}-{self.acknowledged_count}".encode().ljust(self._value_bytes, b".")
                self._append(producer, value)
                self.acknowledged_count += 1

    def _append(self, producer: Producer, value: bytes) -> None:
        invoked_ns = now_ns()
        acknowledged_ns, offset = None, None
        try:
            offset = producer.append(value)
            acknowledged_ns = now_ns()
        finally:
            self._history.appended(
                Append(
                    client=self.name, value=value, invoked_ns=invoked_ns, acknowledged_ns=acknowledged_ns, offset=offset
                )
            )


class Appenders:
    """Appenders that run during the block.

    Args:
        make_client: see `Appender`.
        count: how many appenders.
        value_bytes: see `Appender`.

    Attributes:
        history: of their appends.
    """

    def __init__(self, make_client: Callable[[], Client], *, count: int = 3, value_bytes: int = 0) -> None:
        self.history = History()
        name = secrets.token_hex(4)
        self._appenders = [
            Appender(f"{name}-{number}", self.history, make_client, value_bytes=value_bytes) for number in range(count)
        ]

    def __enter__(self) -> Self:
        for appender in self._appenders:
            appender.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop(self._appenders, within_s=_LONGEST_CALL_S)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the appenders; the values of an appender begin with its name."""
        return tuple(appender.name for appender in self._appenders)

    def wait_for_progress(self, appends: int = 10) -> None:
        """Wait until every appender has so many more appends acknowledged.

        Raises:
            AssertionError: one has not in time, or has ended with an error.
        """
        goals = [(appender, appender.acknowledged_count + appends) for appender in self._appenders]

        def has_ended_or_progressed() -> bool:
            is_there = all(appender.acknowledged_count >= goal for appender, goal in goals)
            return is_there or bool(self.history.complaints)

        eventually(has_ended_or_progressed, f"{appends} more appends of every appender", within_s=_PROGRESS_S)
        assert not self.history.complaints, self.history.complaints

    def check(self, records: Iterable[Record]) -> None:
        """Fail unless each acknowledged value is in the log once, at its offset, and each appender's are in order.

        Args:
            records: the data records of the log; those of other clients do not count.

        Raises:
            AssertionError: also when an appender ended with an error, or had no append acknowledged.
        """
        prefixes = tuple(f"{name}-".encode() for name in self.names)
        log = [
            (record.offset, record.value)
            for record in records
            if record.value is not None and record.value.startswith(prefixes)
        ]
        verdict = judge(self.history, log)
        assert verdict.is_fine, str(verdict)
        idle = set(self.names) - {
            append.client for append in self.history.appends if append.acknowledged_ns is not None
        }
        assert not idle, f"no append was acknowledged to {sorted(idle)}"
