"""Injects one fault after the other, in rounds; each round has every kind once, in an order that the seed decides."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from random import Random
from typing import Generic, TypeVar

from tests.harness.run import EndedFault, Run
from tests.processes.node_quorum import NodeQuorum

Target = TypeVar("Target")
"""What the faults of a run are injected into."""

Fault = Callable[[Target, Random], AbstractContextManager[str]]
"""A context manager that begins a fault, yields a sentence about what it did, and ends the fault."""


def chosen(faults: Mapping[str, Fault[Target]], only: str) -> dict[str, Fault[Target]]:
    """Return the kinds of faults whose names have a text.

    Raises:
        ValueError: there are none.
    """
    found = {kind: fault for kind, fault in faults.items() if only in kind}
    if not found:
        raise ValueError(f"--only {only}: expected a part of one of: {', '.join(faults)}")
    return found


def in_rounds(kinds: Sequence[str], seed: int) -> Iterator[str]:
    """Yield kinds without end: each one once in every round, in an order that depends on the seed alone."""
    order = Random(f"{seed}-order")
    while True:
        yield from order.sample(kinds, len(kinds))


class Nemesis(ABC, Generic[Target]):
    """Injects faults into processes that all run.

    Args:
        target: the processes.
        faults: the kinds of faults by name.
        seed: decides the order of the faults, and how long they last.
        fault_s: the shortest and the longest duration of a fault, in seconds.
        run: notes each fault.
        progress: says what clients have done by now.
    """

    def __init__(
        self,
        target: Target,
        faults: Mapping[str, Fault[Target]],
        *,
        seed: int,
        fault_s: tuple[float, float],
        run: Run,
        progress: Callable[[], str],
    ) -> None:
        self._target = target
        self._faults = faults
        self._kinds = in_rounds([*faults], seed)
        self._dice = Random(seed)
        self._fault_s = fault_s
        self._run = run
        self._progress = progress
        self._started_s = time.monotonic()

    def inject_for(self, duration_s: float) -> None:
        """Inject faults for some time, and at least one of each kind.

        Raises:
            AssertionError: a node ended by itself, or clients make no progress after the end of a fault.
        """
        count = 0
        while self._now_s() < duration_s or count < len(self._faults):
            self._inject(next(self._kinds), is_last=False)
            count += 1

    def inject(self, count: int) -> None:
        """Inject some faults; see `inject_for`."""
        for number, kind in enumerate(islice(self._kinds, count)):
            self._inject(kind, is_last=number == count - 1)

    @abstractmethod
    def _recover(self, kind: str, *, is_last: bool) -> float | None:
        """Wait until clients make progress again; return how long that took, in seconds.

        Args:
            kind: the fault that has ended.
            is_last: whether no other fault follows, as far as is known.

        Returns:
            None if the next fault need not wait for that.
        """

    def _inject(self, kind: str, *, is_last: bool) -> None:
        at_s = self._now_s()
        with self._faults[kind](self._target, self._dice) as what:
            time.sleep(self._dice.uniform(*self._fault_s))
        recovery_s = self._recover(kind, is_last=is_last)
        self._run.note(EndedFault(at_s=at_s, kind=kind, what=what, recovery_s=recovery_s), self._progress())

    def _now_s(self) -> float:
        return time.monotonic() - self._started_s


def require_running(quorums: Iterable[NodeQuorum]) -> None:
    """Fail if a node has ended by itself.

    Raises:
        AssertionError: names it.
    """
    ended = [each for quorum in quorums for each in quorum.unexpected_ends()]
    assert not ended, ended
