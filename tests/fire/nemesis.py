"""Strikes one fault after the other, in rounds; each round has every kind once, in an order that the seed decides."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from tests.fire.faults import FAULTS, LONGEST_RECOVERY_S
from tests.fire.stage import CHECK_QUORUM_MS, Stage

_FAULT_S = (1.2 * CHECK_QUORUM_MS / 1000, 6.0)
"""Longer than the fetch timeout of a follower and the check-quorum timeout of a leader."""

_BATCHES_BETWEEN = (1, 12)
"""How many micro-batches are committed before the next fault."""

_STRIKES_AT_ONCE = 0.2
"""The share of faults that strike before the query has recovered from the fault before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedFault:
    """One fault that has ended.

    Fields:
        at_s: when it began, in seconds from the begin of the run.
        kind: its name in `FAULTS`.
        what: what was done.
        recovery_s: the time from its end until the query committed a micro-batch; None if the next fault struck before.
    """

    at_s: float
    kind: str
    what: str
    recovery_s: float | None


def in_rounds(kinds: Sequence[str], seed: int) -> Iterator[str]:
    """Yield kinds without end: each one once in every round, in an order that depends on the seed alone."""
    order = Random(f"{seed}-order")
    while True:
        yield from order.sample(kinds, len(kinds))


class Nemesis:
    """Strikes some faults.

    Args:
        stage: everything runs.
        kinds: names in `FAULTS`.
        seed: decides their order, how long they last, and the pauses between them.
        tell: called after each fault.
    """

    def __init__(self, stage: Stage, *, kinds: Sequence[str], seed: int, tell: Callable[[EndedFault], None]) -> None:
        self._kinds = in_rounds(kinds, seed)
        self._stage = stage
        self._dice = Random(seed)
        self._tell = tell
        self._started_s = time.monotonic()

    def strike(self, count: int) -> None:
        """Strike some faults, and return when the query has recovered from the last one.

        Raises:
            AssertionError: a node ended by itself, or the query commits nothing after the end of a fault.
        """
        for number, kind in enumerate(islice(self._kinds, count)):
            self._strike(kind, is_last=number == count - 1)

    def _strike(self, kind: str, *, is_last: bool) -> None:
        at_s = self._now_s()
        with FAULTS[kind](self._stage, self._dice) as what:
            time.sleep(self._dice.uniform(*_FAULT_S))
        recovery_s = None
        if is_last or self._dice.random() >= _STRIKES_AT_ONCE:
            recovery_s = self._recover()
        ended = [*self._stage.source.unexpected_ends(), *self._stage.sink.unexpected_ends()]
        assert not ended, ended
        self._tell(EndedFault(at_s=at_s, kind=kind, what=what, recovery_s=recovery_s))

    def _recover(self) -> float:
        ended_s = self._now_s()
        self._stage.driver.wait_for_progress(1, within_s=LONGEST_RECOVERY_S)
        recovery_s = self._now_s() - ended_s
        self._stage.driver.wait_for_progress(self._dice.randint(*_BATCHES_BETWEEN), within_s=LONGEST_RECOVERY_S)
        return recovery_s

    def _now_s(self) -> float:
        return time.monotonic() - self._started_s
