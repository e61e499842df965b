"""What strikes a quorum: one fault after the other, in rounds; each round has every kind once, in another order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from tests.node.harness.waiting import eventually
from tests.soak.faults import FAULTS
from tests.soak.quorum import CHECK_QUORUM_MS, LONGEST_RECOVERY_S, Quorum

SHORTEST_FAULT_S = 1.2 * CHECK_QUORUM_MS / 1000
"""So long that a follower gives its leader up, and a leader its office."""

_APPENDS_OF_CALM = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """One fault that is over.

    Fields:
        at_s: when it began, after the begin of the run.
        kind: its name.
        what: what was done, and to whom.
        recovery_s: from its end until appends went on as before.
    """

    at_s: float
    kind: str
    what: str
    recovery_s: float


class Nemesis:
    """Strikes until the time is over, and at least one round.

    Args:
        quorum: all nodes run.
        seed: says which faults come, and how long they last.
        longest_fault_s: most that a fault lasts; the least is longer than any timeout of the nodes.
        count_appends: how many are acknowledged by now.
        tell: called after each fault.
    """

    def __init__(
        self,
        quorum: Quorum,
        *,
        seed: int,
        longest_fault_s: float,
        count_appends: Callable[[], int],
        tell: Callable[[Struck], None],
    ) -> None:
        self._seen: set[str] = set()
        self._quorum = quorum
        self._seed = seed
        self._dice = Random(seed)
        self._longest_fault_s = longest_fault_s
        self._count_appends = count_appends
        self._tell = tell
        self._started_s = time.monotonic()

    def strike(self, duration_s: float) -> None:
        """Return when all is over.

        Raises:
            AssertionError: a node ended by itself, or the quorum does not serve though nothing hinders it.
        """
        kinds = self._kinds()
        while time.monotonic() < self._started_s + duration_s or len(self._seen) < len(FAULTS):
            self._strike_once(next(kinds))

    def _kinds(self) -> Iterator[str]:
        """In an order that the seed alone decides; what a fault draws for itself does not change it."""
        order = Random(f"{self._seed}-order")
        while True:
            yield from order.sample(list(FAULTS), len(FAULTS))

    def _strike_once(self, kind: str) -> None:
        at_s = self._now_s()
        with FAULTS[kind](self._quorum, self._dice) as what:
            time.sleep(self._dice.uniform(SHORTEST_FAULT_S, self._longest_fault_s))
        over_s = self._now_s()
        self._wait_for_calm(kind)
        self._seen.add(kind)
        self._tell(Struck(at_s=at_s, kind=kind, what=what, recovery_s=self._now_s() - over_s))

    def _wait_for_calm(self, kind: str) -> None:
        goal = self._count_appends() + _APPENDS_OF_CALM
        eventually(
            lambda: self._count_appends() >= goal or [*self._quorum.unexpected_ends()],
            f"{_APPENDS_OF_CALM} appends after: {kind}",
            within_s=LONGEST_RECOVERY_S,
        )
        ended = [*self._quorum.unexpected_ends()]
        assert not ended, ended

    def _now_s(self) -> float:
        return time.monotonic() - self._started_s
