"""The fixed seeds lead into every situation that makes them worth running."""

from __future__ import annotations

import pytest

from tests.simulation.fixed_seeds import FIXED_SEEDS, outcome_of
from tests.simulation.sightings import Sight


@pytest.mark.parametrize("sight", [pytest.param(sight, id=sight.name) for sight in Sight])
def test_fixed_seeds_meet_each_situation_when_all_are_run(sight: Sight) -> None:
    seeds = [seed for seed in FIXED_SEEDS if outcome_of(seed).sights[sight]]

    assert seeds, f"never once: {sight.value}"


def test_fixed_seeds_commit_records_when_run() -> None:
    idle = [seed for seed in FIXED_SEEDS if outcome_of(seed).committed_records == 0]

    assert not idle
