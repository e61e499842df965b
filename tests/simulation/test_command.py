"""The command that replays seeds and searches for planted bugs."""

from __future__ import annotations

import pickle

import pytest

from tests.simulation.__main__ import main, report_all, report_hunts
from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.needs import nothing
from tests.simulation.mutations.votes import vote_forgotten_on_restart
from tests.simulation.run import Outcome, simulate

_SEED = 0

_HARMLESS = Mutation(
    name="nothing",
    description="Nothing is wrong.",
    breaks=(),
    caught_by=frozenset(),
    plant=lambda _patch: None,
    needs=nothing,
)


@pytest.fixture(scope="module")
def broken_outcome() -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        vote_forgotten_on_restart.plant(patch)
        return simulate(_SEED)


@pytest.mark.rule("TEST-5")
def test_simulator_names_the_invariant_when_a_core_forgets_its_vote(broken_outcome: Outcome) -> None:
    assert broken_outcome.broken is not None
    assert broken_outcome.broken.invariant == "OneVotePerEpoch"


def test_command_prints_the_end_of_the_log_when_an_invariant_breaks(
    broken_outcome: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code = report_all([broken_outcome])

    lines = capsys.readouterr().out.splitlines()
    assert exit_code == 1
    assert any("starts, log end offset" in line for line in lines)
    assert any(line.startswith(f"seed {_SEED}: ") and "BROKEN: OneVotePerEpoch (TEST-5" in line for line in lines)
    assert lines[-1] == f"broken: [{_SEED}]"


def test_command_prints_the_whole_log_when_one_seed_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = main(["--seed", str(_SEED), "--events", "800"])

    lines = capsys.readouterr().out.splitlines()
    assert exit_code == 0
    assert "starts, log end offset 0" in lines[0]
    assert any("-> Leader: won" in line for line in lines)
    assert lines[-1].startswith(f"seed {_SEED}: ")
    assert ": ok, trace " in lines[-1]


def test_command_prints_one_line_each_when_several_seeds_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = main(["--seeds", "3-4", "--events", "300"])

    lines = capsys.readouterr().out.splitlines()
    assert exit_code == 0
    assert [line.split(":")[0] for line in lines[:2]] == ["seed 3", "seed 4"]
    assert any(line.endswith("strikes: the network is divided") for line in lines)
    assert lines[-1] == "broken: none"


def test_command_prints_the_same_when_two_processes_run_the_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seeds", "3-5", "--events", "300"])
    alone = capsys.readouterr().out

    main(["--seeds", "3-5", "--events", "300", "--jobs", "2"])

    assert capsys.readouterr().out == alone


def test_broken_invariant_is_the_same_when_another_process_reports_it(broken_outcome: Outcome) -> None:
    received = pickle.loads(pickle.dumps(broken_outcome))

    assert str(received) == str(broken_outcome)
    assert received.broken.rules == broken_outcome.broken.rules  # type: ignore[union-attr]  # it is broken


def test_command_shows_what_caught_a_planted_bug_when_it_was_caught(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = report_hunts([vote_forgotten_on_restart], range(_SEED, _SEED + 1))

    lines = capsys.readouterr().out.splitlines()
    assert exit_code == 0
    assert lines[2].split()[-2:] == ["OneVotePerEpoch", str(_SEED)]
    assert lines[-1] == "not caught: none"


def test_command_names_a_planted_bug_when_it_was_not_caught(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = report_hunts([_HARMLESS], range(_SEED, _SEED + 1))

    assert exit_code == 1
    assert capsys.readouterr().out.splitlines()[-1] == "not caught: ['nothing']"
