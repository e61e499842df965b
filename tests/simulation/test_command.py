"""The command that replays seeds, and what it says of a broken promise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core import CoreConfig, RaftCore
from raft.core.config import Draw
from raft.core.log_view import LogView
from raft.types import ElectionState
from raft.writers import WriterTable
from tests.simulation.__main__ import main, report_all
from tests.simulation.run import Outcome, simulate

_SEED = 0


def _forgetful_core(
    config: CoreConfig, *, stored: ElectionState | None, log: LogView, writers: WriterTable, draw: Draw
) -> RaftCore:
    """A core that does not know any more for whom it voted in its life before."""
    forgotten = None if stored is None else replace(stored, voted_key=None)
    return RaftCore(config, stored=forgotten, log=log, writers=writers, draw=draw)


@pytest.fixture(scope="module")
def broken_outcome() -> Outcome:
    return simulate(_SEED, make_core=_forgetful_core)


@pytest.mark.rule("TEST-5")
def test_simulator_names_the_invariant_when_a_core_forgets_its_vote(broken_outcome: Outcome) -> None:
    assert broken_outcome.broken is not None
    assert broken_outcome.broken.invariant == "OneVotePerEpoch"


def test_command_tells_the_last_of_the_story_when_an_invariant_breaks(
    broken_outcome: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code = report_all([broken_outcome])

    lines = capsys.readouterr().out.splitlines()
    assert exit_code == 1
    assert any("starts, its log ends at" in line for line in lines)
    assert any(line.startswith(f"seed {_SEED}: ") and "BROKEN: OneVotePerEpoch (TEST-5" in line for line in lines)
    assert lines[-1] == f"broken: [{_SEED}]"


def test_command_tells_the_whole_story_when_asked_for_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = main(["--seed", str(_SEED), "--events", "800"])

    lines = capsys.readouterr().out.splitlines()
    assert exit_code == 0
    assert "starts, its log ends at 0" in lines[0]
    assert any("-> Leader: won" in line for line in lines)
    assert lines[-1].startswith(f"seed {_SEED}: ")
    assert ": fine, trace " in lines[-1]


def test_command_tells_one_line_each_when_asked_for_several_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = main(["--seeds", "3-4", "--events", "300"])

    lines = capsys.readouterr().out.splitlines()
    assert exit_code == 0
    assert [line.split(":")[0] for line in lines[:2]] == ["seed 3", "seed 4"]
    assert lines[-1] == "broken: none"
