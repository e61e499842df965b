"""What all clients that write have in common: each batch is asked for again, anywhere, until it is settled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from raft.core.messages import AppendResponse
from raft.defaults import WRITER_EXPIRATION_MS
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Batch
from tests.simulation.dice import Dice
from tests.simulation.invariants.observer import Observer
from tests.simulation.plan import ClientPlan
from tests.simulation.timeline import Timeline
from tests.simulation.watched import WALL_CLOCK_MS

LEAP_MS = 2 * WRITER_EXPIRATION_MS
"""How far the clocks of clients go forward, if they do."""


@dataclass(slots=True, eq=False)
class Write:
    """One batch that is to get into the log, and how often it was asked for so far."""

    batch: Batch
    attempts: int = 0
    is_settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterWorld:
    """What a writer sees of the world.

    Fields:
        timeline: virtual time.
        dice: its own.
        plan: of all clients.
        watch: told of what it asks for, and of what it is told.
    """

    timeline: Timeline
    dice: Dice
    plan: ClientPlan
    watch: Observer


class Writer(ABC):
    """Makes writes now and then, and does not rest until each is settled.

    Args:
        name: of the writer.
        world: as it sees it.
    """

    def __init__(self, name: str, world: WriterWorld) -> None:
        self.name = name
        self._timeline = world.timeline
        self._dice = world.dice
        self._plan = world.plan
        self._watch = world.watch
        self._under_way: list[Write] = []
        self._is_making = True

    @property
    def has_unsettled(self) -> bool:
        """Whether a write of it is still without a final response."""
        return bool(self._under_way)

    def begin(self) -> None:
        """Make the first write, and then others after pauses."""
        if self._is_making:
            self._make_more()
            self._timeline.after(self._dice.between(self._plan.pause_ms), self.begin)

    def make_last(self) -> None:
        """Make one more write, then no others."""
        self._is_making = False
        self._make_more()

    @abstractmethod
    def _make_more(self) -> None:
        """Begin another write, if that may be."""

    @abstractmethod
    def _ask(self, write: Write) -> None:
        """Ask for a write, for the first time or again."""

    def _write(self, batch: Batch) -> None:
        write = Write(batch)
        self._under_way.append(write)
        self._watch.write_requested(self.name, batch)
        self._ask(write)

    def _settle(self, write: Write, response: AppendResponse) -> None:
        write.is_settled = True
        self._under_way.remove(write)
        self._watch.write_settled(self.name, write.batch, response)

    def _batch_of(
        self, values: list[bytes], *, producer_id: int, producer_epoch: int, base_sequence: int, late_ms: int = 0
    ) -> Batch:
        """Build a batch whose records have the time of the writer's clock, and `late_ms` more."""
        timestamp_ms = self._wall_clock_ms + late_ms
        payload = build_batch(
            [Record(value=value, timestamp_ms=timestamp_ms) for value in values],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )
        return Batch(header=read_header(payload), payload=payload)

    @property
    def _wall_clock_ms(self) -> int:
        """What its clock shows."""
        now_ms, leap_at_ms = self._timeline.now_ms, self._plan.clocks_leap_at_ms
        has_leapt = leap_at_ms is not None and now_ms >= leap_at_ms
        return WALL_CLOCK_MS + now_ms + (LEAP_MS if has_leapt else 0)
