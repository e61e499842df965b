"""The time that snapshots take, and those that fail, are measured."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry

from raft.compaction import SnapshotOrder
from raft.metrics.instruments import Instruments
from raft.metrics.snapshot_timer import SnapshotTimer
from raft.types import Epoch, Offset, OffsetAndEpoch
from tests.metrics.metered import TOPIC

ORDER = SnapshotOrder(
    base=None,
    end=OffsetAndEpoch(epoch=Epoch(1), offset=Offset(5)),
    segments=(Offset(0),),
    epochs=(),
    keeps_records=False,
)


class Maker:
    """Makes a snapshot when the test says so."""

    def __init__(self) -> None:
        self.orders: list[SnapshotOrder] = []
        self.done: Callable[[str | None], None] = lambda _: None

    def make(self, order: SnapshotOrder, done: Callable[[str | None], None]) -> None:
        self.orders.append(order)
        self.done = done


class Timed:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.now_s = 0.0
        self.maker = Maker()
        self.results: list[str | None] = []
        timer = SnapshotTimer(self.maker, Instruments(self.registry, TOPIC), lambda: self.now_s)
        timer.make(ORDER, self.results.append)

    def value(self, name: str) -> float | None:
        return self.registry.get_sample_value(name)


def test_snapshot_that_is_made_is_measured() -> None:
    timed = Timed()

    timed.now_s = 3.0
    timed.maker.done(None)

    assert (timed.maker.orders, timed.results) == ([ORDER], [None])
    assert timed.value("kraft_snapshot_duration_seconds_sum") == 3
    assert timed.value("kraft_snapshot_failures_total") == 0


def test_snapshot_that_fails_is_counted() -> None:
    timed = Timed()

    timed.maker.done("the disk has an error")

    assert timed.results == ["the disk has an error"]
    assert timed.value("kraft_snapshot_duration_seconds_count") == 0
    assert timed.value("kraft_snapshot_failures_total") == 1
