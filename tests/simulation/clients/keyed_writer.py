"""A writer of exactly-once keys, as the sink of a streaming query is."""

from __future__ import annotations

from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Batch
from raft.writers import WriteKey
from tests.simulation.clients.caller import Caller
from tests.simulation.clients.writer import Writer
from tests.simulation.dice import Dice
from tests.simulation.invariants.observer import Observer
from tests.simulation.plan import ClientPlan
from tests.simulation.timeline import Timeline

_RELAPSE_PERCENT = 15
"""How often a driver starts again from a checkpoint that is not the newest."""

_COPY_PERCENT = 30
"""How often it is another query, which runs from a copy of the checkpoint and has other rows."""

_REMEMBERED = 4
_LONGEST_STEP = 3
"""Versions may be left out: an empty micro-batch writes nothing."""


class KeyedWriter(Writer):
    """Writes one version after the other, and at times repeats old ones, as a driver does that was replaced.

    Now and then a driver with a copy of its checkpoint writes other rows under the last version.
    """

    def __init__(
        self, name: str, caller: Caller, *, timeline: Timeline, dice: Dice, plan: ClientPlan, watch: Observer
    ) -> None:
        super().__init__(name, caller, timeline=timeline, dice=dice, plan=plan, watch=watch)
        self._next_version = 0
        self._made: list[Batch] = []
        self._last_version = 0

    def _make_more(self) -> None:
        if self.has_unsettled:
            return
        if self._made and self._dice.chance(_RELAPSE_PERCENT):
            if self._dice.chance(_COPY_PERCENT):
                self._write(self._make_batch(self._last_version, "copy"))
                return
            for batch in self._made[-1 - self._dice.draw(len(self._made)) :]:
                self._write(batch)
            return
        self._last_version = self._next_version
        self._next_version += 1 + self._dice.draw(_LONGEST_STEP)
        self._made = [*self._made, self._make_batch(self._last_version, "row")][-_REMEMBERED:]
        self._write(self._made[-1])

    def _make_batch(self, version: int, word: str) -> Batch:
        key = WriteKey(self.name, version)
        payload = build_batch(
            [
                Record(value=f"{key.writer_id}/{version}/{word} {row}".encode(), timestamp_ms=self._wall_clock_ms)
                for row in range(1 + self._dice.draw(2))
            ],
            producer_id=key.producer_id,
            producer_epoch=key.producer_epoch,
            base_sequence=key.base_sequence,
        )
        return Batch(header=read_header(payload), payload=payload)
