"""The seeds that every run of the tests simulates, each of them once."""

from __future__ import annotations

from functools import cache

from tests.simulation.run import Outcome, simulate

OVERLAPPING_SEEDS = (226, 233, 237, 261, 277, 1998)
"""Multipart writes overlap each other; in the last ones, which have no faults, for so long that new ones wait."""

DAMAGED_SEEDS = (300, 302, 304, 307, 310, 314, 322, 325, 337, 342, 348, 414, 463)
"""Bits flip while the machines run."""

RARE_SEEDS = (103, 109, 118, 132, 140, 159, 186, 189, 203, 228, 432, 1483)
"""They reach marks that are rare."""

DENSER_SEEDS = (*range(20_000, 20_011), 20_091, 20_096, 20_106, 20_180, 20_341, 20_512, 20_532, 20_612)
"""One plan of each kind in which a rare moment is frequent, and those that caught a planted bug."""

FIXED_SEEDS = (*range(100), *RARE_SEEDS, *OVERLAPPING_SEEDS, *DAMAGED_SEEDS, *DENSER_SEEDS)


@cache
def outcome_of(seed: int) -> Outcome:
    """Return the outcome of a seed, which is simulated at the first call."""
    return simulate(seed)
