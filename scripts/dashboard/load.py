"""Load on a quorum: clients that append, a client that reads, and one whose records are refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from raft.client import Client
from raft.errors import RaftError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Offset

_KEYS = 2_000
_RECORDS = 20
_PAUSE_S = 0.02
_REFUSED_PAUSE_S = 0.5


class Load:
    """Threads that use a quorum until the end of the block; after an error they go on.

    Args:
        make_client: makes a client of the quorum, which has `cleanup.policy=compact`.
    """

    def __init__(self, make_client: Callable[[], Client]) -> None:
        self._make_client = make_client
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(work,)) for work in (_append, _append, _Reader(), _append_refused)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[Client, int], float]) -> None:
        with self._make_client() as client:
            pause_s, number = 0.0, 0
            while not self._over.wait(pause_s):
                number += 1
                try:
                    pause_s = work(client, number)
                except RaftError:
                    pause_s = _REFUSED_PAUSE_S


def _append(client: Client, number: int) -> float:
    first = number * _RECORDS
    records = [Record(key=b"key-%d" % ((first + each) % _KEYS), value=b"v" * 100) for each in range(_RECORDS)]
    client.append(build_batch(records))
    return _PAUSE_S


def _append_refused(client: Client, _number: int) -> float:
    client.append(build_batch([Record(value=b"without a key")]))
    return _REFUSED_PAUSE_S


class _Reader:
    """Follows the log."""

    def __init__(self) -> None:
        self._offset: Offset | None = None

    def __call__(self, client: Client, _number: int) -> float:
        end = client.last_stable_offset()
        if self._offset is not None and self._offset < end:
            client.fetch(self._offset, max_bytes=1 << 20)
        self._offset = end
        return 5 * _PAUSE_S
