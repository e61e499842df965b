"""An idempotent producer, as Kafka's clients are."""

from __future__ import annotations

from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Batch
from tests.simulation.clients.caller import Caller
from tests.simulation.clients.writer import Writer
from tests.simulation.dice import Dice
from tests.simulation.invariants.observer import Observer
from tests.simulation.plan import ClientPlan
from tests.simulation.timeline import Timeline

_PRODUCER_IDS = 1 << 61
_MOST_RECORDS = 3


class Producer(Writer):
    """Numbers its records, and may have several batches under way.

    From the oldest one that is not settled to the newest there are never more than `window`: nodes remember the last
    five batches of a producer, and what they have forgotten they cannot recognise.
    """

    def __init__(
        self, name: str, caller: Caller, *, timeline: Timeline, dice: Dice, plan: ClientPlan, watch: Observer
    ) -> None:
        super().__init__(name, caller, timeline=timeline, dice=dice, plan=plan, watch=watch)
        self._producer_id = dice.draw(_PRODUCER_IDS)
        self._next_sequence = 0
        self._made_since_oldest = 0

    def _make_more(self) -> None:
        if not self.has_unsettled:
            self._made_since_oldest = 0
        if self._made_since_oldest < self._plan.window:
            self._made_since_oldest += 1
            self._write(self._make_batch())

    def _make_batch(self) -> Batch:
        sequence = self._next_sequence
        self._next_sequence += 1 + self._dice.draw(_MOST_RECORDS)
        payload = build_batch(
            [
                Record(
                    value=b"record %d of producer %d" % (number, self._producer_id), timestamp_ms=self._wall_clock_ms
                )
                for number in range(sequence, self._next_sequence)
            ],
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=sequence,
        )
        return Batch(header=read_header(payload), payload=payload)
