"""Clients that append without pause, and know which values were acknowledged."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from tests.disk_faults.system import NotAcknowledgedError, System
from tests.node.harness.waiting import eventually

_WRITERS = 8
_LONGEST_CALL_S = 60.0
_VALUE_BYTES = 200


class Load:
    """Its clients append from the beginning of the block to its end.

    Attributes:
        acknowledged: the values that were acknowledged; grows while the block runs.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._is_stopping = threading.Event()
        self._lock = threading.Lock()
        self._unexpected: list[BaseException] = []
        self.acknowledged: set[bytes] = set()
        self._threads = [
            threading.Thread(target=self._append, args=(number,), daemon=True, name=f"writer {number}")
            for number in range(_WRITERS)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_stopping.set()
        for thread in self._threads:
            thread.join(_LONGEST_CALL_S)
            assert not thread.is_alive(), f"{thread.name} does not end"
        if kind is None and self._unexpected:
            raise self._unexpected[0]

    def wait_for(self, more: int, *, within_s: float) -> bool:
        """Wait until so many more values are acknowledged; return whether they were in time."""
        goal = len(self.acknowledged) + more

        def has_come() -> bool:
            return len(self.acknowledged) >= goal or bool(self._unexpected)

        try:
            eventually(has_come, f"{more} more values are acknowledged", within_s=within_s)
        except AssertionError:
            return False
        return not self._unexpected

    def _append(self, number: int) -> None:
        try:
            with self._system.writer() as append:
                count = 0
                while not self._is_stopping.is_set():
                    count += 1
                    value = f"{number}-{count}-".encode().ljust(_VALUE_BYTES, b".")
                    try:
                        append(value)
                    except NotAcknowledgedError:
                        self._is_stopping.wait(0.05)
                        continue
                    with self._lock:
                        self.acknowledged.add(value)
        except BaseException as error:
            self._unexpected.append(error)
            raise
