"""The base of all clients that write: they send each batch again, to any node, until it is settled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from zlib import crc32

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

JUMP_MS = 2 * WRITER_EXPIRATION_MS
"""How far the clients' clocks jump ahead."""


_TOMBSTONE_IN = 7
"""One record in so many has no value."""


def key_of(value: bytes, keys: int) -> bytes:
    """Return the key of the record with this value, one of `keys`."""
    return f"key {crc32(value[::-1]) % keys}".encode()


@dataclass(slots=True, eq=False)
class Write:
    """One batch of a client, and how many times it was sent."""

    batch: Batch
    attempts: int = 0
    is_settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterWorld:
    """The parts of the world that a writer uses.

    Fields:
        timeline: virtual time.
        dice: the random numbers of the writer.
        plan: the plan of all clients.
        watch: receives the writes and their outcomes.
    """

    timeline: Timeline
    dice: Dice
    plan: ClientPlan
    watch: Observer


class Writer(ABC):
    """Makes writes with pauses between them, and sends each again until it is settled: until its outcome is final.

    Args:
        name: the name of the writer.
        world: the parts of the world that it uses.
    """

    def __init__(self, name: str, world: WriterWorld) -> None:
        self.name = name
        self._timeline = world.timeline
        self._dice = world.dice
        self._plan = world.plan
        self._watch = world.watch
        self._in_flight: list[Write] = []
        self._is_making = True

    @property
    def has_unsettled(self) -> bool:
        """Whether a write has no final outcome yet."""
        return bool(self._in_flight)

    def begin(self) -> None:
        """Make the first write, and then others after pauses."""
        if self._is_making:
            self._make_more()
            self._timeline.after(self._dice.between(self._plan.pause_ms), self.begin)

    def make_last(self) -> None:
        """Make one more write, and then no other."""
        self._is_making = False
        self._make_more()

    @abstractmethod
    def _make_more(self) -> None:
        """Make another write, if the writer may have one more in flight."""

    @abstractmethod
    def _send(self, write: Write) -> None:
        """Send a write, for the first time or again."""

    def _write(self, batch: Batch) -> None:
        write = Write(batch)
        self._in_flight.append(write)
        self._watch.write_requested(self.name, batch)
        self._send(write)

    def _settle(self, write: Write, response: AppendResponse) -> None:
        write.is_settled = True
        self._in_flight.remove(write)
        self._watch.write_settled(self.name, write.batch, response)

    def _batch_of(
        self, values: list[bytes], *, producer_id: int, producer_epoch: int, base_sequence: int, late_ms: int = 0
    ) -> Batch:
        """Build a batch whose records have the timestamp of the writer's clock plus `late_ms`; some have no value."""
        timestamp_ms = self._wall_clock_ms + late_ms
        payload = build_batch(
            [
                Record(
                    key=key_of(value, self._plan.keys),
                    value=None if self._is_tombstone(value) else value,
                    timestamp_ms=timestamp_ms,
                )
                for value in values
            ],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )
        return Batch(header=read_header(payload), payload=payload)

    def _is_tombstone(self, value: bytes) -> bool:
        """Whether this value is left out, so that the record deletes its key."""
        return self._plan.has_tombstones and crc32(value) % _TOMBSTONE_IN == 0

    @property
    def _wall_clock_ms(self) -> int:
        """The writer's clock."""
        now_ms, jump_at_ms = self._timeline.now_ms, self._plan.clocks_jump_at_ms
        has_jumped = jump_at_ms is not None and now_ms >= jump_at_ms
        return WALL_CLOCK_MS + now_ms + (JUMP_MS if has_jumped else 0)
