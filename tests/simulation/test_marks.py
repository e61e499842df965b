"""The fixed seeds reach every coverage mark, every fault and every interruption."""

from __future__ import annotations

import pytest

from raft.core.effects import (
    AppendBatches,
    AppendLeaderChange,
    FlushLog,
    SendRequest,
    SendResponse,
    StoreElectionState,
    TruncateLog,
)
from tests.memory_files.files import Call
from tests.simulation.faults.kinds import NOT_TOLERATED, Fault
from tests.simulation.fixed_seeds import FIXED_SEEDS, outcome_of
from tests.simulation.marks import NOT_TOLERATED_MARKS, Interruption, Mark

_FAILED = (Call.CREATE, Call.WRITE, Call.TRUNCATE, Call.FLUSH, Call.RENAME, Call.SYNC_DIRECTORY)
_EFFECTS = (StoreElectionState, AppendBatches, AppendLeaderChange, TruncateLog, FlushLog, SendRequest, SendResponse)
_INTERRUPTIONS = (
    *(Interruption("power cut", call.name) for call in Call),
    *(Interruption("disk error", call.name) for call in _FAILED),
    *(Interruption("killed", effect.__name__) for effect in _EFFECTS),
)


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
