"""Flushes of the log that wait are done together, and checkpoints follow them at their pace."""

from __future__ import annotations

import pytest

from raft.core.effects import FlushLog
from raft.errors import StorageError
from raft.runtime.checkpoint_pace import CheckpointPace
from raft.runtime.flusher import Flusher
from raft.types import Offset

INTERVAL_S = 1.0


def order(number: int) -> FlushLog:
    return FlushLog(number=number, end_offset=Offset(number * 10))


class Disk:
    """Counts flushes and checkpoints."""

    def __init__(self, *, is_complete: bool = True, refusal: StorageError | None = None) -> None:
        self._is_complete = is_complete
        self._refusal = refusal
        self.flushes = 0
        self.checkpoints = 0
        self.flusher = Flusher(
            flush=self._flush, write_checkpoints=self._write_checkpoints, pace=CheckpointPace(INTERVAL_S)
        )

    def _flush(self) -> None:
        self.flushes += 1
        if self._refusal is not None:
            raise self._refusal

    def _write_checkpoints(self) -> bool:
        self.checkpoints += 1
        return self._is_complete


@pytest.mark.parametrize("count", [pytest.param(1, id="one order"), pytest.param(48, id="many orders")])
def test_flusher_fulfils_all_orders_that_wait_with_one_flush(count: int) -> None:
    disk = Disk()
    orders = [order(number) for number in range(count)]
    for each in orders:
        disk.flusher.order(each)

    assert disk.flusher.flush() == orders
    assert disk.flushes == 1
    assert not disk.flusher.has_orders


def test_flusher_fulfils_a_later_order_with_the_next_flush() -> None:
    disk = Disk()
    disk.flusher.order(order(1))
    first = disk.flusher.flush()
    disk.flusher.order(order(2))

    assert (first, disk.flusher.has_orders) == ([order(1)], True)
    assert disk.flusher.flush() == [order(2)]


@pytest.mark.parametrize(
    ("is_complete", "waits_s"),
    [
        pytest.param(True, [None, 0.0, None, 0.75], id="checkpoints say everything"),
        pytest.param(False, [None, 0.0, 0.75, 0.75], id="more is committed later"),
    ],
)
def test_checkpoints_follow_flushes_at_most_once_in_an_interval(is_complete: bool, waits_s: list[float | None]) -> None:
    disk = Disk(is_complete=is_complete)
    flusher = disk.flusher
    found = [flusher.checkpoint_wait_s(100.0)]

    flusher.order(order(1))
    flusher.flush()
    found.append(flusher.checkpoint_wait_s(100.0))
    flusher.write_checkpoints(lambda: 100.0)
    found.append(flusher.checkpoint_wait_s(100.25))
    flusher.order(order(2))
    flusher.flush()
    found.append(flusher.checkpoint_wait_s(100.25))

    assert found == waits_s
    assert disk.checkpoints == 1


@pytest.mark.rule("LOG-17")
def test_no_checkpoint_is_due_when_the_flush_failed() -> None:
    disk = Disk(refusal=StorageError("cannot flush x: Input/output error"))
    disk.flusher.order(order(1))

    with pytest.raises(StorageError, match="Input/output error"):
        disk.flusher.flush()

    assert disk.flusher.checkpoint_wait_s(100.0) is None
