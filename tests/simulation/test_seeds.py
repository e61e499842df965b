"""The fixed seeds: two hundred quorums under faults, in which every invariant has to hold."""

from __future__ import annotations

import pytest

from tests.simulation.fixed_seeds import FIXED_SEEDS, outcome_of
from tests.simulation.invariants.observer import Invariant

_CHUNK = 10

# `fixed_seeds` imports the world, which imports every module of invariants.
_WATCHED_RULES = sorted({rule for invariant in Invariant.__subclasses__() for rule in invariant.rules})
_OTHER_RULES = ("GEN-12", "LOG-6", "LOG-13", "LOG-17", "TEST-11", "TEST-13", "TEST-16", "TEST-17")
"""Rules of storage, wire and recovery phase, whose invariants are no subclasses of `Invariant`."""


def _chunks() -> list[range]:
    return [FIXED_SEEDS[start : start + _CHUNK] for start in range(0, len(FIXED_SEEDS), _CHUNK)]


@pytest.mark.rule(*_WATCHED_RULES, *_OTHER_RULES)
@pytest.mark.parametrize("seeds", [pytest.param(seeds, id=f"{seeds[0]}-{seeds[-1]}") for seeds in _chunks()])
def test_quorum_keeps_all_invariants_when_faults_strike(seeds: range) -> None:
    outcomes = [outcome_of(seed) for seed in seeds]

    broken = [
        f"{outcome.broken}; replay: make sim SEED={outcome.seed}" for outcome in outcomes if outcome.broken is not None
    ]
    if broken:
        pytest.fail("\n".join(broken), pytrace=False)
