"""The fixed seeds: about a hundred quorums under faults. Every invariant holds, and every situation is reached in one.

All tests of the seeds are in this module, so that one process of the test run simulates them, once.
"""

from __future__ import annotations

import pytest

from raft.core.effects import (
    AppendBatches,
    AppendLeaderChange,
    CheckSnapshot,
    DeleteBeforeSnapshot,
    FlushLog,
    InstallSnapshot,
    RollLog,
    SendRequest,
    SendResponse,
    StoreElectionState,
    StoreSnapshotPiece,
    TruncateLog,
)
from tests.memory_files.files import Call
from tests.simulation.faults.kinds import NOT_TOLERATED, Fault
from tests.simulation.fixed_seeds import FIXED_SEEDS, outcome_of
from tests.simulation.invariants.observer import Invariant
from tests.simulation.marks import NOT_TOLERATED_MARKS, Interruption, Mark

_CHUNK = 10

# `fixed_seeds` imports the world, which imports every module of invariants.
_WATCHED_RULES = sorted({rule for invariant in Invariant.__subclasses__() for rule in invariant.rules})
_OTHER_RULES = ("GEN-12", "LOG-6", "LOG-13", "LOG-17", "TEST-11", "TEST-13", "TEST-16", "TEST-17")
"""Rules of storage, wire and recovery phase, whose invariants are no subclasses of `Invariant`."""

_FAILED = (Call.CREATE, Call.WRITE, Call.TRUNCATE, Call.FLUSH, Call.RENAME, Call.SYNC_DIRECTORY)
_EFFECTS = (
    StoreElectionState,
    AppendBatches,
    AppendLeaderChange,
    TruncateLog,
    FlushLog,
    RollLog,
    DeleteBeforeSnapshot,
    StoreSnapshotPiece,
    CheckSnapshot,
    InstallSnapshot,
    SendRequest,
    SendResponse,
)
_INTERRUPTIONS = (
    *(Interruption("power cut", call.name) for call in Call),
    *(Interruption("disk error", call.name) for call in _FAILED),
    *(Interruption("killed", effect.__name__) for effect in _EFFECTS),
)


def _chunks() -> list[tuple[int, ...]]:
    return [FIXED_SEEDS[start : start + _CHUNK] for start in range(0, len(FIXED_SEEDS), _CHUNK)]


@pytest.mark.rule(*_WATCHED_RULES, *_OTHER_RULES)
@pytest.mark.parametrize("seeds", [pytest.param(seeds, id=f"{seeds[0]}-{seeds[-1]}") for seeds in _chunks()])
def test_quorum_keeps_all_invariants_when_faults_strike(seeds: tuple[int, ...]) -> None:
    outcomes = [outcome_of(seed) for seed in seeds]

    broken = [
        f"{outcome.broken}; replay: make sim SEED={outcome.seed}" for outcome in outcomes if outcome.broken is not None
    ]
    if broken:
        pytest.fail("\n".join(broken), pytrace=False)


@pytest.mark.parametrize("mark", [pytest.param(mark, id=mark.name) for mark in Mark if mark not in NOT_TOLERATED_MARKS])
def test_fixed_seeds_reach_each_mark_when_all_are_run(mark: Mark) -> None:
    seeds = [seed for seed in FIXED_SEEDS if outcome_of(seed).marks[mark]]

    assert seeds, f"not reached: {mark.value}"


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name) for fault in Fault if fault not in NOT_TOLERATED])
def test_each_fault_strikes_when_all_fixed_seeds_are_run(fault: Fault) -> None:
    seeds = [seed for seed in FIXED_SEEDS if outcome_of(seed).strikes[fault]]

    assert seeds, f"did not strike: {fault.value}"


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name) for fault in sorted(NOT_TOLERATED)])
def test_no_untolerated_fault_strikes_when_fixed_seeds_are_run(fault: Fault) -> None:
    seeds = [seed for seed in FIXED_SEEDS if outcome_of(seed).strikes[fault]]

    assert not seeds


@pytest.mark.rule("TEST-17")
@pytest.mark.parametrize(
    "interruption",
    [pytest.param(interruption, id=f"{interruption.end}-{interruption.instead_of}") for interruption in _INTERRUPTIONS],
)
def test_nodes_are_interrupted_at_each_point_when_all_fixed_seeds_are_run(interruption: Interruption) -> None:
    seeds = [seed for seed in FIXED_SEEDS if outcome_of(seed).interruptions[interruption]]

    assert seeds, f"not reached: {interruption.end} in place of {interruption.instead_of}"


def test_fixed_seeds_commit_records_when_run() -> None:
    idle = [seed for seed in FIXED_SEEDS if outcome_of(seed).committed_records == 0]

    assert not idle
