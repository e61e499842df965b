"""Injects the faults of a run, and waits after most of them until the query has recovered."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tests.fire.faults import FAULTS, LONGEST_RECOVERY_S
from tests.fire.stage import CHECK_QUORUM_MS, Stage
from tests.harness.nemesis import Nemesis, require_running
from tests.harness.run import Run

_FAULT_S = (1.2 * CHECK_QUORUM_MS / 1000, 6.0)
"""Longer than the fetch timeout of a follower and the check-quorum timeout of a leader."""

_BATCHES_BETWEEN = (1, 12)
"""How many micro-batches are committed before the next fault."""

_STRIKES_AT_ONCE = 0.2
"""The share of faults after which the next one begins before the query has recovered."""


class StageNemesis(Nemesis[Stage]):
    """Injects faults into a stage.

    Args:
        stage: see `Nemesis`.
        run: see `Nemesis`.
        kinds: names in `FAULTS`.
        seed: decides the order of the faults, how long they last, and the pauses between them.
    """

    def __init__(self, stage: Stage, run: Run, *, kinds: Sequence[str], seed: int) -> None:
        faults, driver = {kind: FAULTS[kind] for kind in kinds}, stage.driver
        super().__init__(
            stage,
            faults,
            seed=seed,
            fault_s=_FAULT_S,
            run=run,
            progress=lambda: f"{driver.committed_batches():5} micro-batches  driver {driver.runs:2}",
        )

    def _recover(self, kind: str, *, is_last: bool) -> float | None:
        recovery_s = None
        if is_last or self._dice.random() >= _STRIKES_AT_ONCE:
            driver, ended_s = self._target.driver, time.monotonic()
            driver.wait_for_progress(1, within_s=LONGEST_RECOVERY_S)
            recovery_s = time.monotonic() - ended_s
            driver.wait_for_progress(self._dice.randint(*_BATCHES_BETWEEN), within_s=LONGEST_RECOVERY_S)
        require_running([self._target.source, self._target.sink])
        return recovery_s
