"""Injects one fault after the other, in rounds; each round has every kind once, in another order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from tests.node.harness.waiting import eventually
from tests.soak.faults import FAULTS, Fault
from tests.soak.quorum import CHECK_QUORUM_MS, LONGEST_RECOVERY_S, Quorum
from tests.soak.security_faults import SECURITY_FAULTS

SHORTEST_FAULT_S = 1.2 * CHECK_QUORUM_MS / 1000
"""Longer than the fetch timeout of a follower and the check-quorum timeout of a leader."""

_APPENDS_AFTER_FAULT = 50


def faults_of(quorum: Quorum) -> Mapping[str, Fault]:
    """Return the kinds of faults of a quorum: a secured one has more."""
    return FAULTS if quorum.security is None else {**FAULTS, **SECURITY_FAULTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedFault:
    """One fault that has ended.

    Fields:
        at_s: when it began, in seconds from the begin of the run.
        kind: its name in `FAULTS`.
        what: what was done, and to which node.
        recovery_s: the time from its end until appends succeeded again.
    """

    at_s: float
    kind: str
    what: str
    recovery_s: float


class Nemesis:
    """Injects faults for some time, and at least one of each kind.

    Args:
        quorum: its nodes, which all run.
        only: a part of the names of the kinds; empty for all.
        seed: decides the order of the faults, and how long they last.
        longest_fault_s: the longest duration of a fault; the shortest is `SHORTEST_FAULT_S`.
        count_appends: returns how many appends are acknowledged by now.
        tell: called after each fault, once appends succeed again.
    """

    def __init__(
        self,
        quorum: Quorum,
        *,
        only: str = "",
        seed: int,
        longest_fault_s: float,
        count_appends: Callable[[], int],
        tell: Callable[[EndedFault], None],
    ) -> None:
        self._seen: set[str] = set()
        self._faults = {kind: fault for kind, fault in faults_of(quorum).items() if only in kind}
        assert self._faults, f"no kind of fault has {only!r} in its name: {', '.join(faults_of(quorum))}"
        self._quorum = quorum
        self._seed = seed
        self._dice = Random(seed)
        self._longest_fault_s = longest_fault_s
        self._count_appends = count_appends
        self._tell = tell
        self._started_s = time.monotonic()

    def inject_faults(self, duration_s: float) -> None:
        """Inject faults, and return when the last one has ended.

        Raises:
            AssertionError: a node ended by itself, or no append succeeds after the end of a fault.
        """
        kinds = self._kinds()
        while time.monotonic() < self._started_s + duration_s or len(self._seen) < len(self._faults):
            self._inject(next(kinds))

    def _kinds(self) -> Iterator[str]:
        """Yield kinds in an order that depends on the seed alone, and not on what the faults draw."""
        order = Random(f"{self._seed}-order")
        while True:
            yield from order.sample(list(self._faults), len(self._faults))

    def _inject(self, kind: str) -> None:
        at_s = self._now_s()
        with self._faults[kind](self._quorum, self._dice) as what:
            time.sleep(self._dice.uniform(SHORTEST_FAULT_S, self._longest_fault_s))
        ended_s = self._now_s()
        self._wait_for_recovery(kind)
        self._seen.add(kind)
        self._tell(EndedFault(at_s=at_s, kind=kind, what=what, recovery_s=self._now_s() - ended_s))

    def _wait_for_recovery(self, kind: str) -> None:
        goal = self._count_appends() + _APPENDS_AFTER_FAULT
        eventually(
            lambda: self._count_appends() >= goal or [*self._quorum.unexpected_ends()],
            f"{_APPENDS_AFTER_FAULT} appends after: {kind}",
            within_s=LONGEST_RECOVERY_S,
        )
        ended = [*self._quorum.unexpected_ends()]
        assert not ended, ended

    def _now_s(self) -> float:
        return time.monotonic() - self._started_s
