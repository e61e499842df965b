"""The fixed seeds lead into every situation that makes them worth running."""

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
from tests.simulation.faults.kinds import BEYOND, Fault
from tests.simulation.fixed_seeds import FIXED_SEEDS, outcome_of
from tests.simulation.marks import BEYOND_MARKS, Mark, Moment

_REFUSED = (Call.CREATE, Call.WRITE, Call.TRUNCATE, Call.FLUSH, Call.RENAME, Call.SYNC_DIRECTORY)
_EFFECTS = (StoreElectionState, AppendBatches, AppendLeaderChange, TruncateLog, FlushLog, SendRequest, SendResponse)
_MOMENTS = (
    *(Moment("power cut", call.name) for call in Call),
    *(Moment("refused", call.name) for call in _REFUSED),
    *(Moment("killed", effect.__name__) for effect in _EFFECTS),
)


@pytest.mark.parametrize("mark", [pytest.param(mark, id=mark.name) for mark in Mark if mark not in BEYOND_MARKS])
def test_fixed_seeds_meet_each_situation_when_all_are_run(mark: Mark) -> None:
    seeds = [seed for seed in FIXED_SEEDS if outcome_of(seed).marks[mark]]

    assert seeds, f"never once: {mark.value}"


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name) for fault in Fault if fault not in BEYOND])
def test_each_fault_strikes_when_all_fixed_seeds_are_run(fault: Fault) -> None:
    seeds = [seed for seed in FIXED_SEEDS if outcome_of(seed).strikes[fault]]

    assert seeds, f"never once: {fault.value}"


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name) for fault in sorted(BEYOND)])
def test_no_fault_beyond_the_promises_strikes_when_fixed_seeds_are_run(fault: Fault) -> None:
    seeds = [seed for seed in FIXED_SEEDS if outcome_of(seed).strikes[fault]]

    assert not seeds


@pytest.mark.rule("TEST-17")
@pytest.mark.parametrize(
    "moment", [pytest.param(moment, id=f"{moment.end}-{moment.instead_of}") for moment in _MOMENTS]
)
def test_nodes_meet_their_end_at_each_moment_when_all_fixed_seeds_are_run(moment: Moment) -> None:
    seeds = [seed for seed in FIXED_SEEDS if outcome_of(seed).moments[moment]]

    assert seeds, f"never once {moment.end} instead of {moment.instead_of}"


def test_fixed_seeds_commit_records_when_run() -> None:
    idle = [seed for seed in FIXED_SEEDS if outcome_of(seed).committed_records == 0]

    assert not idle
