"""Injects the faults of a soak, and waits after each of them until appends succeed again."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.harness.nemesis import Nemesis, require_running
from tests.harness.quorum import CHECK_QUORUM_MS, LONGEST_RECOVERY_S, Quorum
from tests.harness.run import Run
from tests.node.harness.waiting import eventually
from tests.soak.plan import Plan

SHORTEST_FAULT_S = 1.2 * CHECK_QUORUM_MS / 1000
"""Longer than the fetch timeout of a follower and the check-quorum timeout of a leader."""

_APPENDS_AFTER_FAULT = 50


class QuorumNemesis(Nemesis[Quorum]):
    """Injects faults into a quorum.

    Args:
        plan: has the kinds of faults, and how long they last.
        quorum: its nodes, which all run.
        run: see `Nemesis`.
        progress: see `Nemesis`.
        count_appends: returns how many appends are acknowledged by now.
    """

    def __init__(
        self,
        plan: Plan,
        quorum: Quorum,
        run: Run,
        *,
        progress: Callable[[], str],
        count_appends: Callable[[], int],
    ) -> None:
        fault_s = (SHORTEST_FAULT_S, plan.longest_fault_s)
        super().__init__(quorum, plan.faults, seed=plan.seed, fault_s=fault_s, run=run, progress=progress)
        self._count_appends = count_appends

    def _recover(self, kind: str, *, is_last: bool) -> float:
        ended_s = time.monotonic()
        goal = self._count_appends() + _APPENDS_AFTER_FAULT
        eventually(
            lambda: self._count_appends() >= goal or [*self._target.unexpected_ends()],
            f"{_APPENDS_AFTER_FAULT} appends after: {kind}",
            within_s=LONGEST_RECOVERY_S,
        )
        require_running([self._target])
        return time.monotonic() - ended_s
