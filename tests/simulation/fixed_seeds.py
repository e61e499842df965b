"""The seeds that every run of the tests simulates, each of them once."""

from __future__ import annotations

from functools import cache

from tests.simulation.run import Outcome, simulate

FIXED_SEEDS = (*range(100), 142, 163)
"""The first hundred, one that cuts the power while a log is truncated, and one that finds a truncation not flushed."""


@cache
def outcome_of(seed: int) -> Outcome:
    """Return the outcome of a seed, which is simulated at the first call."""
    return simulate(seed)
