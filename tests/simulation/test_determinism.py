"""A seed decides everything: two runs of it are equal, also in different processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.run import simulate

_SEED = 7
_EVENTS = 2500
_ROOT = Path(__file__).parents[2]


@pytest.mark.rule("TEST-2")
def test_simulator_leaves_the_same_trace_when_a_seed_is_run_again() -> None:
    first = simulate(_SEED, max_events=_EVENTS)

    again = simulate(_SEED, max_events=_EVENTS)

    assert (again.fingerprint, again.events, again.marks) == (first.fingerprint, first.events, first.marks)


def test_simulator_leaves_another_trace_when_the_seed_is_another() -> None:
    traces = {simulate(seed, max_events=_EVENTS).fingerprint for seed in range(_SEED, _SEED + 5)}

    assert len(traces) == 5


@pytest.mark.rule("TEST-2")
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--seed", str(_SEED), "--events", str(_EVENTS)), id="log of one"),
        pytest.param(("--seeds", "20-27", "--events", "1200"), id="traces of several"),
        pytest.param(("--seed", "11", "--events", str(_EVENTS)), id="log of one with SCRAM"),
    ],
)
def test_simulator_prints_the_same_when_another_process_runs_it(arguments: tuple[str, ...]) -> None:
    """Strings hash differently in each process, so a use of the order of a set would change the output."""
    outputs = [
        subprocess.run(
            [sys.executable, "-m", "tests.simulation", *arguments],
            cwd=_ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]

    assert "trace" in outputs[0]
    assert outputs[0] == outputs[1]
